"""One column that is described: what is counted of its cells, and what comes of the totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text, read_decimal
from titan.errors import InputError
from titan.joint.description import ColumnSummary
from titan.moments.cells import Cells
from titan.moments.model import Readings
from titan.moments.terms import Level
from titan.release import Category, Column, Dictionary, Flag, Number
from titan.release.sizes import Size, size_of

Integers = npt.NDArray[Any]
Counted = tuple[list[int], list[int], int]
"""Missing values and then the rows of each cell; Σx and Σx²; how many values had to be rounded."""

_MOST_CELLS = 10_000
_HOW = 'such as "age=0:120:10": from 0 to 120 in cells 10 wide'


@dataclass(frozen=True)
class Bins:
    """The cells of a histogram: from `low` to `high`, each `width` wide; `high` is in the last."""

    low: Fraction
    high: Fraction
    width: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high or self.width <= 0 or (self.high - self.low) % self.width:
            raise InputError(f"the bins {self} are not a whole number of cells", hint=_HOW)
        if len(self) > _MOST_CELLS:
            raise InputError(f"{len(self)} cells of a histogram", hint=f"at most {_MOST_CELLS}")

    @classmethod
    def by_column(cls, given: Mapping[str, str] | Sequence[str]) -> dict[str, Bins]:
        """From {"age": "0:120:10"} or ["age=0:120:10"]."""
        if isinstance(given, str):
            given = [given]
        if isinstance(given, Mapping):
            given = [f"{name}={text}" for name, text in given.items()]
        found: dict[str, Bins] = {}
        for text in given:
            name, _, ends = str(text).rpartition("=")
            if not name or name in found:
                raise InputError(f"the bins {text!r} are not those of one column", hint=_HOW)
            try:
                low, high, width = map(read_decimal, ends.split(":"))
            except ValueError:  # also where there are not three
                raise InputError(f"the bins {text!r} cannot be read", hint=_HOW) from None
            found[name] = cls(low, high, width)
        return found

    def __str__(self) -> str:
        return ":".join(decimal_text(x) for x in (self.low, self.high, self.width))

    def __len__(self) -> int:
        return int((self.high - self.low) / self.width)

    @property
    def edges(self) -> tuple[Fraction, ...]:
        return tuple(self.low + at * self.width for at in range(len(self) + 1))

    def count(self, values: Integers, unit: Fraction) -> list[int]:
        """How many values, whole multiples of the unit, each cell holds."""
        first = [-(-edge // unit) for edge in self.edges[:-1]]  # the least multiple of each cell
        starts = [*first, self.high // unit + 1]
        if max(map(abs, starts)) >= 2**63:
            values = values.astype(object)
        below = np.searchsorted(np.sort(values), np.array(starts, values.dtype))
        return [int(n) for n in np.diff(below)]


@dataclass(frozen=True)
class Levels:
    """A category or a flag: every level is counted."""

    name: str
    kind: str
    levels: tuple[Level, ...]
    totals = 0

    @classmethod
    def of(cls, name: str, column: Column) -> Levels | None:
        if isinstance(column, Flag):
            return cls(name, column.kind, tuple(Level(Fraction(n), str(n)) for n in (0, 1)))
        if isinstance(column, Category):
            return cls(name, column.kind, tuple(Level(text, text) for text in column.levels))
        return None

    @property
    def counts(self) -> int:
        return 1 + len(self.levels)

    def read(self, cells: Cells) -> Counted:
        codes, gaps = cells.codes(self.levels)
        counts = np.bincount(codes[~gaps], minlength=len(self.levels))
        return [int(gaps.sum()), *counts.tolist()], [], 0

    def summary(self, rows: int, counts: Sequence[int], totals: Sequence[int]) -> ColumnSummary:
        missing, *cells = counts
        texts = [level.text for level in self.levels]
        levels = tuple(zip(texts, cells, strict=True))
        return ColumnSummary(self.name, self.kind, missing, rows - missing, levels=levels)


@dataclass(frozen=True)
class Numbers:
    """Numbers on a grid, perhaps with a histogram."""

    name: str
    column: Number
    size: Size
    bins: Bins | None = None
    totals = 2

    @classmethod
    def of(cls, name: str, column: Column, bins: Bins | None) -> Numbers:
        size = size_of(name, {name: column})
        if size is None or not isinstance(column, Number):
            raise InputError(
                f"the data dictionary does not say the step of {name!r}", hint=f"--step {name}=1"
            )
        return cls(name, column, size, bins)

    @property
    def counts(self) -> int:
        return 1 + (0 if self.bins is None else len(self.bins))

    def read(self, cells: Cells) -> Counted:
        values, missing, rounded = self._values(cells)
        binned = [] if self.bins is None else self.bins.count(values, self.size.unit)
        if self.size.most**2 * max(len(values), 1) >= 2**63:
            values = values.astype(object)
        return [missing, *binned], [int(values.sum()), int((values * values).sum())], rounded

    def _values(self, cells: Cells) -> tuple[Integers, int, int]:
        """Those that are there, on the study's grid, as whole multiples of its unit."""
        column, gaps = cells.numbers()
        there = np.flatnonzero(~gaps)
        rows = {self.name: column.take(there)}
        readings = Readings(len(there), rows, {}, lambda row: cells.place(int(there[row])))
        found = Dictionary.of({self.name: self.column}).place(readings)
        placed, rounded = found.numbers[self.name], found.rounded.get(self.name, 0)
        whole = placed.numbers // int(self.size.unit / placed.unit)
        return whole, len(gaps) - len(there), rounded

    def summary(self, rows: int, counts: Sequence[int], totals: Sequence[int]) -> ColumnSummary:
        missing, *cells = counts
        column, unit = self.column, self.size.unit
        found = ColumnSummary(self.name, column.kind, missing, rows - missing, column.unit)
        if self.bins is not None:
            found = replace(found, edges=self.bins.edges, histogram=tuple(cells))
        if totals:
            found = replace(found, total=totals[0] * unit, squares=totals[1] * unit**2)
        return found


ColumnAsked = Levels | Numbers
