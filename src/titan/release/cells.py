"""Counts of rows and of parties, before anything else is opened.

Whoever knows a sum over all rows of one cell, and that the cell has one row, knows that row. So
rows are counted in every cell that a model's sums tell apart, and parties in those that its columns
sum over (`titan.release.model_cells` says which). A table is counted whole, so its margins and
complements follow. Rows are counted once, whatever their weight, unless it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, groupby, product
from math import gcd, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.moments import arithmetic
from titan.moments.arithmetic import as_integers
from titan.moments.model import Readings
from titan.moments.terms import Category as Levels

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[Any]
_LIMIT = 1 << 62
_CLOSE = 4  # times as many whole numbers as rows are still counted one by one


@dataclass(frozen=True)
class Cut:
    """A way to divide rows: by a category's levels, a comparison, or the few values of a number."""

    column: str
    labels: tuple[str, ...]
    category: Levels | None = None
    values: tuple[Fraction, ...] = ()
    """Of a number: that of each group."""

    def codes(self, readings: Readings) -> Codes:
        if self.category is not None:
            return readings.codes_of(self.category)
        found = np.zeros(readings.rows, np.int64)
        for code, value in enumerate(self.values):
            found[arithmetic.equals(readings.numbers[self.column], value)] = code
        return found


@dataclass(frozen=True)
class AnyCut(Cut):
    """Rows of a count: those with none, and those with any."""

    @classmethod
    def of(cls, column: str) -> AnyCut:
        values = Fraction(0), Fraction(1)
        return cls(column, (f"{column} = 0", f"{column} > 0"), values=values)

    def codes(self, readings: Readings) -> Codes:
        there = np.asarray(readings.numbers[self.column].numbers != 0, bool)
        return there.astype(np.int64)


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

    def names(self) -> Iterator[str]:
        """Of its own cells, without the margins, in the order of its counts."""
        return (", ".join(labels) for labels in product(*(cut.labels for cut in self.cuts)))

    def margin(self, grid: Codes, cuts: Sequence[Cut]) -> Codes:
        """Of its counts those by some of its cuts, in their order."""
        kept = [self.cuts.index(cut) for cut in cuts]
        others = tuple(axis for axis in range(grid.ndim) if axis not in kept)
        return np.asarray(grid.sum(axis=others).transpose(np.argsort(np.argsort(kept))))

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
    steps: int
    """Of the study's grid in one of these."""

    @property
    def label(self) -> str:
        return f"{self.column} off steps of {decimal_text(self.step)}"

    def points(self, unit: Fraction) -> tuple[int, int] | None:
        """(s, m) if n · unit lies on the coarser grid where n = s modulo m; None: it never does."""
        of_unit = unit.numerator, unit.denominator
        if of_unit not in self._known:
            self._known[of_unit] = _points(self.origin / unit, self.step / unit)
        return self._known[of_unit]

    @cached_property
    def _known(self) -> dict[tuple[int, int], tuple[int, int] | None]:
        return {}  # for all blocks of rows: fractions are slow


def _points(origin: Fraction, step: Fraction) -> tuple[int, int] | None:
    """n = origin + k · step means p n = q modulo r, so that m = r / gcd(p, r)."""
    r = step.numerator * origin.denominator
    p, q = step.denominator * origin.denominator, origin.numerator * step.denominator
    common = gcd(p, r)
    if q % common:
        return None
    m = r // common
    return q // common * pow(p // common, -1, m) % m, m


def rows_off(digits: Iterable[Digits], numbers: Codes, unit: Fraction) -> list[int]:
    """How many of one column's numbers, whole ones of a unit, lie off each grid.

    Where they lie close together they are counted once, and a grid's points are a slice of that.
    """
    points, rows = [each.points(unit) for each in digits], len(numbers)
    if not points or not rows:
        return [0] * len(points)
    low, high = int(numbers.min()), int(numbers.max())
    counts = None
    if high - low < _CLOSE * rows:
        counts = np.bincount((numbers - low).astype(np.int64, copy=False))

    def on(rest: int, modulus: int) -> int:
        if counts is not None:
            return int(counts[(rest - low) % modulus :: modulus].sum())
        held = numbers if modulus < _LIMIT else numbers.astype(object)
        return int(np.count_nonzero(held % modulus == rest))

    return [rows - (0 if at is None else on(*at)) for at in points]


def _quick(x: Fraction) -> Fraction | int:
    return x.numerator if x.denominator == 1 else x


