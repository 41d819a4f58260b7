"""How many digits of a certified value a program gets right."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction


def certified_digits(certified: str) -> int:
    """How many significant digits are printed; of a zero, how many zeros after the point."""
    value = Decimal(certified)
    exponent = int(value.as_tuple().exponent)
    return value.adjusted() - exponent + 1 if value else -exponent


def correct_digits(found: float, certified: str) -> float:
    """The log relative error −log₁₀(|found − certified| / |certified|), from 0 to all digits.

    The log absolute error where zero is certified. Within one unit of the last printed digit the
    two cannot be told apart: then all digits are right.
    """
    if not math.isfinite(found):
        return 0.0
    truth = Fraction(certified)
    error = abs(Fraction(found) - truth)
    most = certified_digits(certified)
    if error <= Fraction(10) ** int(Decimal(certified).as_tuple().exponent):
        return float(most)
    relative = error / abs(truth) if truth else error
    return min(max(-_log10(relative), 0.0), float(most))


def worst_digits(found: Iterable[float], certified: Iterable[str]) -> float:
    """Of several values, as many digits as are right in all of them."""
    return min(correct_digits(x, text) for x, text in zip(found, certified, strict=True))


def _log10(number: Fraction) -> float:
    return math.log10(number.numerator) - math.log10(number.denominator)
