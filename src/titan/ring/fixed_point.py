"""Numbers as residues: signed fixed point with a power-of-two scale.

A number x becomes the integer nearest to x · 2^fraction (ties to even), modulo 2^bits. The sum of
`parties` such integers is the true one as long as it does not wrap around, so each party may use
1/parties of the signed range, and checks that before anything leaves it.
"""

# Rule 1: a number that cannot be encoded faithfully is an error that names its entry, never a
#         clipped, wrapped or vanished value.
# Rule 2: errors tell positions and powers of two, not values.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import NumberError
from titan.ring.residues import Residues, Ring

Floats = npt.NDArray[np.float64]
Where = Callable[[int], str]
"""Names the place of a number in the caller's terms, for errors: "entry 3 of 'north'"."""


class Scale(Protocol):
    """How numbers become residues: `FixedPoint`, or the grid that a study states."""

    @property
    def ring(self) -> Ring: ...

    @property
    def units(self) -> tuple[Fraction, ...]:
        """What 1 stands for: of every entry, or one for all."""
        ...

    @property
    def rounding(self) -> Fraction:
        """How far `encode` may move a number."""
        ...

    def encode(self, flat: npt.NDArray[Any], where: Where) -> Residues: ...


@dataclass(frozen=True)
class FixedPoint:
    """Signed fixed point in `ring` with `fraction` fractional bits (negative: whole multiples).

    Each of `parties` parties may use its part of the ring's range. A caller who has proven a bound
    on the sum itself says parties=1: then every party may use all of it.
    """

    ring: Ring
    fraction: int
    parties: int
    bound: Fraction | None = None

    @classmethod
    def for_bound(cls, ring: Ring, bound: object, parties: int) -> FixedPoint:
        """The finest scale at which `parties` numbers of magnitude at most `bound` cannot wrap."""
        bound = Fraction(exact_number(bound, "the bound on the entries"))
        if bound <= 0:
            raise NumberError("the bound on the entries must be positive", choice="bound")
        largest = _share(ring, parties)
        if largest < 1:
            raise _too_narrow(ring, parties)
        fraction = largest.bit_length() - _exponent(bound) + 1
        while round(bound * Fraction(2) ** fraction) > largest:
            fraction -= 1
        return cls(ring, fraction, parties, bound)

    @property
    def largest(self) -> int:
        """The largest encoded magnitude that a party may hold."""
        return _share(self.ring, self.parties)

    # -- encoding -----------------------------------------------------------------------------

    def encode(self, flat: npt.NDArray[Any], where: Where) -> Residues:
        """Encode a flat array of floats, integers, Fractions or Decimals as (limbs, n) residues."""
        if self.largest < 1:
            raise _too_narrow(self.ring, self.parties)
        flat = _plain(flat, where)
        if flat.size == 0:
            return self.ring.zeros(0)
        self._check_range(flat, where)
        if flat.dtype == object:
            return self._encode_exactly(flat, where)
        return self._encode_words(flat, where)

    def _check_range(self, flat: npt.NDArray[Any], where: Where) -> None:
        at = _largest_magnitude(flat)
        magnitude = abs(Fraction(flat[at].item() if flat.dtype != object else flat[at]))
        if self.bound is not None and magnitude > self.bound:
            raise NumberError(
                f"{where(at)} exceeds the bound of {_short(self.bound)} on the entries",
                hint=f"bound={_power(_exponent(magnitude))} would do",
            )
        if round(magnitude * Fraction(2) ** self.fraction) > self.largest:
            raise self._overflow(where(at), _exponent(magnitude))

    def _overflow(self, where: str, exponent: int) -> NumberError:
        """A magnitude of up to 2^exponent does not fit: which bits, or which bound, would do."""
        needed = (self.parties << max(exponent + self.fraction, 0)).bit_length() + 1
        advice = f"bits={needed}"
        if self.fraction == self.ring.bits // 2:  # the default scale grows with the ring
            advice = f"bits={2 * (exponent + self.parties.bit_length() + 2)}"
            if self.largest.bit_length() > exponent:
                advice = f"bound={_power(exponent)} or {advice}"
        room = self.largest.bit_length() - 1 - self.fraction
        return NumberError(
            f"{where} does not fit: with {self.ring.bits} bits, {self.fraction} of them "
            f"fractional, and {self.parties} parties an entry may reach about {_power(room)}",
            hint=f"{advice} would do",
        )

    def _vanishes(self, where: str, exponent: int) -> NumberError:
        fraction = 2 - exponent
        default = self.fraction == self.ring.bits // 2
        needed = 2 * fraction if default else self.ring.bits + fraction - self.fraction
        return NumberError(
            f"{where} is not zero but would round to zero: the smallest step is "
            f"{_power(-self.fraction)}",
            hint=f"a tighter bound=, bits={needed} or rescaled inputs would do",
        )

    def _encode_exactly(self, flat: npt.NDArray[Any], where: Where) -> Residues:
        scale = Fraction(2) ** self.fraction
        encoded = [round(Fraction(x) * scale) for x in flat]
        for at, (number, code) in enumerate(zip(flat, encoded, strict=True)):
            if code == 0 and number != 0:
                raise self._vanishes(where(at), _exponent(abs(Fraction(number))))
        return self.ring.from_ints(encoded)

    def _encode_words(self, flat: npt.NDArray[Any], where: Where) -> Residues:
        """The same for arrays whose magnitudes are (64-bit integer) · 2^exponent."""
        magnitude, exponent, negative = _decompose(flat)
        shift = exponent + self.fraction
        rounded = np.where(shift < 0, _round_shift(magnitude, -shift), magnitude)
        vanished = (rounded == 0) & (magnitude != 0)
        if vanished.any():
            at = int(np.argmax(vanished))
            raise self._vanishes(where(at), int(exponent[at]) + int(magnitude[at]).bit_length())
        encoded = _shift_left(self.ring, rounded, np.maximum(shift, 0))
        return np.where(negative, self.ring.negate(encoded), encoded)

    # -- decoding -----------------------------------------------------------------------------

    @property
    def units(self) -> tuple[Fraction]:
        """What 1 stands for, in every entry."""
        return (Fraction(2) ** -self.fraction,)

    @property
    def rounding(self) -> Fraction:
        """Each party rounds by at most half a unit, and so does the average of all of them."""
        return self.units[0] / 2


