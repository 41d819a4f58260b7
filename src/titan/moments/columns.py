"""Exact columns: numbers as they were written, never as they were rounded.

A column of n numbers is an array and a unit: value_i = numbers_i · 2^two · 5^five, where numbers is

    float64   each entry the exact binary number it is (finite),
    int64     whole numbers, none of them -2^63, so that each has its negative,
    object    Python integers of any size; a `WideColumn` has those of two words ready besides.

Decimal text "37.20" is 3720 · 10^-2, so numbers = 3720, two = five = -2: a tenth stays a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

WORDS = np.dtype([("low", "<u8"), ("high", "<i8")])
"""Whole numbers of 128 bits, in two's complement."""
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)


class BadRowError(Exception):
    """What is wrong in this row, in words; the caller knows file and column."""

    def __init__(self, row: int, found: str) -> None:
        super().__init__(found)
        self.row, self.found = row, found


@dataclass(frozen=True)
class Column:
    """n exact numbers: numbers · 2^two · 5^five. The numbers are secret and never printed."""

    numbers: npt.NDArray[Any] = field(repr=False)
    two: int = 0
    five: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def unit(self) -> Fraction:
        """2^two · 5^five."""
        return _unit(self.two, self.five)

    def fractions(self) -> list[Fraction]:
        """Each entry as a fraction; slow, for tests and for small inputs."""
        unit = self.unit
        if self.numbers.dtype == np.float64:
            return [Fraction(float(x)) * unit for x in self.numbers]
        return [int(x) * unit for x in self.numbers]

    def take(self, rows: npt.NDArray[np.intp]) -> Column:
        """The entries in these rows, in this order."""
        return Column(self.numbers[rows], self.two, self.five)

    @classmethod
    def constant(cls, value: Fraction, rows: int) -> Column:
        """The same number in every row; its denominator may hold no prime but 2 and 5."""
        column, divisor = cls.of_fractions([value])
        if divisor != 1:
            raise ValueError("a constant must be a finite decimal")
        return cls(np.repeat(column.numbers, rows), column.two, column.five)

    @classmethod
    def of_integers(cls, numbers: Sequence[int], two: int = 0, five: int = 0) -> Column:
        """int64 where all fit there, Python integers otherwise."""
        fits = all(-(2**63) < x < 2**63 for x in numbers)
        return cls(np.array(numbers, np.int64 if fits else object), two, five)

    @classmethod
    def of_fractions(cls, values: Sequence[Fraction]) -> tuple[Column, int]:
        """(column, divisor) with values = column / divisor, exactly.

        The divisor is what is left of the common denominator without its factors 2 and 5, which go
        into the unit: 1 for finite decimals and binary fractions, 3 for a column of thirds.
        """
        common = math.lcm(*(value.denominator for value in values))
        divisor, two = _without(common, 2)
        divisor, five = _without(divisor, 5)
        numbers = [value.numerator * (common // value.denominator) for value in values]
        return cls.of_integers(numbers, -two, -five), divisor


class WideColumn(Column):
    """A column of whole numbers below 2^127, some of them beyond int64, in two words each.

    They are Python integers only for those who ask for its `numbers`.
    """

    words: npt.NDArray[Any]
    """Of the type WORDS."""

    def __init__(self, words: npt.NDArray[Any], two: int = 0, five: int = 0) -> None:
        for name, value in (("words", words), ("two", two), ("five", five)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name != "numbers":
            raise AttributeError(name)
        numbers = integers_of(self.words)
        object.__setattr__(self, name, numbers)
        return numbers

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: npt.NDArray[np.intp]) -> Column:
        return WideColumn(self.words[rows], self.two, self.five)


class MostlyCoarse(WideColumn):
    """A wide column of which most numbers are whole in a coarser unit: they fit int64 there.

    number_i = coarse_i · 10^finer, plus `rest` in the rows `at`. Its words are for those who ask.
    """

    def __init__(
        self,
        coarse: npt.NDArray[np.int64],
        finer: int,
        at: npt.NDArray[np.int64],
        rest: npt.NDArray[np.int64],
        power: int,
    ) -> None:
        parts = ("coarse", coarse), ("finer", finer), ("at", at), ("rest", rest)
        for name, value in (*parts, ("two", power), ("five", power)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name != "words":
            return super().__getattr__(name)
        words = self.take(np.arange(len(self))).words
        object.__setattr__(self, name, words)
        return words

    def __len__(self) -> int:
        return len(self.coarse)

    def take(self, rows: npt.NDArray[np.intp]) -> WideColumn:
        rest = np.zeros(len(self), np.int64)
        rest[self.at] = self.rest
        words = products(self.coarse[rows], np.full(1, 10**self.finer))
        return WideColumn(_plus(words, rest[rows]), self.two, self.five)

    @property
    def coarser(self) -> Column:
        """All numbers without that rest."""
        return Column(self.coarse, self.two + self.finer, self.five + self.finer)


def integers_of(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As Python integers."""
    return np.asarray((words["high"].astype(object) << 64) + words["low"].astype(object), object)


def products(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """a · b in two words, b being positive: by halves of words, as one does by hand."""
    sizes = (np.abs(a).view(np.uint64), b.view(np.uint64))
    (low_a, high_a), (low_b, high_b) = ((x & _LOW, x >> _HALF) for x in sizes)
    lowest, left, right = low_a * low_b, high_a * low_b, low_a * high_b
    middle = (lowest >> _HALF) + (left & _LOW) + (right & _LOW)
    low = (lowest & _LOW) | (middle << _HALF)
    high = high_a * high_b + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    minus = a < 0
    out = np.empty(len(a), WORDS)
    out["low"] = np.where(minus, -low, low)
    out["high"] = np.where(minus, ~high + (low == 0), high).view(np.int64)
    return out


def _plus(words: npt.NDArray[Any], b: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """words + b."""
    out = np.empty_like(words)
    out["low"] = words["low"] + b.view(np.uint64)
    out["high"] = words["high"] + (b >> 63) + (out["low"] < words["low"])
    return out


@lru_cache(maxsize=1024)
def _unit(two: int, five: int) -> Fraction:
    return Fraction(2) ** two * Fraction(5) ** five


def _without(number: int, prime: int) -> tuple[int, int]:
    """`number` without its factors `prime`, and how many these were."""
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return number, count
