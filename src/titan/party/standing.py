"""How far a run is, in words: "recovery, round 7 of 12, waiting for east"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NAMED = 4  # parties that are named; of more the number is told


@dataclass(frozen=True)
class Standing:
    """A phase, and for whom it waits."""

    phase: str
    waiting: Sequence[str] = ()

    @classmethod
    def in_sum(
        cls, number: int, sums: int, round_: int, rounds: int, waiting: Sequence[str]
    ) -> Standing:
        step = "masks" if round_ == 0 else f"recovery, round {round_} of {rounds}"
        which = f"sum {number + 1} of {sums}: " if sums > 1 else ""
        return cls(which + step, waiting)

    def __str__(self) -> str:
        return f"{self.phase}, waiting for {named(self.waiting)}" if self.waiting else self.phase


def named(parties: Sequence[str]) -> str:
    """Some names, and how many more."""
    more = len(parties) - _NAMED
    shown = ", ".join(parties[: _NAMED if more > 1 else None])
    return shown + (f" and {more} more" if more > 1 else "")
