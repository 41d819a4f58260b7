"""How counts travel: no fact twice, and counts of parties several in one number.

Tables share margins, and every table holds the same rows. So of each set of cuts that some table
has, only the cells without a first level are sent. The others follow: a first level is all of its
margin but the rest.

    rows, tables (rows of weight 0, their tables), off coarser grids    one number each
    parties off coarser grids, parties in cells                         several in one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from titan.release import party_counts
from titan.release.cells import CellCounts, Codes, Cut, Table


@dataclass(frozen=True)
class SentCounts:
    """Counts of one question, of so many parties, as the numbers of its first sum."""

    cells: CellCounts
    parties: int

    @cached_property
    def entries(self) -> int:
        return self._of_rows + party_counts.numbers_for(self.cells.of_parties, self.parties)

    @property
    def _of_rows(self) -> int:
        return (1 + self._of_tables) * (1 + self.cells.weightless) + len(self.cells.digits)

    @cached_property
    def _of_tables(self) -> int:
        return sum(prod(_sizes(cuts)) for cuts in self._margins.values())

    @cached_property
    def _margins(self) -> dict[frozenset[Cut], tuple[Cut, ...]]:
        """Every set of cuts that some table has, in one order."""
        found: dict[frozenset[Cut], tuple[Cut, ...]] = {}
        for table in self.cells.tables:
            for size in range(1, len(table.cuts) + 1):
                for cuts in combinations(table.cuts, size):
                    found.setdefault(frozenset(cuts), cuts)
        return found

    def opened_bits(self, rows: int) -> int:
        """⌈log₂ of the possible values⌉ of all counts together."""
        of_parties = self.cells.of_parties * self.parties.bit_length()
        return self._of_rows * rows.bit_length() + of_parties

    # -- there ----------------------------------------------------------------------------------

    def numbers(self, counts: Sequence[int]) -> list[int]:
        cells = self.cells
        sent = [counts[0], *self._told(counts, 1)]
        if cells.weightless:
            sent += [counts[cells.after_tables], *self._told(counts, cells.after_tables + 1)]
        digits = counts[cells.of_rows - len(cells.digits) : cells.of_rows]
        return [*sent, *digits, *party_counts.together(counts[cells.of_rows :], self.parties)]

    def _told(self, counts: Sequence[int], start: int) -> Iterator[int]:
        grids = list(self.cells.grids(counts, start))
        for cuts in self._margins.values():
            table, grid = grids[self.cells.holding(cuts)]
            yield from table.margin(grid, cuts)[(slice(1, None),) * len(cuts)].ravel().tolist()

    # -- and back -------------------------------------------------------------------------------

    def counts(self, numbers: Sequence[int]) -> list[int]:
        cells, tables = self.cells, self._of_tables
        rows, none = numbers[0], numbers[1 + tables] if cells.weightless else 0
        found = [rows, *self._tables(numbers[1 : 1 + tables], rows - none)]
        if cells.weightless:
            found += [none, *self._tables(numbers[2 + tables : 2 + 2 * tables], none)]
        digits = numbers[self._of_rows - len(cells.digits) : self._of_rows]
        of_parties = numbers[self._of_rows :]
        return [
            *found, *digits, *party_counts.apart(of_parties, cells.of_parties, self.parties),
        ]  # fmt: skip

    def _tables(self, told: Sequence[int], rows: int) -> Iterator[int]:
        known, start = dict[frozenset[Cut], Codes](), 0
        for cuts in self._margins.values():
            shape = _sizes(cuts)
            known[frozenset(cuts)] = np.array(
                told[start : start + prod(shape)], np.int64
            ).reshape(shape)  # fmt: skip
            start += prod(shape)
        for table in self.cells.tables:
            yield from self._whole(table, known, rows).ravel().tolist()

    def _whole(self, table: Table, known: dict[frozenset[Cut], Codes], rows: int) -> Codes:
        """At first, index 0 stands for all levels of a cut; then for what the others leave."""
        grid = np.zeros(table.shape, np.int64)
        grid[(0,) * grid.ndim] = rows
        for size in range(1, grid.ndim + 1):
            for axes in combinations(range(grid.ndim), size):
                cuts = frozenset(table.cuts[axis] for axis in axes)
                order = [self._margins[cuts].index(table.cuts[axis]) for axis in axes]
                place = tuple(slice(1, None) if a in axes else 0 for a in range(grid.ndim))
                grid[place] = known[cuts].transpose(order)
        for axis in range(grid.ndim):
            first = np.moveaxis(grid, axis, 0)
            first[0] -= first[1:].sum(axis=0)
        return grid


def _sizes(cuts: Sequence[Cut]) -> tuple[int, ...]:
    return tuple(len(cut.labels) - 1 for cut in cuts)
