"""Flooding: every masked vector is passed on to all, in as many rounds as the diameter.

Each party hears each vector once, from a neighbour that had it in an earlier round; who passes on
what in which round follows from the network alone. A payload is the number of vectors, their
origins, then the vectors:

    count: u32    origins: u32 × count    vectors: (width · d bytes) × count
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from titan.errors import MessageError
from titan.protocol.messages import Envelope, Kind, Payload
from titan.protocol.recovery.interface import (
    Counts,
    Key,
    Means,
    Outgoing,
    Scheme,
    Traffic,
    refuse_kind,
)
from titan.protocol.recovery.telling import Telling
from titan.ring import Residues


@dataclass(frozen=True)
class Flood(Scheme):
    """The scheme."""

    name = "flood"
    kind = Kind.MASKED
    weighed_up_to = 2000  # its traffic depends on every pair of parties
    signed_by_origin = True

    @cached_property
    def telling(self) -> Telling:
        """Who passes on whose vector when."""
        return Telling(self.network, self.kind, self.ring.width * self.entries, once=True)

    @property
    def rounds(self) -> int:
        return self.telling.rounds

    @property
    def numbers_held(self) -> int:
        return len(self.network) * self.entries

    def binds(self, kind: Kind, round_: int) -> bool:
        """The own vector is signed: after a power cut it must not be another."""
        return round_ == 1

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        return self.telling.senders(party, round_)

    def begin(self, party: int, masked: Residues, means: Means) -> FloodState:
        return FloodState(self, party, masked)

    def read(
        self, kind: Kind, sender: int, round_: int, payload: Payload
    ) -> list[tuple[int, Payload]]:
        """(origin, encoded vector) for each."""
        refuse_kind(kind, self.kind)
        origins, size = self.telling.origins_in(payload), self.telling.size
        if len(set(origins)) != len(origins) or max(origins, default=0) >= len(self.network):
            raise MessageError("a MASKED payload with origins unknown or repeated")
        view, start = memoryview(payload), 4 + 4 * len(origins)
        vectors = [view[start + size * n : start + size * (n + 1)] for n in range(len(origins))]
        if self.ring.bits % 64:
            for vector in vectors:
                self.ring.from_bytes(vector, self.entries)
        return list(zip(origins, vectors, strict=True))

    def check_addressed(self, envelope: Envelope) -> None:
        if envelope.kind is self.kind:
            self.telling.check_due(envelope)

    def count(self, envelope: Envelope) -> int:
        return len(self.telling.origins_in(envelope.payload)) * self.entries

    def numbers_of(self, content: list[tuple[int, Payload]]) -> tuple[Residues, Counts]:
        vectors = [self.ring.from_bytes(vector, self.entries) for _, vector in content]
        residues = np.stack(vectors, axis=1) if vectors else self.ring.zeros(0, self.entries)
        return residues, np.array([origin for origin, _ in content], np.int64)

    def traffic(self) -> Traffic:
        return replace(self.telling.traffic, numbers=self.telling.items * self.entries)


class FloodState:
    """One party's vectors so far."""

    finished = needs_no_more = False

    def __init__(self, scheme: Flood, party: int, masked: Residues) -> None:
        self._scheme = scheme
        self._party = party
        self._known: dict[int, Payload] = {party: scheme.ring.to_bytes(masked)}

    @property
    def numbers_held(self) -> int:
        return len(self._known) * self._scheme.entries

    def send(self, round_: int) -> list[Outgoing]:
        return self._scheme.telling.write(self._party, round_, self._known)

    def awaits(self, round_: int) -> frozenset[Key]:
        return self._scheme.senders(self._party, round_)

    def absorb(
        self, round_: int, sender: int, kind: Kind, content: list[tuple[int, Payload]]
    ) -> None:
        self._known.update(content)

    def total(self) -> Residues:
        scheme = self._scheme
        vectors = (scheme.ring.from_bytes(v, scheme.entries) for v in self._known.values())
        return scheme.ring.sum(vectors, scheme.entries)
