"""One party tells all others, in this process."""

from __future__ import annotations

from collections import deque

import numpy as np

from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Cost, Envelope, PerParty
from titan.protocol.broadcast import Relay


def broadcast(
    network: Network, origin: int, message: bytes, told: list[Envelope] | None = None
) -> Cost:
    """Flood one party's message to all; every party must end with it. Returns what it cost.

    Envelopes are appended to `told`, if it is given.
    """
    relays = [Relay(network, party, origin) for party in range(len(network))]
    sent, received = np.zeros((2, len(network)), np.int64)
    waiting = deque(relays[origin].start(message))
    messages = furthest = 0
    while waiting:
        envelope = waiting.popleft()
        if told is not None:
            told.append(envelope)
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
