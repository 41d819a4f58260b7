"""A number known up to a proven radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from titan.canonical import exact_text, listed, read_exact
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

MOST_DIGITS = 60
"""Digits claimed at most, also where a number is known exactly."""


@dataclass(frozen=True)
class Ball:
    """All numbers within `rad` of `mid`; the truth is among them."""

    mid: Fraction
    rad: Fraction = Fraction(0)

    @property
    def lower(self) -> Fraction:
        return self.mid - self.rad

    @property
    def upper(self) -> Fraction:
        return self.mid + self.rad

    def __contains__(self, number: int | float | Fraction) -> bool:
        return abs(self.mid - Fraction(number)) <= self.rad

    def __float__(self) -> float:
        """The double nearest to the middle; an infinity beyond the largest."""
        return nearest(self.mid)

    @property
    def error(self) -> float:
        """How far `float(ball)` is from the truth at most, rounded up."""
        value = float(self)
        return math.inf if math.isinf(value) else up(abs(Fraction(value) - self.mid) + self.rad)

    @property
    def digits(self) -> int:
        """Significant digits which are proven: printed so, the last is off by one unit at most."""
        if self.rad == 0:
            return MOST_DIGITS
        if self.mid == 0:
            return 0
        room = Fraction(10) ** _exponent(self.mid) / self.rad / 2
        return 0 if room < 1 else min(MOST_DIGITS, _exponent(room) + 1)

    @property
    def decimals(self) -> int:
        """Proven digits after the point, in the same sense; negative for tens, hundreds…"""
        return MOST_DIGITS if self.rad == 0 else _exponent(Fraction(1, 2) / self.rad)

    def text(self, digits: int = 17) -> str:
        """The proven digits, at most `digits` of them."""
        shown = min(digits, self.digits)
        if shown == 0:
            return f"0 ± {at_most(abs(self.mid) + self.rad)}"
        context = Context(prec=shown, rounding=ROUND_HALF_EVEN)
        return str(context.divide(Decimal(self.mid.numerator), Decimal(self.mid.denominator)))

    def __str__(self) -> str:
        return self.text()

    def to_state(self) -> list[str]:
        return [exact_text(self.mid), exact_text(self.rad)]

    @classmethod
    def from_state(cls, state: object) -> Ball:
        mid, rad = map(read_exact, listed(state, 2))
        if rad < 0:
            raise ValueError("a radius is negative")
        return cls(mid, rad)

    def arb(self, precision: int) -> arb:
        """This ball, or a slightly larger one, as an arb."""
        import flint

        with working_precision(precision):
            return to_arb(self.mid) + flint.arb(0, to_arb(self.rad).abs_upper())


def to_arb(number: Fraction) -> arb:
    """A fraction in a ball of the working precision."""
    import flint

    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def of_arb(number: arb) -> Ball:
    """The ball that an arb is; it must be finite."""
    return Ball(fraction_of(number.mid()), fraction_of(number.rad()))


def fraction_of(exact: arb) -> Fraction:
    """An arb without radius as the dyadic fraction it is."""
    man, exp = exact.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def nearest(number: Fraction) -> float:
    """The nearest double; an infinity beyond the largest."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def up(number: Fraction) -> float:
    """The smallest double that is not below."""
    value = nearest(number)
    if math.isinf(value) or Fraction(value) >= number:
        return value
    return math.nextafter(value, math.inf)


def at_most(number: Fraction) -> str:
    """Two digits of a bound, rounded up."""
    context = Context(prec=2, rounding=ROUND_CEILING)
    bound = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{bound:.1e}"


def bits_of(number: Fraction) -> int:
    """log2 of a positive number, rounded up; 0 below one."""
    return max(0, number.numerator.bit_length() - number.denominator.bit_length() + 1)


def _exponent(number: Fraction) -> int:
    """⌊log10 |number|⌋, exactly; number ≠ 0."""
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    guess = math.floor(bits * math.log10(2))
    fits = (e for e in (guess + 1, guess) if Fraction(10) ** e <= abs(number))
    return next(fits, guess - 1)
