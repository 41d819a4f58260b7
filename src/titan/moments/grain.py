"""Of what a column's entries are whole multiples, as they were written or measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from titan.moments.columns import Column, WideColumn
from titan.moments.moments import Moments

_DOUBLE = -1074
"""Every double is a whole multiple of 2^-1074; which power of two more it is means nothing."""


@dataclass(frozen=True)
class Grain:
    """Whole multiples of 2^two · 5^five; `indicator`: 0 or 1 in every row."""

    two: int = 0
    five: int = 0
    indicator: bool = True

    def __and__(self, other: Grain) -> Grain:
        """That of the rows of both."""
        both = self.indicator and other.indicator
        return Grain(min(self.two, other.two), min(self.five, other.five), both)

    @property
    def whole(self) -> bool:
        return self.two >= 0 and self.five >= 0

    @property
    def decimal(self) -> bool:
        """Whether they were written with digits after a decimal point."""
        return self.five < 0


def grain_of(column: Column) -> Grain:
    if isinstance(column, WideColumn):  # of which some number is neither 0 nor 1
        return Grain(min(column.two, 0), min(column.five, 0), indicator=False)
    numbers = column.numbers
    if numbers.dtype == np.float64 and not (numbers == np.rint(numbers)).all():
        return Grain(_DOUBLE, min(column.five, 0), indicator=False)
    plain = column.two == column.five == 0
    indicator = plain and bool(((numbers == 0) | (numbers == 1)).all())
    return Grain(min(column.two, 0), min(column.five, 0), indicator)


def together(one: Sequence[Grain], other: Sequence[Grain]) -> tuple[Grain, ...]:
    """Column by column; no grain at all is that of no rows."""
    if not one or not other:
        return tuple(one or other)
    return tuple(a & b for a, b in zip(one, other, strict=True))


def grains_of(moments: object) -> tuple[Grain, ...]:
    """As far as moments tell: none of fractions, which are what they are, nor of weighted rows."""
    if not isinstance(moments, Moments) or moments.weights is not None:
        return ()
    return tuple(Grain(two, five, indicator=False) for two, five in moments.units)
