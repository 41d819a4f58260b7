"""What a run costs, counted envelope by envelope as it is delivered."""

from __future__ import annotations

import numpy as np

from titan.protocol import Agent, Cost, Envelope, PerParty, Plan


class Count:
    """The cost, counted envelope by envelope."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        m = len(plan.network)
        self.messages = self.furthest = 0
        self.sent, self.received, self.numbers = [0] * m, [0] * m, [0] * m

    def add(self, envelope: Envelope) -> bool:
        """Count it; True if it is the first of its round."""
        kind, sender, receiver, round_, payload = envelope
        size = envelope.size
        self.messages += 1
        self.sent[sender] += size
        self.received[receiver] += size
        self.numbers[sender] += self.plan.numbers_in(kind, payload)
        if round_ <= self.furthest:
            return False
        self.furthest = round_
        return True

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
