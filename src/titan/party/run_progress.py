"""How far a run is, in words: "recovery, round 7 of 12, waiting for east"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from titan.listing import listing

CONNECTING = "connecting"
_NAMED = 4  # parties that are named; of more the number is told


@dataclass(frozen=True)
class RunProgress:
    """A phase, and for whom it waits."""

    phase: str
    waiting: Sequence[str] = ()

    @classmethod
    def in_sum(
        cls, number: int, sums: int, round_: int, rounds: int, waiting: Sequence[str]
    ) -> RunProgress:
        step = "masks" if round_ == 0 else f"recovery, round {round_} of {rounds}"
        which = f"sum {number + 1} of {sums}: " if sums > 1 else ""
        return cls(which + step, waiting)

    def __str__(self) -> str:
        return (
            f"{self.phase}, waiting for {listing(self.waiting, _NAMED)}"
            if self.waiting
            else self.phase
        )
