"""Which coarser grid would do, where an interval has too few rows or rows of too few parties.

All have seen the counts by then, so all can work it out. Rows of intervals that become one add up.
Parties do not, so they are counted for some coarser grids as well; for any other an interval has at
least as many as one that lies in it. A grid is named only where that is enough. What a party will
say of its own rows (a veto) nobody can know.
"""

# Rule: what is said follows from opened counts alone.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.release.policy import Policy

Counts = npt.NDArray[Any]
"""(groups, intervals), those who leave later last."""
COARSER = 2, 3, 4, 6, 12, 30, 90, 365
"""Of so many intervals in one parties are counted too: quarters and years of months, of days."""
_PART = 10
"""A curve may end where no more than one of so many rows is left."""


@dataclass(frozen=True)
class CoarserGrid:
    """What was counted, in intervals of so much."""

    rows: Counts
    parties: Mapping[int, Counts]
    """For so many intervals in one; for 1 always."""
    grid: Fraction
    later: bool
    """Whether the last column is of those who leave after all intervals."""
    policy: Policy
    tau: int
    own: Counts | None = field(default=None, repr=False)
    """A party's own rows, where it is its own eyes that this is for."""
    least: int = 0
    """Rows in a cell of what is named."""

    def advice(self) -> str:
        """What to ask instead: a grid that keeps the whole curve, one that ends it earlier.

        Empty where nothing is known to do. With twice as many rows as are needed others' rows are
        more often enough for each party; without such a grid, as many as are needed.
        """
        k = self.policy.rows_per_cell
        return replace(self, least=2 * k)._advice() or replace(self, least=k)._advice()

    def _advice(self) -> str:
        whole = self._whole()
        ended = self._ended(whole or self._intervals)
        said = [] if whole is None else [f"grid={self._at(whole)} would do"]
        if ended is not None:
            grid = "on this grid" if ended[0] == 1 else f"with grid={self._at(ended[0])}"
            said.append(f"until={self._at(ended[1])} {grid}{'' if said else ' would do'}")
        return ", or ".join(said)

    def _whole(self) -> int | None:
        """So many intervals in one, and the curve as long as it was."""
        every: Iterable[int] = range(2, self._intervals + 1)
        if self.later:
            every = [n for n in every if self._intervals % n == 0]
        return next((n for n in every if self._passes(n, self._intervals)), None)

    def _ended(self, fewer_than: int) -> tuple[int, int] | None:
        """The finest grid, and on it the longest curve, by whose end nine of ten rows have left."""
        after = self.rows[:, ::-1].sum(axis=0).cumsum()[::-1]
        for times in (n for n in self.parties if n < fewer_than):
            for stop in range(self._intervals // times * times, 0, -times):
                if stop < self.rows.shape[1] and after[stop] * _PART > after[0]:
                    break
                if self._passes(times, stop):
                    return times, stop
        return None

    @property
    def _intervals(self) -> int:
        return int(self.rows.shape[1]) - self.later

    def _at(self, intervals: int) -> str:
        return decimal_text(self.grid * intervals)

    def _passes(self, times: int, stop: int) -> bool:
        """Whether all cells are large, of so many intervals each up to a stop, and of all later."""
        k, fewest = self.policy.rows_per_cell, self.policy.parties_needed(self.tau)
        starts = [*range(0, stop, times), *([stop] if stop < self.rows.shape[1] else [])]
        rows = np.add.reduceat(self.rows, starts, axis=1)
        few = self._least_parties(times, stop, starts) < fewest
        small = (rows > 0) & (few | (rows < self.least))
        if self.own is not None:
            others = rows - np.add.reduceat(self.own, starts, axis=1)
            small |= (rows > 0) & (others < k)
        return not small.any()

    def _least_parties(self, times: int, stop: int, starts: list[int]) -> Counts:
        """As far as it is known."""
        least = np.maximum.reduceat(self.parties[1], starts, axis=1)
        known, whole = self.parties.get(times), -(-stop // times)
        if known is not None:
            least[:, :whole] = known[:, :whole]
        if stop < self.rows.shape[1]:
            for n, there in self.parties.items():  # in one, or several, that all lie later
                later = there[:, -(-stop // n) :].max(axis=1, initial=0)
                least[:, -1] = np.maximum(least[:, -1], later)
        return least
