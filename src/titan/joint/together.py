"""All parties of a joint computation in this process, driven by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic

import numpy as np

from titan.engines import Secrets, engine_named
from titan.engines.local import inputs_of
from titan.errors import VetoError
from titan.inputs import one_per_party
from titan.joint.computation import Answer, Computation, Fold, Part, Words
from titan.joint.settings import SumSettings
from titan.privacy.view import PlannedSum, Record, RecordedSum, check_recordable
from titan.protocol import IN_ONE_PROCESS, Cost, Plan
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
    one_per_party(len(parts), settings.network)
    plans = [settings.plan(sum_) for sum_ in computation.sums]
    if settings.record:
        for plan in plans:
            check_recordable(plan)
    costs: list[Cost] = []
    kept: list[RecordedSum] = []
    binding = IN_ONE_PROCESS
    while not fold.over:
        sum_, plan = computation.sums[fold.number], plans[fold.number]
        secrets = _secrets(fold, parts, noise)
        if settings.record:
            secrets = inputs_of(plan, secrets)  # made once: a veto is random
        outcome = run(
            plan, secrets, binding=binding, progress=settings.progress, record=settings.record
        )
        costs.append(outcome.cost)
        if settings.record:
            planned = PlannedSum(sum_.name, plan, sum_.unit, binding)
            kept.append(RecordedSum(planned, inputs_of(plan, secrets), outcome.envelopes))
        binding = binding.after(plan.ring, outcome.total)
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


def _secrets(fold: Fold[Part, Any, Any], parts: Sequence[Part], noise: Words) -> Secrets:
    """Every party's secret, (limbs, m, entries), made where its agent is."""
    if isinstance(parts, SideBySide):
        return parts.residues
    return lambda parties: np.stack([fold.secret(parts[i], noise) for i in parties], axis=1)
