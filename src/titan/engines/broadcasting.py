"""One party tells all others, in this process.

The paper's way of saving the others the O(n³): one solves, and each party forwards the solution the
first time it arrives, not back. What is told is public to all parties; nothing here is masked.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Cost, Envelope, Kind, PerParty


def broadcast(
    network: Network, origin: int, message: bytes, told: list[Envelope] | None = None
) -> Cost:
    """Flood one party's message to all; every party must end with it. Returns what it cost.

    Envelopes are appended to `told`, if it is given.
    """

    def forward(party: int, sender: int, round_: int) -> list[Envelope]:
        others = (to for to in network.out_neighbours(party) if to not in (origin, sender))
        return [Envelope(Kind.RESULT, party, to, round_, message) for to in others]

    sent, received = np.zeros((2, len(network)), np.int64)
    reached, waiting = {origin}, deque(forward(origin, origin, 1))
    messages = furthest = 0
    while waiting:
        envelope = waiting.popleft()
        _, sender, party, round_, _ = envelope
        if told is not None:
            told.append(envelope)
        sent[sender] += envelope.size
        received[party] += envelope.size
        messages, furthest = messages + 1, max(furthest, round_)
        if party not in reached:
            reached.add(party)
            waiting.extend(forward(party, sender, round_ + 1))
    if len(reached) < len(network):
        raise RecoveryError("a broadcast did not reach everyone")
    numbers = sent // 8
    held = np.full(len(network), len(message) // 8, np.int64)
    counts = (PerParty(network, array) for array in (sent, received, numbers, held))
    return Cost(furthest, furthest, messages, *counts)
