"""How many bits a column's numbers span, and in how many slices they are therefore cut.

A column of a block is Σ_i slice_i · 2^(unit + 22·i), every slice a vector of whole numbers of at
most 2^21 in absolute value (balanced digits). The product of two of those has at most 42 bits, and
the sum of 2040 such products stays below 2^53: float64 multiplies and adds them without rounding,
in whatever order BLAS likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.columns import WORDS

WIDTH = 22
"""Bits of a slice, its sign included."""
BLOCK = 2040
"""Rows multiplied at a time: the largest multiple of 8 with BLOCK · 2^(2·WIDTH-2) < 2^53."""

_LONGEST_FLOATS = 440  # bits of span that float64 arithmetic cuts with exponents to spare
_SMALLEST_UNIT = -1000  # 2^-unit is a float64
_FAR = 1 << 20  # an exponent that no float64 has
_FULL_PRECISION = 50  # a span from here on is that of measured or computed float64 numbers


class Kind(Enum):
    """How a column is cut."""

    FLOATS = "by rounding float64 numbers to ever smaller multiples"
    INTEGERS = "as float64 numbers after the top bits of long int64 numbers are split off"
    WIDE = "through Python integers: any size, slowly"


@dataclass(frozen=True)
class Span:
    """Numbers that are multiples of 2^low and below 2^top in absolute value, and their slices."""

    kind: Kind
    low: int
    top: int

    @cached_property
    def slices(self) -> int:
        return max(1, -(-(self.top - self._least_unit + 1) // WIDTH))

    @property
    def _least_unit(self) -> int:
        return min(self.low, 0) if self.kind is Kind.FLOATS else self.low

    @cached_property
    def unit(self) -> int:
        """The exponent of the lowest slice's last bit.

        Slices have bits to spare. Numbers of full float64 precision get them below (a number
        nearer to zero has lower bits), except one for a larger number; others above.
        """
        spare = self.slices * WIDTH - (self.top - self._least_unit + 1)
        full = self.kind is Kind.FLOATS and self.top - self.low >= _FULL_PRECISION
        return self._least_unit - max(spare - 1, 0) if full else self._least_unit

    def __or__(self, other: Span) -> Span:
        """A span that covers both."""
        low, top = min(self.low, other.low), max(self.top, other.top)
        kind = Kind.WIDE if Kind.WIDE in (self.kind, other.kind) else self.kind
        return _floats(low, top) if kind is Kind.FLOATS else Span(kind, low, top)


def measure(block: Sequence[npt.NDArray[Any]]) -> list[Span]:
    """The span of each of these columns: finite float64, int64 or Python integers."""
    floats = [numbers for numbers in block if numbers.dtype == np.float64]
    spans = iter(_measure_floats(np.stack(floats)) if floats else [])
    return [
        next(spans) if numbers.dtype == np.float64 else _measure_integers(numbers)
        for numbers in block
    ]


def _measure_integers(numbers: npt.NDArray[Any]) -> Span:
    if numbers.dtype == np.int64:
        size = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
        return Span(Kind.INTEGERS, 0, size.bit_length())
    if numbers.dtype == WORDS:
        return Span(Kind.WIDE, 0, _bits(numbers["low"], numbers["high"]))
    return Span(Kind.WIDE, 0, max((int(number).bit_length() for number in numbers), default=0))


def _bits(low: npt.NDArray[np.uint64], high: npt.NDArray[np.int64]) -> int:
    """So many that every number of these two words is below 2^bits in absolute value."""
    sign = high >> 63
    top = int((high ^ sign).max(initial=0))
    if top:
        return 64 + (top + 1).bit_length()
    return (int((low ^ sign.view(np.uint64)).max(initial=0)) + 1).bit_length()


def _measure_floats(columns: npt.NDArray[np.float64]) -> list[Span]:
    """All rows of a matrix at once."""
    mantissas, exponents = whole_parts(columns)
    _, last = np.frexp((mantissas & -mantissas).astype(np.float64))  # 1 + the last set bit
    some = mantissas != 0
    lows = np.min(exponents + last - 1, axis=1, where=some, initial=_FAR)
    tops = np.max(exponents + 53, axis=1, where=some, initial=-_FAR)
    return [
        _floats(low, top) if low < _FAR else Span(Kind.FLOATS, 0, 0)
        for low, top in zip(lows.tolist(), tops.tolist(), strict=True)
    ]


@lru_cache(maxsize=4096)  # columns that are alike share one span, and what follows from it
def _floats(low: int, top: int) -> Span:
    span = Span(Kind.FLOATS, low, top)
    long = top - min(low, 0) > _LONGEST_FLOATS or span.unit < _SMALLEST_UNIT
    return Span(Kind.WIDE, low, top) if long else span


def whole_parts(
    numbers: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Integers below 2^53 and exponents: number = integer · 2^exponent, exactly."""
    fractions, exponents = np.frexp(numbers)
    return (fractions * 2.0**53).astype(np.int64), exponents - 53
