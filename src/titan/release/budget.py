"""How much the sums of made columns tell about a table of the raw ones: three tenths at most.

With columns f, g, … made of V = {age}, say, every entry Σ f g of AᵀA is Σ_a c(a) f(a) g(a) over the
table c of counts by age, and with another column y, Σ f y is a sum over the table of y by age. They
are few numbers, but of many digits: once these have more bits than the table, lattice reduction
finds it. Tried with the ages of 854 patients: three columns exp(-k age) of 20 bits, or a cubic
spline of five columns of 16, gave every single count; nothing that tells less than the table did.

    bits     of the sums of functions F, the rows anywhere on the grid of V and independent:
             half of log₂ det(2πe (rows · Cov F + 1)), the most entropy of so many whole numbers.
             (With y: rows · E F Fᵀ · Var y.) Correlated entries tell little more than one.
    table    log₂ of the number of tables of counts; with y, the entropy of its sum at every point.
    limit    three tenths of the table. Rows do not lie just anywhere: to who knows roughly how ages
             are distributed, the table of these patients had 188 bits, where 520 are counted here.
             Of 820 models, none that told less than a third of the table gave it away.

A column that is a narrow peak tells of few points. So the same is asked of those that put most bits
into sums, a half of all points, a quarter and an eighth: the bits of all entries, less those that
the other points alone would have. An entry within cells (of sex, of an event) counts in a table of
its own, with the rows of the smallest cell.
"""

# Rule 1: all of this is public: it follows from the study and the counts that its first sum opens.
# Rule 2: the same everywhere (`entropy`).

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from titan.errors import ReleaseError
from titan.listing import listing
from titan.moments.model import Model
from titan.release.cells import CellCounts
from titan.release.dictionary import Column, points
from titan.release.entropy import Determinant, as_arb, log2, noise, precise
from titan.release.made import Rounding
from titan.release.opened import OpenedSum, Values, opened

SHARE = Fraction(3, 10)
_ROWS_TO_POINTS = 4  # a grid is believed to spread rows over no more than so many points for each
_PARTS = 2, 4, 8
_LEAST_POINTS = 8  # of a part that is looked at by itself
_MOST_ROWS = 10_000_000
Least = Callable[[frozenset[str]], int | None]
"""The rows of the smallest cell that is not empty, by these columns; None where not counted."""


