"""One party tells everyone: its message is forwarded by each party the first time it arrives.

The paper's way of saving the others the O(n³): one solves, the solution is flooded. What is told
is public to all parties; nothing here is masked.
"""

from __future__ import annotations

from titan.errors import MessageError
from titan.network import Network
from titan.protocol.messages import Envelope, Kind, Payload


class Relay:
    """One party's part in a broadcast from `origin`."""

    def __init__(self, network: Network, party: int, origin: int) -> None:
        self._network = network
        self._party = party
        self._origin = origin
        self.message: Payload | None = None

    def start(self, message: bytes) -> list[Envelope]:
        """At the origin: say it."""
        self.message = message
        return self._forward(1, {self._origin})

    def receive(self, envelope: Envelope) -> list[Envelope]:
        """Keep the first copy and pass it on, not back; a copy that differs is refused."""
        kind, sender, receiver, round_, payload = envelope
        if receiver != self._party or kind is not Kind.RESULT or round_ < 1:
            raise MessageError(f"{envelope!r} has no place in a broadcast")
        if sender not in self._network.in_neighbours(self._party):
            raise MessageError(f"{envelope!r} came along a link that does not exist")
        if self.message is None:
            self.message = payload
            return self._forward(round_ + 1, {self._origin, sender})
        if self.message != payload:
            raise MessageError(f"{envelope!r} differs from an earlier copy")
        return []

    def _forward(self, round_: int, but: set[int]) -> list[Envelope]:
        assert self.message is not None  # noqa: S101 - set by both callers
        return [
            Envelope(Kind.RESULT, self._party, receiver, round_, self.message)
            for receiver in self._network.out_neighbours(self._party)
            if receiver not in but
        ]
