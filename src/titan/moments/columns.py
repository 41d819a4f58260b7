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


def integers_of(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As Python integers."""
    return np.asarray((words["high"].astype(object) << 64) + words["low"].astype(object), object)


@lru_cache(maxsize=1024)
def _unit(two: int, five: int) -> Fraction:
    return Fraction(2) ** two * Fraction(5) ** five


def _without(number: int, prime: int) -> tuple[int, int]:
    """`number` without its factors `prime`, and how many these were."""
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return number, count
