"""One party tells all others, in this process."""

from __future__ import annotations

from collections import deque

from titan.engines.counting import Count
from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Cost, Envelope
from titan.protocol.broadcast import Relay


def broadcast(network: Network, origin: int, message: bytes, told: list[Envelope]) -> Cost:
    """Flood one party's message to all; every party must end with it. Returns what it cost.

    Envelopes are appended to `told`.
    """
    relays = [Relay(network, party, origin) for party in range(len(network))]
    count, waiting = Count(network), deque(relays[origin].start(message))
    while waiting:
        envelope = waiting.popleft()
        told.append(envelope)
        count.add(envelope, 0)
        waiting.extend(relays[envelope.receiver].receive(envelope))
    if any(relay.message != message for relay in relays):
        raise RecoveryError("a broadcast did not reach everyone")
    count.numbers = [size // 8 for size in count.sent]
    return count.cost([len(message) // 8] * len(network), before=0)