@dataclass(frozen=True)
class Share:
    """What is opened of one table: of rows, or of `linear`, by the values of `raw`."""

    raw: tuple[str, ...]
    linear: str | None
    within: tuple[str, ...]
    """The categories and flags in whose cells the table is."""
    cells: int
    """How many these are."""
    points: tuple[int, ...]
    """Of the grid of each raw column."""
    variance: Fraction
    """Of the linear column, in units; 1 without."""
    functions: tuple[Values, ...] = field(repr=False)
    """Of the entries, each once."""
    rounded: Fraction | None = None
    """Where sums are rounded, what they are rounded to is so many of the functions' units; else
    sums are whole numbers of these."""
    part: Fraction = SHARE
    """Of the table, at most."""

    @property
    def entries(self) -> int:
        return len(self.functions)

    def measured(self, rows: int, beside: float = 0.0) -> tuple[float, float]:
        """The bits opened of so many rows, and their limit, where this is the tightest.

        What else tells of the same table stands `beside`.
        """
        whole = self.told(rows)
        found = [(whole + beside, self._limit(rows, 1))]
        if whole + beside <= found[0][1]:
            for part, others in zip(self._parts, self._others, strict=True):
                found.append((whole - self._bits(others, rows), self._limit(rows, part)))
        return max(found, key=lambda each: each[0] - each[1])

    def told(self, rows: int) -> float:
        """The bits opened of all points together."""
        return self._bits(self._all, rows)

    def limit(self, rows: int) -> float:
        """Of all points together."""
        return self._limit(rows, 1)

    def passes(self, rows: int) -> bool:
        bits, limit = self.measured(rows)
        return bits <= limit

    @cached_property
    def least_rows(self) -> int | None:
        """At which it passes, as far as one looks; None if never."""
        most = 1
        while not self.passes(most):
            most *= 2
            if most > _MOST_ROWS:
                return None
        least = most // 2
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (least, middle) if self.passes(middle) else (middle, most)
        return most

    @cached_property
    def _all(self) -> Determinant:
        return self._determinant(range(len(self.functions[0])))

    @property
    def _parts(self) -> list[int]:
        return [part for part in _PARTS if prod(self.points) >= _LEAST_POINTS * part]

    @cached_property
    def _others(self) -> list[Determinant]:
        """Without the part of the points whose values have most bits, apart from the usual one."""
        count = len(self.functions[0])
        usual = [(f, sorted(f)[count // 2]) for f in self.functions]
        weight = [sum((f[at] - x).bit_length() for f, x in usual) for at in range(count)]
        order = sorted(range(count), key=weight.__getitem__)
        return [self._determinant(order[: count - count // part]) for part in self._parts]

    def _determinant(self, at: Sequence[int]) -> Determinant:
        return Determinant.of(self.functions, at, centred=self.linear is None)

    def _bits(self, determinant: Determinant, rows: int) -> float:
        with precise():
            if self.rounded is None:
                told, of_entry = determinant.log2(rows * self.variance), log2(noise())
            else:  # to a unit: off by 1/√12 of it
                told = determinant.log2(12 * rows * self.variance / self.rounded**2)
                of_entry = log2(noise() / 12)
            return float((self.entries * of_entry + told) / 2)

    def _limit(self, rows: int, part: int) -> float:
        """Of a part of the points, with as large a part of the rows."""
        points = prod(min(each, _ROWS_TO_POINTS * rows) for each in self.points)
        there, grid = Fraction(rows, part), Fraction(points, part)
        with precise(2 * points.bit_length()):
            if self.linear is None:
                logs = [as_arb(x).lgamma() for x in (there + grid, there + 1, grid)]
                table = (logs[0] - logs[1] - logs[2]) / as_arb(2).log()
            else:
                spread = noise() * as_arb(max(there / grid, Fraction(1)) * self.variance)
                table = as_arb(min(grid, there)) * log2(1 + spread) / 2
            return float(as_arb(self.part) * table)

    def __str__(self) -> str:
        what = "rows" if self.linear is None else f"the sum of {self.linear}"
        within = f", by {', '.join(self.within)}" if self.within else ""
        return f"{what} at each {' and '.join(self.raw)}{within}"


@dataclass(frozen=True)
class Budget:
    """All tables of which made columns open something, over all questions."""

    shares: tuple[Share, ...]

    @classmethod
    def of(
        cls, questions: Iterable[tuple[Model, Rounding, bool]], columns: Mapping[str, Column]
    ) -> Budget:
        """Of models with the rounding of their columns, and whether bᵀb is opened."""
        entries = [
            entry
            for model, rounding, inference in questions
            for entry in opened(model, rounding, columns, inference=inference)
        ]
        return cls(tuple(_shares(entries, columns)))

    def check(
        self, rows: int, least: Least = lambda _: None, counted: Collection[frozenset[str]] = ()
    ) -> None:
        """Refuse what tells more than its share; of each set `counted` all values are cells."""
        for share in self.shares:
            known = least(frozenset(share.within)) if share.within else rows
            there = rows // share.cells if known is None else known
            if there and not among(share.raw, counted) and not share.passes(there):
                raise _refusal(share, there)


def among(raw: Sequence[str], counted: Collection[frozenset[str]]) -> bool:
    return any(each.issuperset(raw) for each in counted)


def smallest_of(cells: CellCounts, counts: Sequence[int]) -> Least:
    """From the counts that the first sum opened."""
    by_columns: dict[frozenset[str], int] = {}
    start = 1
    for table in cells.tables:
        stop = start + prod(table.shape)
        grid = np.array(counts[start:stop], object).reshape(table.shape)
        for size in range(1, grid.ndim + 1):
            for kept in combinations(range(grid.ndim), size):
                others = tuple(axis for axis in range(grid.ndim) if axis not in kept)
                there = [n for n in grid.sum(axis=others).ravel() if n]
                names = frozenset(table.cuts[axis].column for axis in kept)
                by_columns[names] = min(there, default=0)
        start = stop
    return by_columns.get


def _refusal(share: Share, rows: int) -> ReleaseError:
    bits, limit = share.measured(rows)
    needed, where = share.least_rows, " in each cell" if share.within else ""
    more = f"use at least {needed} rows{where}, " if needed else ""
    return ReleaseError(
        f"{share.entries} sums of columns made of {listing(map(repr, share.raw))} over {rows} rows "
        f"tell {bits:.0f} bits of {share}, where {limit:.0f} are the most",
        hint=f"make fewer columns of it, {more}or agree on fewer bits of precision",
        rule="bits",
        cell=str(share),
    )


def _shares(entries: Sequence[OpenedSum], columns: Mapping[str, Column]) -> Iterator[Share]:
    tables: dict[tuple[frozenset[str], str | None, frozenset[str]], int] = {}
    for entry in entries:
        if all(part.raw for part in entry.parts):
            continue
        names = entry.names
        tables[names, None, entry.cells] = entry.levels
        for name in sorted(names):
            if entry.over(names - {name}, name) is not None:
                tables[names - {name}, name, entry.cells] = entry.levels
    for (raw, linear, cells), levels in tables.items():
        grids = tuple(points(columns[name]) for name in sorted(raw))
        told = [each.over(raw, linear) for each in entries if each.cells == cells and each.parts]
        found = [f for f in told if f is not None]
        # a peak may stand between the points at which functions are compared: it tells something
        functions = [*dict.fromkeys(f for f in found if any(f)), *(f for f in found if not any(f))]
        most = 0 if linear is None else points(columns[linear])
        variance = Fraction(max(most**2 - 1, 3), 12) if most else Fraction(1)
        if max(grids) > 2:
            of = tuple(sorted(raw)), linear, tuple(sorted(cells))
            yield Share(*of, levels, grids, variance, tuple(functions))
