"""One party tells all others, in this process.

The paper's way of saving the others the O(n³): one solves, and each party forwards the solution the
first time it arrives, not back. What is told is public to all parties; nothing here is masked.
"""

from __future__ import annotations

from collections import deque

from titan.engines.counting import Count
from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Cost, Envelope, Kind


def broadcast(network: Network, origin: int, message: bytes, told: list[Envelope]) -> Cost:
    """Flood one party's message to all; every party must end with it. Returns what it cost.

    Envelopes are appended to `told`.
    """

    def forward(party: int, sender: int, round_: int) -> list[Envelope]:
        others = (to for to in network.out_neighbours(party) if to not in (origin, sender))
        return [Envelope(Kind.RESULT, party, to, round_, message) for to in others]

    count, reached = Count(network), {origin}
    waiting = deque(forward(origin, origin, 1))
    while waiting:
        envelope = waiting.popleft()
        _, sender, party, round_, _ = envelope
        told.append(envelope)
        count.add(envelope, 0)
        if party not in reached:
            reached.add(party)
            waiting.extend(forward(party, sender, round_ + 1))
    if len(reached) < len(network):
        raise RecoveryError("a broadcast did not reach everyone")
    count.numbers = [size // 8 for size in count.sent]
    return count.cost([len(message) // 8] * len(network), before=0)
