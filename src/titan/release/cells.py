"""The cells that are counted before anything else is opened.

Whoever knows a sum over all rows of one cell, and that the cell has one row, knows that row. Which
cells a model's sums tell apart follows from its columns:

    cuts      a category, a flag, a number with two values: each divides the rows into a few groups
    tables    of every two cuts, of those of a term, each with an outcome that is itself a cut
    digits    for a number with more values the rows off each coarser grid, of 2, 5 or 10 steps,
              and how many parties have such rows: their last digits stand in nobody else's sums

A table is counted whole, so its margins and complements follow. Rows are counted once, whatever
their weight, unless it is 0.
"""

# Rule 1: which cells there are follows from the study alone, not from anybody's rows.
# Rule 2: a table that is part of another is not counted twice.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.errors import InputError
from titan.moments import arithmetic
from titan.moments.arithmetic import as_integers
from titan.moments.model import Model, Readings
from titan.moments.terms import Category as Levels
from titan.release.dictionary import Column, Flag, Number

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[Any]
COARSER = 2, 5, 10
"""Steps of the coarser grids."""
_MOST_CELLS = 50_000
_LIMIT = 1 << 62


@dataclass(frozen=True)
class Cut:
    """A way to divide rows: by the levels of a category, or by a number's two values."""

    column: str
    labels: tuple[str, ...]
    category: Levels | None = None
    value: Fraction = Fraction(1)
    """Of a number: that of the second group."""
    other: Fraction = Fraction(0)
    """Of a number: that of the first."""

    def codes(self, readings: Readings) -> Codes:
        if self.category is not None:
            return readings.codes[self.category]
        return arithmetic.equals(readings.numbers[self.column], self.value).astype(np.int64)


@dataclass(frozen=True)
class Table:
    """Rows counted by several cuts at once."""

    cuts: tuple[Cut, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(cut.labels) for cut in self.cuts)

    def count(self, readings: Readings) -> Counts:
        place = np.ravel_multi_index([cut.codes(readings) for cut in self.cuts], self.shape)
        return np.bincount(place, minlength=prod(self.shape)).astype(np.int64)

    def cells(self) -> Iterator[tuple[str, tuple[int | slice, ...]]]:
        """Every cell of the table and of its margins: what it is called, and its place."""
        for size in range(1, len(self.cuts) + 1):
            for axes in combinations(range(len(self.cuts)), size):
                for levels in product(*(range(self.shape[axis]) for axis in axes)):
                    chosen = dict(zip(axes, levels, strict=True))
                    yield self._name(chosen), self._place(chosen)

    def _name(self, chosen: Mapping[int, int]) -> str:
        return ", ".join(self.cuts[axis].labels[level] for axis, level in chosen.items())

    def _place(self, chosen: Mapping[int, int]) -> tuple[int | slice, ...]:
        return tuple(chosen.get(axis, slice(None)) for axis in range(len(self.cuts)))


@dataclass(frozen=True)
class Digits:
    """The rows of one number that lie off a coarser grid: two entries, the second for the party."""

    column: str
    origin: Fraction
    step: Fraction
    """Of the coarser grid."""

    @property
    def label(self) -> str:
        return f"{self.column} off steps of {decimal_text(self.step)}"

    def count(self, readings: Readings) -> int:
        column = as_integers(readings.numbers[self.column])
        if not len(column):
            return 0
        slope, start = column.unit / self.step, self.origin / self.step
        r = lcm(slope.denominator, start.denominator)
        p, q = int(slope * r), int(start * r)
        numbers = column.numbers
        if max(arithmetic.largest(column), 1) * abs(p) + abs(q) >= _LIMIT:
            numbers = numbers.astype(object)
        return int(np.count_nonzero((numbers * p - q) % r))


