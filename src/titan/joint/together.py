"""All parties of a joint computation in this process, driven by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic

import numpy as np

from titan.engines import engine_named
from titan.errors import VetoError
from titan.joint.computation import Answer, Computation, Fold, Part, Words
from titan.joint.settings import SumSettings
from titan.privacy.view import PlannedSum, Record, RecordedSum, check_recordable
from titan.protocol import Cost, Plan
from titan.protocol.masking import SystemMasks
from titan.ring import Residues


@dataclass(frozen=True)
class Computed(Generic[Answer]):
    """What all parties ended with, what it cost, and what was recorded if it was to be."""

    answer: Answer
    cost: Cost
    plans: tuple[Plan, ...] = field(repr=False)
    """Of the sums that were made."""
    record: Record | None = field(default=None, repr=False)


def together(
    computation: Computation[Part, Any, Answer], parts: Sequence[Part], settings: SumSettings
) -> Computed[Answer]:
    """Compute among all parties, whose parts come in the order of the network's.

    Whatever a party refuses of its own, it refuses before the first sum.
    """
    fold, run, noise = Fold(computation), engine_named(settings.engine), SystemMasks().words
    plans = [settings.plan(sum_) for sum_ in computation.sums]
    if settings.record:
        for plan in plans:
            check_recordable(plan)
    costs: list[Cost] = []
    kept: list[RecordedSum] = []
    while not fold.over:
        sum_, plan = computation.sums[fold.number], plans[fold.number]
        secrets = _secrets(fold, parts, noise)
        outcome = run(plan, secrets, progress=settings.progress, record=settings.record)
        costs.append(outcome.cost)
        if settings.record:
            planned = PlannedSum(sum_.name, plan, sum_.unit)
            kept.append(RecordedSum(planned, secrets, outcome.envelopes))
        try:
            fold.learn(outcome.total)
        except VetoError as veto:
            raise veto from fold.refusal
    record = Record(settings.network, tuple(kept)) if settings.record else None
    return Computed(fold.answer(), reduce(add, costs), tuple(plans[: fold.number]), record)


def alone(computation: Computation[Part, Any, Answer], part: Part) -> Answer:
    """One party by itself: its totals are its own secrets."""
    fold = Fold(computation)
    while not fold.over:
        fold.learn(fold.secret(part))
    return fold.answer()


@dataclass(frozen=True)
class SideBySide(Sequence[Residues]):
    """The parts of a million parties as one array (limbs, m, d): each is its own only secret."""

    residues: Residues = field(repr=False)

    def __len__(self) -> int:
        return int(self.residues.shape[1])

    def __getitem__(self, party: Any) -> Any:
        return self.residues[:, party]


def _secrets(fold: Fold[Part, Any, Any], parts: Sequence[Part], noise: Words) -> Residues:
    """Every party's secret, (limbs, m, entries)."""
    if isinstance(parts, SideBySide):
        return parts.residues
    return np.stack([fold.secret(part, noise) for part in parts], axis=1)
