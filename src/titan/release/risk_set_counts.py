"""How many parties' risk sets hide each other: counts of Cox's model beside those of every model.

A party adds nothing to an entry of a score or a Hessian if the column is the same among all of its
rows at risk, at every event: then it hides nobody there, however many rows and events it has. And
where its events come all at once, what it adds is made of so few numbers at risk that they can be
tried one by one, unless another party's are not known either.

    columns    in how many parties each differs among the rows at risk at some event that counts,
               and each two: what a party adds for two is 0 if either is the same
    times      in how many parties events come at 2, 4, 8, 16 and 32 times at least

Parties are counted, in the first sum; who they are is not told.
"""

# Rule 1: what is counted follows from the study alone, not from anybody's rows.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Self

from titan.release.cells import CellCounts

TIMES = 2, 4, 8, 16, 32


@dataclass(frozen=True)
class RiskSetCounts(CellCounts):
    """The counts of one question about hazards; those of its risk sets come last."""

    columns: tuple[str, ...] = ()

    @classmethod
    def beside(cls, cells: CellCounts, columns: Sequence[str]) -> Self:
        own = {each.name: getattr(cells, each.name) for each in fields(CellCounts)}
        return cls(**own, columns=tuple(columns))

    @property
    def _last(self) -> int:
        return len(self._pairs) + len(TIMES)

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """The entries of a Hessian."""
        return list(combinations_with_replacement(range(len(self.columns)), 2))

    @property
    def of_parties(self) -> int:
        return super().of_parties + self._last

    def of_party(self, counts: Sequence[int]) -> list[int]:
        """As of a party that has no events; see `with_risk_sets`."""
        return [*super().of_party(counts), *[0] * self._last]

    def with_risk_sets(
        self, own: Sequence[int], differs: Sequence[bool], times: float
    ) -> tuple[int, ...]:
        """A party's counts; with these columns that differ, and events at so many times."""
        both = [differs[one] and differs[other] for one, other in self._pairs]
        reached = [round(times) >= each for each in TIMES]
        return (*own[: len(own) - self._last], *map(int, both), *map(int, reached))

    def possible(self, counts: Sequence[int], parties: int) -> bool:
        last, reached = self._of_risk_sets(counts), list(counts[-len(TIMES) :])
        fits = all(n <= parties for n in last) and reached == sorted(reached, reverse=True)
        return fits and super().possible(counts, parties)

    def spread(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        return super().spread(counts[: len(counts) - self._last])

    def parties(self, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
        yield from super().parties(counts)
        for (one, other), there in zip(self._pairs, self._of_risk_sets(counts), strict=False):
            names = dict.fromkeys([self.columns[one], self.columns[other]])
            differ = f"{' and '.join(names)} differ{'s' if one == other else ''}"
            yield f"that {differ} among the rows at risk at an event", there

    def most_times(self, counts: Sequence[int], parties: int) -> int | None:
        """At how many times so many parties have events, at most; None where that is many."""
        most = 1
        for times, there in zip(TIMES, counts[-len(TIMES) :], strict=True):
            if there < parties:
                return most
            most = 2 * times - 1
        return None

    def _of_risk_sets(self, counts: Sequence[int]) -> Sequence[int]:
        return counts[len(counts) - self._last :]

    @property
    def opens(self) -> str:
        each = ", each and two by two" if len(self.columns) > 1 else ""
        own = (
            f"in how many parties {', '.join(self.columns)} differ among the rows at risk at an "
            f"event{each}; in how many there are events at {', '.join(map(str, TIMES))} times or "
            "more"
        )
        return "; ".join(filter(None, [super().opens, own]))
