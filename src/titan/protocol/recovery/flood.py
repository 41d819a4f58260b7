"""Flooding: every party forwards each masked vector, once, in the round after it first saw it.

Vector o reaches party p in round dist(o, p), so after T ≥ diameter rounds everyone has all m. A
payload is the number of vectors, their origins, then the vectors:

    count: u32    origins: u32 × count    vectors: (width · d bytes) × count

A party that has everything forwards what it learned last and is done, without waiting for the
rest; so a generous T costs no rounds. T bounds the number of hops: with T the diameter, vectors
stop where nobody needs them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from titan.errors import MessageError, RecoveryError
from titan.listing import listing
from titan.protocol.messages import Kind, Payload
from titan.protocol.recovery.interface import (
    Choices,
    Counts,
    Key,
    Outgoing,
    Scheme,
    Traffic,
    refuse_kind,
)
from titan.ring import Residues


@dataclass(frozen=True)
class Flood(Scheme):
    """The scheme: T = `hops` at most."""

    hops: int
    name = "flood"
    kind = Kind.MASKED
    weighed_up_to = 2000  # its traffic depends on every pair of parties
    signed_by_origin = True

    @classmethod
    def of(cls, choices: Choices) -> Flood:
        return cls(choices.network, choices.ring, choices.entries, choices.hops)

    @property
    def rounds(self) -> int:
        return self.hops

    @property
    def numbers_held(self) -> int:
        return len(self.network) * self.entries

    @cached_property
    def vector_bytes(self) -> int:
        return self.ring.width * self.entries

    def begin(self, party: int, masked: Residues) -> FloodState:
        return FloodState(self, party, masked)

    def read(
        self, kind: Kind, sender: int, round_: int, payload: Payload
    ) -> list[tuple[int, Payload]]:
        """(origin, encoded vector) for each."""
        refuse_kind(kind, self.kind)
        size, count = self.vector_bytes, _count(payload)
        if len(payload) != 4 + count * (4 + size):
            raise MessageError(f"a MASKED payload of {len(payload)} bytes, said to hold {count}")
        origins = struct.unpack_from(f"<{count}I", payload, 4)
        if len(set(origins)) != count or max(origins, default=0) >= len(self.network):
            raise MessageError("a MASKED payload with origins unknown or repeated")
        view, start = memoryview(payload), 4 + 4 * count
        vectors = [view[at : at + size] for at in range(start, len(payload), size)]
        if self.ring.bits % 64:
            for vector in vectors:
                self.ring.from_bytes(vector, self.entries)
        return list(zip(origins, vectors, strict=True))

    def numbers_in(self, payload: Payload) -> int:
        return _count(payload) * self.entries

    def numbers_of(self, content: list[tuple[int, Payload]]) -> tuple[Residues, Counts]:
        vectors = [self.ring.from_bytes(vector, self.entries) for _, vector in content]
        residues = np.stack(vectors, axis=1) if vectors else self.ring.zeros(0, self.entries)
        return residues, np.array([origin for origin, _ in content], np.int64)

    def traffic(self) -> Traffic:
        """Edge p→q carries, in round r, the vectors whose distance to p is r-1, except q's own.

        p falls silent once it has all and has forwarded what came last.
        """
        T, at = self.hops, 0
        vectors, envelopes = np.empty((2, len(self.network.senders)), np.int64)
        for p in range(len(self.network)):
            receivers = list(self.network.out_neighbours(p))
            here, at = slice(at, at + len(receivers)), at + len(receivers)
            distance = self.network.distances_to(p)
            last = int(distance.max())
            vectors[here] = np.count_nonzero(distance < T) - (distance[receivers] < T)
            at_last = np.count_nonzero(distance == last) - (distance[receivers] == last)
            envelopes[here] = min(T, last) + ((at_last > 0) & (last < T))
        payload = 4 * envelopes + (4 + self.vector_bytes) * vectors
        return Traffic(int(envelopes.max()), envelopes, payload, vectors * self.entries)


class FloodState:
    """One party's vectors so far."""

    def __init__(self, scheme: Flood, party: int, masked: Residues) -> None:
        self._scheme = scheme
        self._receivers = scheme.network.out_neighbours(party)
        self._awaited = scheme.senders(party, 1)
        self._known: dict[int, Payload] = {party: scheme.ring.to_bytes(masked)}
        self._fresh = [party]
        self.finished = self.needs_no_more = False

    @property
    def numbers_held(self) -> int:
        return len(self._known) * self._scheme.entries

    def send(self, round_: int) -> list[Outgoing]:
        fresh, self._fresh = self._fresh, []
        self.finished = self.needs_no_more
        out: list[Outgoing] = []
        for receiver in self._receivers:
            origins = [origin for origin in fresh if origin != receiver]
            if origins or not self.needs_no_more:
                head = struct.pack(f"<{1 + len(origins)}I", len(origins), *origins)
                vectors = (self._known[origin] for origin in origins)
                out.append((receiver, Kind.MASKED, b"".join((head, *vectors))))
        return out

    def awaits(self, round_: int) -> frozenset[Key]:
        return frozenset() if self.needs_no_more else self._awaited

    def absorb(
        self, round_: int, sender: int, kind: Kind, content: list[tuple[int, Payload]]
    ) -> None:
        for origin, vector in content:
            known = self._known.setdefault(origin, vector)
            if known is vector:
                self._fresh.append(origin)
            elif known != vector:
                parties = self._scheme.network.parties
                raise RecoveryError(
                    f"two different vectors are said to come from {parties[origin]!r}; "
                    f"one was relayed by {parties[sender]!r}"
                )
        self.needs_no_more = len(self._known) == len(self._scheme.network)

    def total(self) -> Residues:
        scheme = self._scheme
        if not self.needs_no_more:
            parties = enumerate(scheme.network.parties)
            absent = [name for party, name in parties if party not in self._known]
            raise RecoveryError(
                f"after {scheme.rounds} rounds nothing had arrived from {listing(absent)}",
                hint="somebody did not pass it on; start a new run",
            )
        vectors = (scheme.ring.from_bytes(v, scheme.entries) for v in self._known.values())
        return scheme.ring.sum(vectors, scheme.entries)


def _count(payload: Payload) -> int:
    if len(payload) < 4:
        raise MessageError("a MASKED payload without its count")
    return int.from_bytes(payload[:4], "little")
