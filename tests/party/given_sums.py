"""Sums whose inputs are simply given, as the task of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from titan.joint import Sum, Task
from titan.party.durable_session import DurableSession
from titan.party.ready import Ready
from titan.protocol import Plan
from titan.ring import Residues

Totals = tuple[Residues, ...]


class Inputs(Protocol):
    """What a party puts into each sum, given the totals so far."""

    @property
    def plans(self) -> Sequence[Plan]: ...

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues: ...


@dataclass(frozen=True)
class GivenSums:
    """The computation: all that is known are the totals, and they are the answer."""

    plans: Sequence[Plan]

    @property
    def sums(self) -> Sequence[Sum]:
        return [Sum("given", plan.dimension, plan.ring, Fraction(1), "") for plan in self.plans]

    def prepare(self, rows: Any) -> Any:
        return rows

    def begin(self) -> Totals:
        return ()

    def secret(self, n: int, known: Totals, part: Inputs) -> Residues:
        return part.secret(n, known)

    def learn(self, n: int, known: Totals, total: Residues) -> Totals:
        return (*known, total)

    def answer(self, known: Totals) -> Totals | None:
        return known if len(known) == len(self.plans) else None


def task(inputs: Inputs) -> Task:
    return Task(GivenSums(inputs.plans), inputs.plans, inputs)


def send(durable: DurableSession, ready: Ready) -> None:
    """Written down and released, as a run does with the answer of the party that solves."""
    with durable.journal.batch():
        durable.write_down(ready)
    durable.release()
