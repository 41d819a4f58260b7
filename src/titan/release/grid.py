"""Putting a column of numbers on a public grid low, low + step, …, high, exactly.

With U the column's unit, value_i = n_i · U. So (value_i − low)/step = (n_i p − q)/r with whole
numbers p, q, r, of which the nearest whole number is taken, the even one of two.

A double stands for the decimal that people wrote, the shortest that leads to it: on a grid, equal
data are equal in text and in binary. Most doubles need no decimal to be written out. The quotient
is off by less than 2^-50 of its parts, so that only those near the middle between two points are
doubtful; and while points are integers below 2^46 over at most 10^22, one division gives the double
of a point, correctly rounded, which tells whether a number lies on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, lcm, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments import decimal_text
from titan.moments.arithmetic import as_integers, largest
from titan.moments.columns import Column

_LIMIT = 2**63
_QUICK = 2**46
_LAST_EXACT_FIVE = 22  # 5^22 is the largest power of five that is a double
_MOST_TWO = 900  # far from the ends of what a double can be

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Grid:
    """low, low + step, … and so many `steps` in all."""

    low: Fraction
    step: Fraction
    steps: int

    @classmethod
    def between(cls, low: Fraction, high: Fraction, step: Fraction) -> Grid:
        return cls(low, step, int((high - low) / step))

    def place(self, column: Column) -> tuple[Column, int]:
        """Every number, from low to high, at its nearest grid point; how many had to be rounded."""
        first, stride, two, five = self._units
        fits = abs(first) + stride * max(self.steps, 1) < _LIMIT
        in_steps = stride == 1 and (column.two, column.five) == (two, five)
        if fits and in_steps and column.numbers.dtype == np.int64:  # as it would be in the end
            return column, 0
        at, rounded = self._steps(column)
        at = at.astype(np.int64 if fits else object, copy=False)
        return Column(first + at * stride, two, five), rounded

    @property
    def _units(self) -> tuple[int, int, int, int]:
        """low and step as whole multiples of 2^two · 5^five, neither of them above 1."""
        both, _ = Column.of_fractions([self.low, self.step])
        first, stride = map(int, both.numbers)
        return first, stride, both.two, both.five

    def _steps(self, column: Column) -> tuple[npt.NDArray[Any], int]:
        """How many steps above low, and how many numbers lie between grid points."""
        if _plain_floats(column):
            return self._steps_of_floats(column)
        return self._steps_of_integers(as_integers(column))

    def _steps_of_integers(self, column: Column) -> tuple[npt.NDArray[Any], int]:
        slope, start = column.unit / self.step, self.low / self.step
        r = lcm(slope.denominator, start.denominator)
        p, q = int(slope * r), int(start * r)
        numbers = column.numbers
        if 2 * (max(largest(column), 1) * p + abs(q) + r) >= _LIMIT:
            numbers = numbers.astype(object)
        exact = numbers * p - q
        if r == 1:
            return exact, 0
        nearest = (2 * exact + r) // (2 * r)
        halfway = 2 * (nearest * r - exact) == r
        nearest = nearest - (halfway & (nearest % 2 == 1))  # the even one of two
        return nearest, int(np.count_nonzero(exact % r))

    def _steps_of_floats(self, column: Column) -> tuple[npt.NDArray[Any], int]:
        first, stride, two, five = self._units
        most = abs(first) + stride * self.steps
        if most >= _QUICK or five < -_LAST_EXACT_FIVE or two < -_MOST_TWO:
            whole, rounded = self._steps_of_integers(shortest_decimals(column))
            return np.clip(whole, 0, self.steps), rounded  # an end of more digits than a double's
        quotient = (column.numbers - float(self.low)) / float(self.step)
        nearest = np.rint(quotient)
        error = (np.abs(quotient) + abs(float(self.low / self.step)) + 1) * 2.0**-50
        whole = np.clip(nearest, 0, self.steps).astype(np.int64)
        doubtful = np.flatnonzero(np.abs(quotient - nearest) >= 0.5 - error)
        if len(doubtful):
            few = shortest_decimals(column.take(doubtful))
            whole[doubtful] = self._steps_of_integers(few)[0]
        points = (first + whole * stride).astype(np.float64)
        doubles = np.ldexp(points / 5.0**-five, two)
        return whole, int(np.count_nonzero(doubles != column.numbers))


def shortest_decimals(column: Column) -> Column:
    import pyarrow as pa

    return decimal_text.parse(pa.array(column.numbers).cast(pa.string()))[0]


def outside(column: Column, low: Fraction, high: Fraction, *, decimal: bool) -> Mask:
    """Which numbers do not lie from low to high.

    With `decimal` a double stands for the decimal that it was written as: the one nearest to an end
    is that end. Without, it is the binary number it is.
    """
    if _plain_floats(column):
        least, most = (_nearest(low), _nearest(high)) if decimal else _ends(low, high)
        return np.asarray((column.numbers < least) | (column.numbers > most), bool)
    column = as_integers(column)
    least, most = ceil(low / column.unit), floor(high / column.unit)
    return np.asarray((column.numbers < least) | (column.numbers > most), bool)


def _plain_floats(column: Column) -> bool:
    return column.numbers.dtype == np.float64 and column.two == column.five == 0


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _ends(low: Fraction, high: Fraction) -> tuple[float, float]:
    """The least double that is not below low, and the largest that is not above high."""
    least, most = _nearest(low), _nearest(high)
    least = nextafter(least, inf) if abs(least) < inf and least < low else least
    most = nextafter(most, -inf) if abs(most) < inf and most > high else most
    return least, most
