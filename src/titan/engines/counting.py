"""What a sum costs, counted envelope by envelope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titan.network import Network
from titan.protocol import Cost, Envelope, Kind, PerParty


class Count:
    """Of one run; an envelope counts when it is delivered."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.messages = self.furthest = 0
        self.sent, self.received, self.numbers = ([0] * len(network) for _ in range(3))

    def add(self, envelope: Envelope, numbers: int) -> bool:
        """Count it, with so many numbers in it; True if it is the first of its round."""
        size = envelope.size
        self.messages += 1
        self.sent[envelope.sender] += size
        self.received[envelope.receiver] += size
        self.numbers[envelope.sender] += numbers
        if envelope.round <= self.furthest or envelope.kind is Kind.MASK:
            return False
        self.furthest = envelope.round
        return True

    def cost(self, held: Sequence[int], *, before: int = 1) -> Cost:
        """With the numbers that every party held, and the rounds `before` recovery: the masks'."""
        counts = self.sent, self.received, self.numbers, held
        each = (PerParty(self.network, np.array(count, np.int64)) for count in counts)
        return Cost(self.furthest + before, self.furthest, self.messages, *each)
