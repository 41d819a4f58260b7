"""The cells that are counted before anything else is opened.

Whoever knows a sum over all rows of one cell, and that the cell has one row, knows that row. Which
cells a model's sums tell apart follows from its columns:

    cuts      a category, a flag, a number with two values: each divides the rows into a few groups
    tables    of every two cuts, of those of a term, each with an outcome that is itself a cut; and
              of every number with few values alone, and of those that a term multiplies, since
              sums give these counts away
    digits    for a number with more values the rows off each coarser grid, of 2, 5 or 10 steps (and
              20, 50, 100, … of a fine one), and how many parties have such rows: their last digits
              stand in nobody else's sums

A table is counted whole, so its margins and complements follow. Rows are counted once, whatever
their weight, unless it is 0.
"""

# Rule 1: which cells there are follows from the study alone, not from anybody's rows.
# Rule 2: a table that is part of another is not counted twice.

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, groupby, product
from math import gcd, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.errors import InputError
from titan.moments import arithmetic
from titan.moments.arithmetic import as_integers
from titan.moments.expressions import Name
from titan.moments.model import Model, Readings
from titan.moments.terms import Category as Levels
from titan.moments.terms import Polynomial
from titan.release.dictionary import Column, Flag, Number

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[Any]
COARSER = 2, 5, 10
"""Steps of the coarser grids, and of a fine grid ten times these, and so on."""
FINE = 20
"""So many points at least has a coarser grid that is not the first of its kind."""
FEW, FEW_MADE = 5, 12
"""So many values of a number are counted: of any; of one that a formula makes columns of."""
_MOST_CELLS = 50_000
_TWO = 2
_LIMIT = 1 << 62
_CLOSE = 4  # times as many whole numbers as rows are still counted one by one


@dataclass(frozen=True)
class Cut:
    """A way to divide rows: by the levels of a category, or by the few values of a number."""

    column: str
    labels: tuple[str, ...]
    category: Levels | None = None
    values: tuple[Fraction, ...] = ()
    """Of a number: that of each group."""

    def codes(self, readings: Readings) -> Codes:
        if self.category is not None:
            return readings.codes[self.category]
        found = np.zeros(readings.rows, np.int64)
        for code, value in enumerate(self.values):
            found[arithmetic.equals(readings.numbers[self.column], value)] = code
        return found


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
    steps: int
    """Of the study's grid in one of these."""

    @property
    def label(self) -> str:
        return f"{self.column} off steps of {decimal_text(self.step)}"

    def points(self, unit: Fraction) -> tuple[int, int] | None:
        """(s, m) if n · unit lies on the coarser grid where n = s modulo m; None: it never does."""
        return _points(self.origin / unit, self.step / unit)


@lru_cache(maxsize=4096)
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


