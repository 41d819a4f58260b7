"""All parties in this process: real agents, every envelope real, delivered one by one."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from titan.engines.counting import Count
from titan.errors import RecoveryError
from titan.protocol import (
    IN_ONE_PROCESS,
    Agent,
    Binding,
    Cost,
    Envelope,
    MaskSource,
    Plan,
    SystemMasks,
)
from titan.protocol.recovery.interface import NoSeals, Progress, Seals
from titan.ring import Residues

__all__ = ["Outcome", "Progress", "Secrets", "inputs_of", "run"]

Secrets = Residues | Callable[[Sequence[int]], Residues]
"""What the parties put in, (limbs, m, d); or a function that makes it for those who are named."""


@dataclass(frozen=True)
class Outcome:
    """What a run of an engine yields: the sum every party ended with, and what it cost."""

    total: Residues
    counted: int
    cost: Cost
    envelopes: tuple[Envelope, ...] = field(default=(), repr=False)


def run(
    plan: Plan,
    secrets: Secrets,
    *,
    binding: Binding = IN_ONE_PROCESS,
    source: Callable[[], MaskSource] = SystemMasks,
    seals: Callable[[int], Seals] = lambda _: NoSeals(),
    record: bool = False,
    progress: Progress | None = None,
    shuffle: random.Random | None = None,
) -> Outcome:
    """Run the plan on secrets of shape (limbs, m, d).

    Envelopes are delivered in the order sent, or in any order with `shuffle`: the result is the
    same. With `record` they are kept, in order of delivery. In a checked sum, party number i signs
    with `seals(i)`.
    """
    found = inputs_of(plan, secrets)
    agents = [
        Agent(plan, party, found[:, party], source(), binding, seals(party))
        for party in range(len(plan.network))
    ]
    count = Count(plan.network)
    recorded: list[Envelope] = []
    for envelope in _deliver(agents, shuffle):
        numbers = plan.numbers_in(envelope)
        if count.add(envelope, numbers) and progress is not None:
            progress(envelope.round, plan.cost.recovery_rounds)
        if record:
            recorded.append(envelope)
    cost = count.cost([agent.numbers_held for agent in agents])
    return Outcome(agreed(agents), agents[0].counted, cost, tuple(recorded))


def inputs_of(plan: Plan, secrets: Secrets, parties: Sequence[int] | None = None) -> Residues:
    """What these parties put in, or all of them: (limbs, parties, d), or PlanError."""
    limbs, m, d = plan.ring.limbs, len(plan.network), plan.dimension
    if callable(secrets):
        chosen = range(m) if parties is None else parties
        secrets = secrets(chosen)
        plan.check_shape(secrets.shape, (limbs, len(chosen), d))
        return secrets
    plan.check_shape(secrets.shape, (limbs, m, d))
    return secrets if parties is None else secrets[:, parties]


def _deliver(agents: list[Agent], shuffle: random.Random | None) -> Iterator[Envelope]:
    """Drive the agents until nothing is on its way; yield what has been delivered."""
    waiting = deque(envelope for agent in agents for envelope in agent.start())
    while waiting:
        if shuffle is not None:
            waiting.rotate(-shuffle.randrange(len(waiting)))
        envelope = waiting.popleft()
        waiting.extend(agents[envelope.receiver].receive(envelope))
        yield envelope


def agreed(agents: Sequence[Agent]) -> Residues:
    """The total that all of them ended with."""
    total = agents[0].total
    if not all(agent.done and np.array_equal(agent.total, total) for agent in agents):
        raise RecoveryError("the parties did not end with the same sum")
    return total
