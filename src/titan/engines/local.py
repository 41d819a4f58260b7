"""All parties in this process: real agents, every envelope real, delivered one by one."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Agent, Cost, Envelope, MaskSource, PerParty, Plan, SystemMasks
from titan.protocol.broadcast import Relay
from titan.ring import Residues

Progress = Callable[[int, int], None]
"""Called with (round reached, rounds in all)."""


@dataclass(frozen=True)
class Outcome:
    """What a run of an engine yields: the sum every party ended with, and what it cost."""

    total: Residues
    counted: int
    cost: Cost
    envelopes: tuple[Envelope, ...] = field(default=(), repr=False)


def run(
    plan: Plan,
    secrets: Residues,
    *,
    source: Callable[[], MaskSource] = SystemMasks,
    shuffle: random.Random | None = None,
    record: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Run the plan on secrets of shape (limbs, m, d).

    Envelopes are delivered in the order sent, or in any order with `shuffle`: the result is the
    same. With `record` they are kept, in order of delivery.
    """
    plan.check_shape(secrets.shape, (plan.ring.limbs, len(plan.network), plan.dimension))
    agents = [Agent(plan, party, secrets[:, party], source()) for party in range(len(plan.network))]
    count = _Count(plan)
    recorded: list[Envelope] = []
    for envelope in _deliver(agents, shuffle):
        count.add(envelope)
        if record:
            recorded.append(envelope)
        if progress is not None and envelope.round > count.furthest:
            progress(envelope.round, plan.recovery_rounds)
        count.furthest = max(count.furthest, envelope.round)
    return Outcome(_agreed(agents), agents[0].counted, count.cost(agents), tuple(recorded))


def broadcast(network: Network, origin: int, message: bytes) -> Cost:
    """Flood one party's message to all; every party must end with it. Returns what it cost."""
    relays = [Relay(network, party, origin) for party in range(len(network))]
    sent, received = np.zeros((2, len(network)), np.int64)
    waiting = deque(relays[origin].start(message))
    messages = furthest = 0
    while waiting:
        envelope = waiting.popleft()
        sent[envelope.sender] += envelope.size
        received[envelope.receiver] += envelope.size
        messages, furthest = messages + 1, max(furthest, envelope.round)
        waiting.extend(relays[envelope.receiver].receive(envelope))
    if any(relay.message != message for relay in relays):
        raise RecoveryError("a broadcast did not reach everyone")
    numbers = sent // 8
    held = np.full(len(network), len(message) // 8, np.int64)
    counts = (PerParty(network, array) for array in (sent, received, numbers, held))
    return Cost(furthest, furthest, messages, *counts)


def _deliver(agents: list[Agent], shuffle: random.Random | None) -> Iterator[Envelope]:
    """Drive the agents until nothing is on its way; yield what has been delivered."""
    waiting = deque(envelope for agent in agents for envelope in agent.start())
    while waiting:
        if shuffle is not None:
            waiting.rotate(-shuffle.randrange(len(waiting)))
        envelope = waiting.popleft()
        waiting.extend(agents[envelope.receiver].receive(envelope))
        yield envelope


def _agreed(agents: list[Agent]) -> Residues:
    total = agents[0].total
    if not all(agent.done and np.array_equal(agent.total, total) for agent in agents):
        raise RecoveryError("the parties did not end with the same sum")
    return total


class _Count:
    """The cost, counted envelope by envelope."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        m = len(plan.network)
        self.messages = self.furthest = 0
        self.sent, self.received, self.numbers = [0] * m, [0] * m, [0] * m

    def add(self, envelope: Envelope) -> None:
        kind, sender, receiver, _, payload = envelope
        size = envelope.size
        self.messages += 1
        self.sent[sender] += size
        self.received[receiver] += size
        self.numbers[sender] += self.plan.numbers_in(kind, payload)

    def cost(self, agents: list[Agent]) -> Cost:
        def per_party(counts: list[int]) -> PerParty:
            return PerParty(self.plan.network, np.array(counts, np.int64))

        return Cost(
            rounds=self.furthest + 1,
            recovery_rounds=self.furthest,
            messages=self.messages,
            bytes_sent=per_party(self.sent),
            bytes_received=per_party(self.received),
            numbers_sent=per_party(self.numbers),
            numbers_held=per_party([agent.numbers_held for agent in agents]),
        )
