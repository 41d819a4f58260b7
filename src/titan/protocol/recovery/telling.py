"""Every party tells all others a few bytes, in `diameter` rounds.

In round r party p tells q what comes from parties at distance r-1 of p and r of q: what q has not
heard before, as soon as it can be there, from everyone who is nearer. Where it is enough to hear
each item once, one neighbour brings it, perhaps later. So it is known beforehand who says what to
whom, and how long that takes. A payload is the number of items, their origins, then the items:

    count: u32    origins: u32 × count    items: (size bytes) × count
"""

# Rule: whether an origin said it is for the reader to check (`Seals`): relays are not trusted.

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from titan.errors import MessageError
from titan.network import Network
from titan.protocol.messages import Envelope, Kind, Payload
from titan.protocol.recovery.interface import Counts, Key, Outgoing, Traffic

Items = Mapping[int, bytes]
"""Origin → what it tells."""


@dataclass(frozen=True)
class Telling:
    """Of items of `size` bytes, in envelopes of one kind."""

    network: Network
    kind: Kind
    size: int
    once: bool = False
    """Whether it is enough to hear each item from one neighbour."""

    @property
    def rounds(self) -> int:
        return self.network.diameter

    def origins(self, sender: int, receiver: int, round_: int) -> tuple[int, ...]:
        """Whose items `sender` tells `receiver` in this round, in order."""
        return self.network.new_from(sender, receiver, once=self.once).get(round_, ())

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        """Who has something to tell this party in this round."""
        return self._senders.get((party, round_), frozenset())

    @cached_property
    def _senders(self) -> dict[tuple[int, int], frozenset[Key]]:
        """Asked for with every message that arrives."""
        found: dict[tuple[int, int], set[Key]] = {}
        for (sender, receiver), rounds in zip(self._edges, self._said, strict=True):
            for round_ in rounds:
                found.setdefault((receiver, round_), set()).add((sender, self.kind))
        return {key: frozenset(keys) for key, keys in found.items()}

    def write(self, party: int, round_: int, known: Mapping[int, Payload]) -> list[Outgoing]:
        """What this party, knowing these items, says in this round."""
        out: list[Outgoing] = []
        for receiver in self.network.out_neighbours(party):
            if origins := self.origins(party, receiver, round_):
                head = struct.pack(f"<{1 + len(origins)}I", len(origins), *origins)
                payload = b"".join((head, *(known[origin] for origin in origins)))
                out.append((receiver, self.kind, payload))
        return out

    def read(self, payload: Payload) -> Items:
        """The items of a payload, whoever said it and when."""
        size, origins = self.size, self.origins_in(payload)
        count = len(origins)
        if list(origins) != sorted(set(origins)) or max(origins, default=0) >= len(self.network):
            raise MessageError(f"a {self.kind.name} payload with unknown or repeated origins")
        starts = range(4 + 4 * count, len(payload), size)
        return {o: bytes(payload[at : at + size]) for o, at in zip(origins, starts, strict=True)}

    def origins_in(self, payload: Payload) -> tuple[int, ...]:
        """Whose items it has; MessageError if it does not have them."""
        if len(payload) < 4:
            raise MessageError(f"a {self.kind.name} payload without its count")
        count = int.from_bytes(payload[:4], "little")
        if len(payload) != 4 + count * (4 + self.size):
            raise MessageError(f"a {self.kind.name} payload of {len(payload)} bytes")
        return struct.unpack_from(f"<{count}I", payload, 4)

    def check_due(self, envelope: Envelope, before: int = 0) -> None:
        """MessageError unless it has what is due; `before` rounds came before the first."""
        _, sender, receiver, round_, payload = envelope
        if self.origins_in(payload) != self.origins(sender, receiver, round_ - before):
            raise MessageError(f"{envelope!r} does not have what is due")

    @cached_property
    def _said(self) -> list[Mapping[int, tuple[int, ...]]]:
        return [self.network.new_from(*each, once=self.once) for each in self._edges]

    @property
    def _edges(self) -> list[tuple[int, int]]:
        senders, receivers = self.network.senders.tolist(), self.network.receivers.tolist()
        return list(zip(senders, receivers, strict=True))

    @cached_property
    def items(self) -> Counts:
        """How many items every edge carries, in the network's order of edges."""
        return np.array([sum(map(len, rounds.values())) for rounds in self._said], np.int64)

    @cached_property
    def traffic(self) -> Traffic:
        """Without numbers: what is told is not a vector."""
        envelopes = np.array([len(rounds) for rounds in self._said], np.int64)
        payload = 4 * envelopes + (4 + self.size) * self.items
        return Traffic(self.rounds, envelopes, payload, np.zeros_like(envelopes))

    @property
    def largest(self) -> int:
        """Bytes of a payload at most."""
        return 4 + len(self.network) * (4 + self.size)