@dataclass(frozen=True)
class CellCounts:
    """What one question counts, as so many whole numbers in a row: rows first."""

    tables: tuple[Table, ...] = ()
    digits: tuple[Digits, ...] = ()
    weights: str | None = None
    """Rows of weight 0 are in no sum, so that they are in no cell."""
    weightless: bool = False
    """They are counted apart, in as many cells: sums without weights have them."""

    @cached_property
    def entries(self) -> int:
        tables = sum(prod(table.shape) for table in self.tables)
        return 1 + tables + self.weightless * (1 + tables) + 2 * len(self.digits)

    def opened_bits(self, rows: int, parties: int) -> int:
        """⌈log₂ of the possible values⌉ of all counts together."""
        of_parties = len(self.digits)
        of_rows = self.entries - of_parties
        return of_rows * rows.bit_length() + of_parties * parties.bit_length()

    def count(self, readings: Readings) -> Counts:
        """Of some rows; counts of several blocks add up, but for the parties'."""
        rows, apart = readings.rows, readings
        if self.weights is not None:
            there = np.asarray(readings.numbers[self.weights].numbers != 0, bool)
            apart, readings = (readings.take(np.flatnonzero(at)) for at in (~there, there))
        tables = [table.count(readings) for table in self.tables]
        if self.weightless:
            tables += [np.array([apart.rows]), *(table.count(apart) for table in self.tables)]
        digits = np.array([[n, 0] for n in self._off_grids(readings)], np.int64).ravel()
        return np.concatenate([[rows], *tables, digits]).astype(np.int64)

    def _off_grids(self, readings: Readings) -> Iterator[int]:
        for name, digits in groupby(self.digits, lambda each: each.column):
            column = as_integers(readings.numbers[name])
            yield from rows_off(digits, column.numbers, column.unit)

    def of_party(self, counts: Sequence[int]) -> list[int]:
        """What a party enters: the counts of all its rows, and of itself where it has some."""
        found = [int(n) for n in counts]
        for at in range(self.entries - 2 * len(self.digits), self.entries, 2):
            found[at + 1] = int(found[at] > 0)
        return found

    def cells(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Every cell that must not be small: its name and its rows."""
        yield from self._cells(counts, start := 1)
        if self.weightless:
            start += sum(prod(table.shape) for table in self.tables)
            none = f"{self.weights} = 0"
            yield none, int(counts[start])
            yield from ((f"{cell}, {none}", n) for cell, n in self._cells(counts, start + 1))
        start = self.entries - 2 * len(self.digits)
        for at, each in enumerate(self.digits):
            yield each.label, int(counts[start + 2 * at])

    def _cells(self, counts: Sequence[int], start: int) -> Iterator[tuple[str, int]]:
        for table in self.tables:
            stop = start + prod(table.shape)
            grid = np.array(counts[start:stop], object).reshape(table.shape)
            for name, place in table.cells():
                yield name, int(np.sum(grid[place]))
            start = stop

    def possible(self, counts: Sequence[int], parties: int) -> bool:
        """Whether rows can have these counts: every table holds all of them."""
        rows, after = counts[0], 1 + sum(prod(table.shape) for table in self.tables)
        none = counts[after] if self.weightless else 0
        fits = min(counts) >= 0 and self._holds(counts, 1, rows - none)
        if self.weightless:
            fits &= self._holds(counts, after + 1, none)
        start = self.entries - 2 * len(self.digits)
        off = [counts[at : at + 2] for at in range(start, self.entries, 2)]
        return fits and all(n <= rows and who <= min(n, parties) for n, who in off)

    def _holds(self, counts: Sequence[int], start: int, rows: int) -> bool:
        for table in self.tables:
            stop = start + prod(table.shape)
            if sum(counts[start:stop]) != rows:
                return False
            start = stop
        return True

    def parties(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        """What only some parties may have, and how many do."""
        start = self.entries - 2 * len(self.digits)
        for at, each in enumerate(self.digits):
            yield each.label, int(counts[start + 2 * at + 1])

    def alone_on(self, counts: Sequence[int], own: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The coarser grids on which all own rows lie and others' do not: of how many steps."""
        start = self.entries - 2 * len(self.digits)
        for at, each in enumerate(self.digits):
            if own[start + 2 * at] == 0 < counts[start + 2 * at]:
                yield each.label, each.steps

    @property
    def opens(self) -> str:
        """In words, but for the number of rows."""
        said = []
        if self.tables:
            cuts = dict.fromkeys(cut.column for table in self.tables for cut in table.cuts)
            said.append(f"the rows in every cell of {' by '.join(cuts)}")
        if self.weightless:
            said.append(f"the rows where {self.weights} is 0{', in each cell' * bool(said)}")
        if self.digits:
            names = ", ".join(dict.fromkeys(each.column for each in self.digits))
            said.append(f"the rows and parties off coarser grids of {names}")
        return "; ".join(said)


ROWS_ALONE = CellCounts()


# -- those of a model ---------------------------------------------------------------------------


def cells_of(model: Model, columns: Mapping[str, Column]) -> CellCounts:
    """The tables that the model's sums tell apart, and the digits of its numbers."""
    made = {name for name in model.number_columns if _is_made(name, model)}
    few = {name: cut_of_number(name, columns, made) for name in model.number_columns}
    numbers = {name: cut for name, cut in few.items() if cut is not None}
    cuts = {name: cut for name, cut in numbers.items() if len(cut.labels) == _TWO}
    outcome = [cuts[name] for name in model.response.columns_needed() if name in cuts]
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
    if model.weights in numbers:
        sets.append((numbers[model.weights],))
    singles = list(dict.fromkeys(cut for each in sets for cut in each))
    for term in [*model.terms, (model.response,)]:
        read = [numbers[n] for factor in term for n in factor.columns_needed() if n in numbers]
        several = tuple(dict.fromkeys(read))
        if prod(len(cut.labels) for cut in several) <= FEW * FEW:
            sets.append(several)
    sets += [*combinations(singles, 2), *((cut,) for cut in singles), ()]
    sets += [(cut,) for cut in numbers.values() if cut not in cuts.values()]
    tables = _largest([(*each, *(cut for cut in outcome if cut not in each)) for each in sets])
    digits = [each for name in model.number_columns for each in digits_of(name, columns)]
    weightless = model.weights is not None and _can_be_0(columns.get(model.weights))
    counts = CellCounts(tuple(map(Table, tables)), tuple(digits), model.weights, weightless)
    if counts.entries > _MOST_CELLS:
        raise InputError(
            f"{counts.entries} cells would be counted",
            hint=f"at most {_MOST_CELLS}: use fewer categories, or fewer levels",
        )
    return counts


def _of_levels(category: Levels) -> Cut:
    labels = tuple(f"{category.column} = {level.text}" for level in category.levels)
    return Cut(category.column, labels, category)


def counted_numbers(cells: CellCounts) -> frozenset[frozenset[str]]:
    """The numbers all of whose values are counted, each set in one table."""
    return frozenset(
        frozenset(cut.column for cut in table.cuts if cut.category is None)
        for table in cells.tables
    )


def _is_made(name: str, model: Model) -> bool:
    """Whether a formula makes something of this number, but for a product with levels."""
    for term in model.terms:
        factors = [each for each in term if not isinstance(each, Levels)]
        if any(name in each.columns_needed() for each in factors):
            plain = len(factors) == 1 and isinstance(getattr(factors[0], "expression", None), Name)
            if not plain or isinstance(factors[0], Polynomial):
                return True
    return False


def cut_of_number(
    name: str, columns: Mapping[str, Column], made: Collection[str] = ()
) -> Cut | None:
    """A flag, or a number that takes few values."""
    column = columns.get(name)
    if isinstance(column, Flag):
        column = Number(Fraction(0), Fraction(1), Fraction(1))
    if not isinstance(column, Number) or column.step is None:
        return None
    count = int((column.high - column.low) / column.step) + 1
    if not 1 < count <= (FEW_MADE if name in made else FEW):
        return None
    values = tuple(column.low + at * column.step for at in range(count))
    return Cut(name, tuple(f"{name} = {decimal_text(value)}" for value in values), values=values)


def _can_be_0(column: Column | None) -> bool:
    """By the dictionary; where there is none, all rows lie in one place."""
    return isinstance(column, Flag) or (isinstance(column, Number) and column.low <= 0)


def digits_of(name: str, columns: Mapping[str, Column]) -> Iterator[Digits]:
    """The coarser grids of a number."""
    column = columns.get(name)
    if isinstance(column, Number) and column.step is not None:
        steps = (column.high - column.low) / column.step
        origin = Fraction(0) if column.low % column.step == 0 else column.low
        for coarser in _coarser(steps):
            yield Digits(name, origin, coarser * column.step, coarser)


def _coarser(steps: Fraction) -> Iterator[int]:
    times = 1
    while times == 1 or FINE * times <= steps:
        for each in COARSER:
            coarser = each * times
            if steps > coarser and (times == 1 or steps >= FINE * coarser):
                yield coarser
        times *= 10


def _largest(sets: Iterable[tuple[Cut, ...]]) -> list[tuple[Cut, ...]]:
    """Those that are not part of another, each once."""
    found: list[tuple[Cut, ...]] = []
    holding: dict[Cut, set[int]] = {}
    for each in sorted(dict.fromkeys(sets), key=len, reverse=True):
        if each and not set.intersection(*(holding.get(cut, set()) for cut in each)):
            for cut in each:
                holding.setdefault(cut, set()).add(len(found))
            found.append(each)
    return found
