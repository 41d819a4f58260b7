"""Which run it is: the study, the run's number, and a random number of every party."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from titan.network import Network
from titan.protocol import Plan


@dataclass(frozen=True)
class Run:
    """Which run of which study this is, and as whom."""

    study: bytes  # its digest
    number: int
    network: Network
    party: int
    nonce: bytes = field(repr=False)
    solver: int | None = None

    @property
    def context(self) -> bytes:
        return self.study + self.number.to_bytes(4, "little")


def run_identity(context: bytes, nonces: Iterable[bytes]) -> bytes:
    """Which run this is: that of these nonces, in the order of the parties, and of no others."""
    return hashlib.sha256(b"titan run\n" + context + b"".join(nonces)).digest()


def most_messages(network: Network, party: int, plans: Sequence[Plan]) -> dict[str, int]:
    """Sender → the most messages that it has for this party in a whole run.

    Those of the sums as planned; of every party a nonce and a digest; an answer and an end.
    """
    planned = Counter(
        sender
        for plan in plans
        for round_ in range(plan.recovery_rounds + 1)
        for sender, _ in plan.senders(party, round_)
    )
    told = 2 * len(network) + 2
    return {network.parties[p]: planned[p] + told for p in network.in_neighbours(party)}
