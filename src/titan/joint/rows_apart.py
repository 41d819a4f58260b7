"""Rows that one question uses and another leaves out, for their gaps or because they weigh nothing.

The difference of the two answers is over these rows. Each party sees to it that they are not few of
its own (`titan.study.differencing`); but they could be one party's alone, or those of two who then
see each other's. So parties that have such rows are counted before anything else, of every two
questions of a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.reading import Reading
from titan.moments.rows import ModelRows
from titan.moments.sources import Block
from titan.release import party_counts
from titan.release.policy import Policy

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowsApart(Reading[Counts, tuple[int, ...]]):
    """Questions by name, no two of which leave out the same rows; and whose rows are counted."""

    questions: tuple[tuple[str, ModelRows], ...]
    parties: int
    tau: int
    policy: Policy

    @classmethod
    def of(cls, computations: Iterable[tuple[str, Any]]) -> RowsApart | None:
        """None where all questions use the same rows."""
        found: dict[Any, tuple[str, Any]] = {}
        for name, model in computations:
            if getattr(model, "model", None) is not None and hasattr(model, "rows"):
                gaps = frozenset(model.model.columns_needed if model.missing == "drop" else ())
                found.setdefault((gaps, model.model.weights), (name, model))
        if len(found) < 2:
            return None
        questions = tuple((name, model.rows) for name, model in found.values())
        _, first = next(iter(found.values()))
        apart = cls(questions, first.parties, first.tau, first.policy)
        return apart if apart.pairs else None

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Those of which the first may use what the second leaves out."""
        return tuple(
            pair for pair in permutations(range(len(self.questions)), 2) if self._may(*pair)
        )

    def _may(self, one: int, other: int) -> bool:
        (_, uses), (_, leaves) = self.questions[one], self.questions[other]
        weights = leaves.model.weights
        gaps = set(leaves.model.columns_needed) - set(uses.model.columns_needed)
        drops = bool(gaps) and leaves.missing == "drop"
        return drops or weights not in (None, uses.model.weights)

    # -- one party ------------------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[str]:
        every = (column for _, rows in self.questions for column in rows.model.columns_needed)
        return tuple(dict.fromkeys(every))

    def block(self, rows: Block) -> Counts:
        used = [each.used(rows) for _, each in self.questions]
        return np.array([np.count_nonzero(used[i] & ~used[j]) for i, j in self.pairs], np.int64)

    def finish(self, whole: Counts, label: str) -> tuple[int, ...]:
        return tuple(whole.tolist())

    # -- the sum --------------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        return party_counts.numbers_for(len(self.pairs), self.parties)

    def numbers(self, rows: Sequence[int]) -> list[int]:
        """What a party of so many rows apart enters."""
        return party_counts.together([int(n > 0) for n in rows], self.parties)

    def check(self, numbers: Sequence[int]) -> None:
        """Between the sums: refuse where such rows are of few parties."""
        found = party_counts.apart(numbers, len(self.pairs), self.parties)
        self.policy.check_possible(all(0 <= n <= self.parties for n in found))
        names = [name for name, _ in self.questions]
        for (i, j), parties in zip(self.pairs, found, strict=True):
            self.policy.check_rows_apart(names[i], names[j], parties, self.tau)

    @property
    def opens(self) -> str:
        return "how many parties have rows that one question uses and another leaves out"