def decode(codes: Sequence[int], units: Sequence[Fraction], divisor: int = 1) -> Floats:
    """code · unit / divisor, each correctly rounded to float64; one unit may serve all codes."""
    each = units if len(units) == len(codes) else [*units] * len(codes)
    parts = [(unit.numerator, unit.denominator * divisor) for unit in each]
    try:
        pairs = zip(codes, parts, strict=True)
        return np.array([code * above / below for code, (above, below) in pairs], np.float64)
    except OverflowError:
        raise NumberError(
            "the result is beyond the range of float64", hint="rescale the inputs"
        ) from None


def error_bound(decoded: Floats, rounding: Fraction) -> Floats:
    """A proven bound: what the encoding may have rounded off, and half an ulp for decoding."""
    encoding = max(float(rounding), 5e-324) if rounding else 0.0
    bound: Floats = np.nextafter(encoding + np.spacing(np.abs(decoded)) / 2, np.inf)
    return bound


# -- what numbers are made of -----------------------------------------------------------------


def _plain(flat: npt.NDArray[Any], where: Where) -> npt.NDArray[Any]:
    """Reduce to float64, int64, uint64 or exact objects; refuse whatever is not a finite number."""
    if flat.dtype.kind == "f":
        widened = flat.astype(np.float64) if flat.dtype.itemsize <= 8 else flat
        if widened.dtype != np.float64:
            return _plain(flat.astype(object), where)
        _refuse(~np.isfinite(widened), widened, where)
        return widened
    if flat.dtype.kind == "u":
        return flat.astype(np.uint64)
    if flat.dtype.kind in "ib":
        return flat.astype(np.int64)
    if flat.dtype.kind == "O":
        numbers = np.empty(len(flat), object)
        numbers[:] = [exact_number(x, where(at)) for at, x in enumerate(flat)]
        return numbers
    raise NumberError(
        f"{where(0)} is of type {flat.dtype}, not a real number",
        hint="hand in floats, integers, Fractions or Decimals",
    )


def _refuse(bad: npt.NDArray[np.bool_], flat: Floats, where: Where) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        found = "NaN" if np.isnan(flat[at]) else "infinite"
        more = int(bad.sum()) - 1
        also = f" (and {more} more entries are not finite)" if more else ""
        raise NumberError(f"{where(at)} is {found}{also}", hint="every entry must be finite")