@dataclass(frozen=True)
class CellCounts:
    """What one question counts, as so many whole numbers in a row: rows first."""

    tables: tuple[Table, ...] = ()
    digits: tuple[Digits, ...] = ()
    held: tuple[Table, ...] = ()
    """Each a margin of one of the tables, or the whole of it."""
    weights: str | None = None
    """Rows of weight 0 are in no sum, so that they are in no cell."""
    weightless: bool = False
    """They are counted apart, in as many cells: sums without weights have them."""
    told: tuple[tuple[str, int], ...] = ()
    """Of a number with few values: the most that sums can tell apart."""
    pairs: int = 0
    """So many of the last in `held` are summed over by the margins alone: of these the cells count
    that margins tell, since others are empty."""
    varying: tuple[tuple[str, Fraction, Fraction], ...] = ()
    """Numbers of many values, each with its range's low end and step: in how many parties' rows
    they vary. One that is the same in all rows of a party says whose they are."""

    @cached_property
    def of_rows(self) -> int:
        """How many of them count rows; these come first, those off coarser grids last."""
        return self.after_tables * (1 + self.weightless) + len(self.digits)

    @cached_property
    def after_tables(self) -> int:
        """Where the tables end; and where the rows of weight 0 are counted, if they are."""
        return 1 + sum(prod(table.shape) for table in self.tables)

    @cached_property
    def of_parties(self) -> int:
        """How many count parties: off coarser grids, and then in cells."""
        held = sum(prod(table.shape) for table in self.held)
        held = held * (1 + self.weightless) + self.weightless
        return len(self.digits) + held + len(self.varying)

    def count(self, readings: Readings) -> Counts:
        """The rows, of some rows; counts of several blocks add up."""
        rows, apart = readings.rows, readings
        if self.weights is not None:
            there = np.asarray(readings.numbers[self.weights].numbers != 0, bool)
            apart, readings = (readings.take(np.flatnonzero(at)) for at in (~there, there))
        tables = [table.count(readings) for table in self.tables]
        if self.weightless:
            tables += [np.array([apart.rows]), *(table.count(apart) for table in self.tables)]
        digits = np.array(list(self._off_grids(readings)), np.int64)
        counts = np.concatenate([[rows], *tables, digits]).astype(np.int64)
        moments = np.array(list(self._moments(readings)), object)
        return np.concatenate([counts, moments]) if self.varying else counts

    def _moments(self, readings: Readings) -> Iterator[int]:
        """Σn and Σn² of a number's steps above its low end: its owner's alone."""
        for name, low, step in self.varying:
            column = as_integers(readings.numbers[name])
            numbers, unit, start = column.numbers, _quick(column.unit / step), _quick(low / step)
            if readings.rows and int(abs(numbers).max()) ** 2 * readings.rows >= _LIMIT:
                numbers = numbers.astype(object)
            first, second = int(numbers.sum()) * unit, int((numbers * numbers).sum()) * unit**2
            yield int(first - readings.rows * start)
            yield int(second - 2 * first * start + readings.rows * start**2)

    def _off_grids(self, readings: Readings) -> Iterator[int]:
        for name, digits in groupby(self.digits, lambda each: each.column):
            column = as_integers(readings.numbers[name])
            yield from rows_off(digits, column.numbers, column.unit)

    def of_party(self, counts: Sequence[int]) -> list[int]:
        """What a party enters: the counts of all its rows, and of itself where it has some."""
        every = [int(n) for n in counts]
        rows, moments = every[: self.of_rows], every[self.of_rows :]
        used = rows[0] - (rows[self.after_tables] if self.weightless else 0)
        varies = [used * b != a * a for a, b in zip(moments[::2], moments[1::2], strict=True)]
        return [*rows, *(int(n > 0) for n in self._where_parties_count(rows)), *map(int, varies)]

    def _where_parties_count(self, counts: Sequence[int]) -> Iterator[int]:
        """The rows wherever parties are counted too."""
        yield from counts[self.of_rows - len(self.digits) : self.of_rows]
        for _, grid in self._held_rows(counts):
            yield from map(int, grid.ravel())

    def _held_rows(self, counts: Sequence[int]) -> Iterator[tuple[list[str], Codes]]:
        """The cells in which parties are counted, table by table: their names and rows."""
        yield from self._margins(counts, 1)
        if self.weightless:
            none, start = f"{self.weights} = 0", self.after_tables
            yield [none], np.array(counts[start : start + 1], object)
            for names, grid in self._margins(counts, start + 1):
                yield [f"{name}, {none}" for name in names], grid

    def _margins(self, counts: Sequence[int], start: int) -> Iterator[tuple[list[str], Codes]]:
        grids = list(self.grids(counts, start))
        for wanted in self.held:
            table, grid = grids[self.holding(wanted.cuts)]
            yield list(wanted.names()), table.margin(grid, wanted.cuts)

    def holding(self, cuts: Sequence[Cut]) -> int:
        """Which table, the first, has all of these cuts."""
        return min(set.intersection(*(self._tables_of[cut] for cut in cuts)))

    @cached_property
    def _tables_of(self) -> dict[Cut, set[int]]:
        found: dict[Cut, set[int]] = {}
        for at, table in enumerate(self.tables):
            for cut in table.cuts:
                found.setdefault(cut, set()).add(at)
        return found

    def cells(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Every cell that must not be small: its name and its rows."""
        yield from self.in_tables(counts)
        yield from self.rows_off_grids(counts)

    def in_tables(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        yield from self._cells(counts, 1)
        if self.weightless:
            none, start = f"{self.weights} = 0", self.after_tables
            yield none, int(counts[start])
            yield from ((f"{cell}, {none}", n) for cell, n in self._cells(counts, start + 1))

    def rows_off_grids(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        start = self.of_rows - len(self.digits)
        for at, each in enumerate(self.digits, start):
            yield each.label, int(counts[at])

    def _cells(self, counts: Sequence[int], start: int) -> Iterator[tuple[str, int]]:
        for table, grid in self.grids(counts, start):
            for name, place in table.cells():
                yield name, int(np.sum(grid[place]))

    def grids(self, counts: Sequence[int], start: int) -> Iterator[tuple[Table, Codes]]:
        """Every table with its counts, in its shape."""
        for table in self.tables:
            stop = start + prod(table.shape)
            yield table, np.array(counts[start:stop], object).reshape(table.shape)
            start = stop

    def possible(self, counts: Sequence[int], parties: int) -> bool:
        """Whether rows can have these counts, where every table holds all of them."""
        rows = counts[0]
        pairs = zip(self._where_parties_count(counts), counts[self.of_rows :], strict=False)
        fits = all(n <= rows and (n > 0) <= who <= min(n, parties) for n, who in pairs)
        return min(counts) >= 0 and fits and all(n <= parties for _, n in self.spread(counts))

    def spread(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The numbers of many values, and in how many parties' rows each varies."""
        names = [name for name, _, _ in self.varying]
        yield from zip(names, counts[len(counts) - len(names) :], strict=True)

    def parties(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Every cell that must not be that of few parties, and how many have rows there."""
        parties = iter(counts[self.of_rows + len(self.digits) :])
        held = [(table, at >= len(self.held) - self.pairs) for at, table in enumerate(self.held)]
        tables = [*held, *[(Table(()), False)] * self.weightless, *held * self.weightless]
        for (table, margins), (names, rows) in zip(tables, self._held_rows(counts), strict=True):
            found = list(zip(names, parties, strict=False))
            if margins:
                yield from (found[at] for at in _told_by_margins(rows))
            elif self._apart(table, rows):
                yield from found

    def _apart(self, table: Table, rows: Codes) -> bool:
        """Whether sums can tell the values that occur apart."""
        most, axes = dict(self.told), range(len(table.cuts))
        for axis, cut in enumerate(table.cuts):
            there = rows.sum(axis=tuple(each for each in axes if each != axis))
            if cut.category is None and np.count_nonzero(there) > most.get(cut.column, 2):
                return False
        return True

    def off_grids(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The coarser grids, and how many parties have rows off each."""
        labels = [each.label for each in self.digits]
        yield from zip(labels, counts[self.of_rows :], strict=False)

    def alone_on(self, counts: Sequence[int], own: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The coarser grids on which all own rows lie and others' do not: of how many steps."""
        start = self.of_rows - len(self.digits)
        for at, each in enumerate(self.digits, start):
            if own[at] == 0 < counts[at]:
                yield each.label, each.steps

    @property
    def opens(self) -> str:
        """In words, but for the number of rows."""
        said = []
        if self.tables:
            cuts = dict.fromkeys(cut.column for table in self.tables for cut in table.cuts)
            said.append(f"the rows in every cell of {' by '.join(cuts)}")
        if self.held:
            cuts = dict.fromkeys(cut.column for table in self.held for cut in table.cuts)
            said.append(f"how many parties have rows in those of {', '.join(cuts)}")
        if self.weightless:
            said.append(f"the rows where {self.weights} is 0{', in each cell' * bool(said)}")
        if self.digits:
            names = ", ".join(dict.fromkeys(each.column for each in self.digits))
            said.append(f"the rows and parties off coarser grids of {names}")
        if self.varying:
            names = ", ".join(name for name, _, _ in self.varying)
            said.append(f"how many parties have rows with different values of {names}")
        return "; ".join(said)


def _told_by_margins(rows: Codes) -> list[int]:
    """The cells of a table of two cuts that its margins tell, given which cells are empty.

    Cells are edges between levels, margins add up the edges at a level: they tell an edge if it is
    a bridge. Its leverage is 1 then, and else less by one over the levels at least.
    """
    one, other = np.nonzero(rows)
    levels = sum(rows.shape)
    ends = np.zeros((len(one), levels))
    ends[np.arange(len(one)), one] = ends[np.arange(len(one)), rows.shape[0] + other] = 1
    leverage = np.einsum("ij,ij->i", ends @ np.linalg.pinv(ends.T @ ends, hermitian=True), ends)
    bridges = leverage > 1 - 0.5 / levels
    return [int(at) for at in np.ravel_multi_index((one[bridges], other[bridges]), rows.shape)]


ROWS_ALONE = CellCounts()


def counted_numbers(cells: CellCounts) -> frozenset[frozenset[str]]:
    """The numbers all of whose values are counted, each set in one table."""
    return frozenset(
        frozenset(
            cut.column for cut in table.cuts if cut.category is None and not isinstance(cut, AnyCut)
        )
        for table in cells.tables
    )
