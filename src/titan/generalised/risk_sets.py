"""When the events of one stratum come, and what each adds to Cox's partial likelihood.

An event at time t adds η of its row less log Σ w over all rows at risk, those that leave at t or
later, with w = exp(η). Where m events share a time there are m such terms, and those who have the
event then stand in term l = 0, …, m − 1 with a share g:

    Breslow   g = 1
    Efron     g = 1 − l/m: on average, as if they had left one after the other

So every term is log Σ c w with c > 0, which is all that the proof needs. Rows are told apart by
`until`, the number of event times not after their exit: a row is at risk at the first `until` of
them, and one with the event has it at the last of these.
"""

# Rule 1: times are whole numbers of a public grid; who is at risk when stays with the rows' owner.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from titan.errors import InputError

Ties = Literal["efron", "breslow"]
TIES: tuple[Ties, ...] = get_args(Ties)
Whole = npt.NDArray[Any]


def ties_named(name: object) -> Ties:
    for known in TIES:
        if isinstance(name, str) and name == known:
            return known
    raise InputError(f"ties={name!r}", hint=f"one of {', '.join(TIES)}", choice="ties")


@dataclass(frozen=True, eq=False)
class Timeline:
    """The times of the events that count, in order, and how many there are at each."""

    times: Whole = field(repr=False)
    events: npt.NDArray[np.int64] = field(repr=False)
    ties: Ties = "efron"

    @classmethod
    def of(cls, happened: Mapping[int, int], horizon: int | None, ties: Ties) -> Timeline:
        """From the events at every time; those after the horizon do not count."""
        counted = sorted(t for t, n in happened.items() if n and (horizon is None or t <= horizon))
        events = np.array([happened[t] for t in counted], np.int64)
        small = all(abs(t) < 1 << 62 for t in counted)
        return cls(np.array(counted, np.int64 if small else object), events, ties)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def total(self) -> int:
        return int(self.events.sum())

    @property
    def spread(self) -> float:
        """At how many times events come, if as unevenly: 2 to their entropy."""
        shares = self.events / max(self.total, 1)
        return float(2 ** -(shares * np.log2(shares)).sum()) if len(self) else 0.0

    def until(self, exits: Whole) -> npt.NDArray[np.int64]:
        """Of every row the number of event times not after its exit."""
        if exits.dtype == object or self.times.dtype == object:
            known = self.times.tolist()
            return np.array([bisect_right(known, t) for t in exits.tolist()], np.int64)
        return np.asarray(np.searchsorted(self.times, exits, side="right"), np.int64)

    def counts(self, exits: Whole, happened: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which events count: those at one of the times."""
        if not len(self):
            return np.zeros(len(exits), bool)
        return np.asarray(happened & (exits <= self.times[-1]), bool)

    # -- the terms ------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Of every term its event time and l; with Breslow's method m equal ones are one."""
        if self.ties == "breslow":
            return np.arange(len(self)), np.zeros(len(self), np.int64)
        place = np.repeat(np.arange(len(self)), self.events)
        first = np.repeat(np.cumsum(self.events) - self.events, self.events)
        return place, np.arange(len(place)) - first

    @property
    def place(self) -> npt.NDArray[np.int64]:
        """Of every term, which of the times it is at."""
        return self._terms[0]

    @cached_property
    def shares(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """g of every term, as a fraction."""
        place, at = self._terms
        events = self.events[place]
        return (events - at, events) if self.ties == "efron" else (events, events)

    @property
    def times_over(self) -> npt.NDArray[np.int64]:
        """How often every term counts."""
        return self.events if self.ties == "breslow" else np.ones(len(self.place), np.int64)