def exact_number(number: object, where: str) -> int | Fraction:
    """A number of any kind as the one it is, in Python's own integers."""
    if isinstance(number, (bool, np.bool_, int, np.integer)):
        return int(number)
    if isinstance(number, Fraction):  # NumPy's integers may hide in it, and they overflow
        return Fraction(int(number.numerator), int(number.denominator))
    if isinstance(number, (float, np.floating, Decimal)):
        try:
            return Fraction(*number.as_integer_ratio())
        except ValueError:
            raise NumberError(f"{where} is NaN", hint="every entry must be finite") from None
        except OverflowError:
            raise NumberError(f"{where} is infinite", hint="every entry must be finite") from None
    raise NumberError(
        f"{where} is of type {type(number).__name__}, not a real number",
        hint="hand in floats, integers, Fractions or Decimals",
    )


def _largest_magnitude(flat: npt.NDArray[Any]) -> int:
    if flat.dtype == np.int64:  # the magnitude of the least int64 is not an int64
        return int(max(np.argmax(flat), np.argmin(flat), key=lambda at: abs(int(flat[at]))))
    return int(np.argmax(np.abs(flat)))


def _decompose(flat: npt.NDArray[Any]) -> tuple[Residues, npt.NDArray[np.int64], Any]:
    """|x| = magnitude · 2^exponent with a 64-bit magnitude, and the sign."""
    if flat.dtype == np.float64:
        mantissa, exponent = np.frexp(np.abs(flat))
        magnitude = np.ldexp(mantissa, 53).astype(np.uint64)
        return magnitude, exponent.astype(np.int64) - 53, flat < 0
    none = np.zeros(flat.shape, np.int64)
    if flat.dtype == np.uint64:
        return flat, none, none.astype(bool)
    words, negative = flat.view(np.uint64), flat < 0
    return np.where(negative, ~words + np.uint64(1), words), none, negative


def _round_shift(words: Residues, places: npt.NDArray[np.int64]) -> Residues:
    """words / 2^places to the nearest integer, ties to even, for places ≥ 0."""
    near = np.clip(places, 1, 63).astype(np.uint64)
    one = np.uint64(1)
    quotient = words >> near
    rest, half = words & ((one << near) - one), one << (near - one)
    quotient += (rest > half) | ((rest == half) & (quotient & one == one))
    far = (places == 64) & (words > np.uint64(1 << 63))  # 2^63 itself ties to the even 0
    return np.where(places > 63, far.astype(np.uint64), np.where(places == 0, words, quotient))


def _shift_left(ring: Ring, words: Residues, places: npt.NDArray[np.int64]) -> Residues:
    """words · 2^places as residues; the caller has made sure that they fit."""
    out = ring.zeros(len(words))
    limb, offset = places // 64, (places % 64).astype(np.uint64)
    high = np.where(offset > 0, words >> ((np.uint64(64) - offset) & np.uint64(63)), 0)
    for row in range(ring.limbs):
        out[row] = np.where(limb == row, words << offset, np.where(limb == row - 1, high, 0))
    return out


def _share(ring: Ring, parties: int) -> int:
    return ((ring.modulus >> 1) - 1) // parties


def _too_narrow(ring: Ring, parties: int) -> NumberError:
    return NumberError(
        f"{ring.bits} bits cannot hold the sum of {parties} parties' numbers",
        hint=f"bits={parties.bit_length() + 1} would hold the least; 128 is the default",
    )


def _short(number: Fraction) -> str:
    """A public bound, in a few digits, however large."""
    with localcontext(prec=6):
        return f"{Decimal(number.numerator) / Decimal(number.denominator):g}"


def _exponent(magnitude: Fraction) -> int:
    """The least e with magnitude ≤ 2^e."""
    if magnitude == 0:
        return 0
    e = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1
    while Fraction(2) ** e < magnitude:
        e += 1
    return e


def _power(exponent: int) -> str:
    """2^exponent as one would type it, rounded up to two digits where it is long."""
    if 0 <= exponent <= 40:
        return str(2**exponent)
    with localcontext(prec=2, rounding=ROUND_CEILING):
        return f"{Decimal(2) ** exponent:.1e}"