@dataclass(frozen=True)
class CellCounts:
    """What one question counts, as so many whole numbers in a row: rows first."""

    tables: tuple[Table, ...] = ()
    digits: tuple[Digits, ...] = ()
    weights: str | None = None
    """Rows of weight 0 are in no sum, so that they are in no cell."""

    @cached_property
    def entries(self) -> int:
        return 1 + sum(prod(table.shape) for table in self.tables) + 2 * len(self.digits)

    def count(self, readings: Readings) -> Counts:
        """Of some rows; counts of several blocks add up, but for the parties'."""
        rows = readings.rows
        if self.weights is not None:
            there = np.asarray(readings.numbers[self.weights].numbers != 0, bool)
            readings = readings.take(np.flatnonzero(there))
        tables = [table.count(readings) for table in self.tables]
        digits = np.array([[each.count(readings), 0] for each in self.digits], np.int64).ravel()
        return np.concatenate([[rows], *tables, digits]).astype(np.int64)

    def of_party(self, counts: Sequence[int]) -> list[int]:
        """What a party enters: the counts of all its rows, and of itself where it has some."""
        found = [int(n) for n in counts]
        for at in range(self.entries - 2 * len(self.digits), self.entries, 2):
            found[at + 1] = int(found[at] > 0)
        return found

    def cells(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Every cell that must not be small: its name and its rows."""
        start = 1
        for table in self.tables:
            stop = start + prod(table.shape)
            grid = np.array(counts[start:stop], object).reshape(table.shape)
            for name, place in table.cells():
                yield name, int(np.sum(grid[place]))
            start = stop
        for at, each in enumerate(self.digits):
            yield each.label, int(counts[start + 2 * at])

    def parties(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """What only some parties may have, and how many do."""
        start = self.entries - 2 * len(self.digits)
        for at, each in enumerate(self.digits):
            yield each.label, int(counts[start + 2 * at + 1])

    @property
    def opens(self) -> str:
        """In words, but for the number of rows."""
        said = []
        if self.tables:
            cuts = dict.fromkeys(cut.column for table in self.tables for cut in table.cuts)
            said.append(f"the rows in every cell of {' by '.join(cuts)}")
        if self.digits:
            names = ", ".join(dict.fromkeys(each.column for each in self.digits))
            said.append(f"the rows and parties off coarser grids of {names}")
        return "; ".join(said)


ROWS_ALONE = CellCounts()


# -- those of a model ---------------------------------------------------------------------------


def cells_of(model: Model, columns: Mapping[str, Column]) -> CellCounts:
    """The tables that the model's sums tell apart, and the digits of its numbers."""
    cuts = {name: cut for name in model.number_columns if (cut := _of_number(name, columns))}
    sets: list[tuple[Cut, ...]] = []
    for term in model.terms:
        found = [
            cut
            for factor in term
            for cut in (
                [_of_levels(factor)]
                if isinstance(factor, Levels)
                else [cuts[name] for name in factor.columns_needed() if name in cuts]
            )
        ]
        sets.append(tuple(dict.fromkeys(found)))
    outcome = [cuts[name] for name in model.response.columns_needed() if name in cuts]
    singles = list(dict.fromkeys(cut for each in sets for cut in each))
    sets += [*combinations(singles, 2), *((cut,) for cut in singles), ()]
    tables = _largest([(*each, *(cut for cut in outcome if cut not in each)) for each in sets])
    digits = [each for name in model.number_columns for each in _digits(name, columns)]
    counts = CellCounts(tuple(map(Table, tables)), tuple(digits), model.weights)
    if counts.entries > _MOST_CELLS:
        raise InputError(
            f"{counts.entries} cells would be counted",
            hint=f"at most {_MOST_CELLS}: use fewer categories, or fewer levels",
        )
    return counts


def _of_levels(category: Levels) -> Cut:
    labels = tuple(f"{category.column} = {level.text}" for level in category.levels)
    return Cut(category.column, labels, category)


def _of_number(name: str, columns: Mapping[str, Column]) -> Cut | None:
    """A flag, or a number that takes two values."""
    column = columns.get(name)
    if isinstance(column, Flag):
        return Cut(name, (f"{name} = 0", f"{name} = 1"))
    two = isinstance(column, Number) and column.step and column.high - column.low == column.step
    if not two:
        return None
    assert isinstance(column, Number)  # noqa: S101 - seen above
    labels = tuple(f"{name} = {decimal_text(end)}" for end in (column.low, column.high))
    return Cut(name, labels, value=column.high, other=column.low)


def _digits(name: str, columns: Mapping[str, Column]) -> Iterator[Digits]:
    column = columns.get(name)
    if isinstance(column, Number) and column.step is not None:
        steps = (column.high - column.low) / column.step
        origin = Fraction(0) if column.low % column.step == 0 else column.low
        for coarser in COARSER:
            if steps > max(coarser, 2):
                yield Digits(name, origin, coarser * column.step)


def _largest(sets: Iterable[tuple[Cut, ...]]) -> list[tuple[Cut, ...]]:
    """Those that are not part of another, each once."""
    found: list[tuple[Cut, ...]] = []
    for each in sorted(dict.fromkeys(sets), key=len, reverse=True):
        if each and not any(set(each) <= set(other) for other in found):
            found.append(each)
    return found
