"""A recovery whose result is checked before anybody relies on it.

Relays add and compare on behalf of others, in `tree` and in `topk`; here they are found out.

    COMMITTED   with the recovery: everybody tells all digests of its vector v_i, of a nonce, and of
                what led to this sum
    recovery    as it is, of the vectors v_i
    REVEALED    once a party has the total and all commitments: their digest, and its nonce
    SUMMED      once all have revealed: 64 sums over random subsets of v_i, drawn by a challenge
                that hashes all of the above; they must add up to those of the total
    OPENED      only where something did not fit somewhere: v_i, all that was heard, and what others
                signed on its way

v_i is the masked vector x̃_i plus a stream made of the nonce, so that the total is noise until all
nonces are revealed. Nobody can make what it alters depend on the total, nor on the challenge: when
they become known everybody's copy of the total is fixed. What a relay alters, and then signs as
part of its own vector, is as if it had entered false rows; anything else is found with probability
1 - 2^-64.

All that is told is made of v_i, the nonces and the total: what the paper's recovery shows anyway.
"""

# Rule 1: a nonce is revealed after this party's copy of the total and of all commitments is fixed.
# Rule 2: there is a total after all digests were equal and all sums added up; else, an error.
# Rule 3: where one party finds something wrong everybody opens its vector, and whoever contradicts
#         itself is named.

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titan.errors import InputError, MessageError
from titan.protocol.claims import (
    COMMITTED_BYTES,
    DIGEST_BYTES,
    INPUT_BYTES,
    REVEALED_BYTES,
)
from titan.protocol.masking import SEED_BYTES, KeyStream
from titan.protocol.messages import Envelope, Kind, Payload
from titan.protocol.recovery.interface import (
    NO_ORIGINS,
    SEAL_BYTES,
    Counts,
    Key,
    Means,
    Progress,
    Recovery,
    Scheme,
    Shown,
    Traffic,
)
from titan.protocol.recovery.telling import Items, Telling
from titan.protocol.subset_sums import sums_of
from titan.ring import Residues

MOST_OPENED = 1 << 28  # bytes of all vectors together; of more, none is opened
_BLIND = b"titan check: stream\n"


class Relayed(NamedTuple):
    """What the recovery within reads from a payload, its bytes, and what is signed behind the
    last."""

    content: Any
    body: Payload
    tail: bytes


class Told(NamedTuple):
    kind: Kind
    items: Items


class Phase(NamedTuple):
    """Something told to all, in the rounds after `before`."""

    before: int
    telling: Telling

    @property
    def last(self) -> int:
        return self.before + self.telling.rounds


@dataclass(frozen=True)
class Checked(Scheme):
    """The scheme `within`, checked."""

    within: Scheme
    checked = True

    @classmethod
    def around(cls, within: Scheme) -> Checked:
        return cls(within.network, within.ring, within.entries, within)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.within.name

    @property
    def sums(self) -> int:
        """Over how many subsets."""
        return sums_of(self.entries)

    # -- phases -------------------------------------------------------------------------------

    @cached_property
    def phases(self) -> dict[Kind, Phase]:
        hops = self.network.diameter
        recovered = max(self.within.rounds, hops)
        sizes = [*self._told_bytes, *[self.opened_bytes] * self.opens]
        starts = (0, recovered, recovered + hops, recovered + 2 * hops)
        kinds = (Kind.COMMITTED, Kind.REVEALED, Kind.SUMMED, Kind.OPENED)
        told = zip(kinds, starts, sizes, strict=False)
        return {kind: Phase(at, Telling(self.network, kind, size)) for kind, at, size in told}

    @property
    def _told_bytes(self) -> tuple[int, int, int]:
        sums = DIGEST_BYTES + self.sums * self.ring.width + SEAL_BYTES
        return COMMITTED_BYTES, REVEALED_BYTES, sums

    @cached_property
    def opened_bytes(self) -> int:
        """v_i, all that was told as heard, the signed streams as received, and a seal."""
        most = max(len(self.within.streams(party)) for party in range(len(self.network)))
        streams = most * (DIGEST_BYTES + self.most_inputs * INPUT_BYTES + SEAL_BYTES)
        heard = len(self.network) * sum(self._told_bytes)
        return self.ring.width * self.entries + heard + streams + SEAL_BYTES

    @cached_property
    def most_inputs(self) -> int:
        ways = ((kind, p) for kind in self.within.sealed for p in range(len(self.network)))
        return max((len(self.within.inputs(*way)) for way in ways), default=0)

    def tail_bytes(self, kind: Kind, sender: int) -> int:
        """What stands behind every piece: zeros, and behind the last what was signed."""
        if kind not in self.within.sealed:
            return 0
        return len(self.within.inputs(kind, sender)) * INPUT_BYTES + SEAL_BYTES

    @property
    def opens(self) -> bool:
        """Whether vectors are opened where something is wrong, or are too large for that."""
        return len(self.network) * self.opened_bytes <= MOST_OPENED

    @property
    def rounds(self) -> int:
        return self.phases[Kind.SUMMED].last

    @property
    def most_rounds(self) -> int:
        return max(phase.last for phase in self.phases.values())

    def step(self, round_: int) -> str:
        if round_ <= self.phases[Kind.REVEALED].before:
            return self.within.step(min(round_, self.within.rounds))
        if round_ > self.rounds:
            return "the sum was falsified; all show what they sent, to find by whom"
        first = self.phases[Kind.REVEALED].before
        return f"check, round {round_ - first} of {self.rounds - first}"

    def binds(self, kind: Kind, round_: int) -> bool:
        """What a party tells of itself: after a power cut it must not be something else."""
        return kind in self.phases and round_ == self.phases[kind].before + 1

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        own = self.within.senders(party, round_) if round_ <= self.within.rounds else frozenset()
        return own.union(*(self.told(party, kind, round_) for kind in self.phases))

    def told(self, party: int, kind: Kind, round_: int) -> frozenset[Key]:
        """Who tells this party something of this kind in this round."""
        before, telling = self.phases[kind]
        return telling.senders(party, round_ - before)

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Relayed | Told:
        if kind in self.phases:
            return Told(kind, self.phases[kind].telling.read(payload))
        end = max(len(payload) - self.tail_bytes(kind, sender), 0)
        body, tail = payload[:end], bytes(payload[end:])
        if tail and not self.within.ends(kind, sender, round_) and any(tail):
            raise MessageError(f"a {kind.name} payload signed before its end")
        return Relayed(self.within.read(kind, sender, round_, body), body, tail)

    def check_addressed(self, envelope: Envelope) -> None:
        """What is told to all comes from whom it should."""
        if envelope.kind in self.phases:
            before, telling = self.phases[envelope.kind]
            telling.check_due(envelope, before)

    # -- values -------------------------------------------------------------------------------

    def begin(self, party: int, masked: Residues, means: Means) -> Recovery:
        from titan.protocol.checking import CheckedState

        return CheckedState(self, party, masked, means)

    def stream(self, nonce: bytes) -> Residues:
        """What is added to a masked vector until its party's nonce is revealed."""
        key = hashlib.sha256(_BLIND + nonce).digest()
        return self.ring.uniform(self.entries, KeyStream(key).words)

    def streams_of(self, nonces: Iterable[bytes]) -> Residues:
        return self.ring.sum(map(self.stream, nonces), self.entries)

    def total_of(self, masked: Residues, progress: Progress | None = None) -> Residues:
        return self.within.total_of(masked, progress)

    # -- cost ---------------------------------------------------------------------------------

    @property
    def numbers_held(self) -> int:
        return self.within.numbers_held

    def count(self, envelope: Envelope) -> int:
        kind, sender, _, _, payload = envelope
        if kind in self.phases:
            told = len(self.phases[kind].telling.origins_in(payload))
            return self.sums * told if kind is Kind.SUMMED else 0
        body = payload[: len(payload) - self.tail_bytes(kind, sender)]
        return self.within.count(envelope._replace(payload=body))

    @cached_property
    def _traffic(self) -> Traffic:
        within, expected = self.within.traffic(), (Kind.COMMITTED, Kind.REVEALED, Kind.SUMMED)
        told = [self.phases[kind].telling for kind in expected]
        numbers = self.sums * told[-1].items
        return Traffic(
            self.rounds,
            within.envelopes + sum(each.traffic.envelopes for each in told),
            within.payload_bytes + self._tails + sum(each.traffic.payload_bytes for each in told),
            within.numbers + numbers,
        )

    @property
    def _tails(self) -> Counts:
        """Bytes of all tails along every edge."""
        senders, receivers = self.network.senders.tolist(), self.network.receivers.tolist()
        edges = {ends: at for at, ends in enumerate(zip(senders, receivers, strict=True))}
        found = np.zeros(len(edges), np.int64)
        for party in range(len(self.network)):
            for sender, kind in self.within.streams(party):
                tails = len(self.within.pieces) * self.tail_bytes(kind, sender)
                found[edges[sender, party]] += tails
        return found

    def traffic(self) -> Traffic:
        return self._traffic

    @property
    def filling_bytes(self) -> int:
        return self.within.filling_bytes

    def longest_way(self, latency: Counts) -> int:
        """What is told with the recovery adds nothing, unless that is quicker."""
        telling = self.network.diameter * int(latency.max())
        return max(self.within.longest_way(latency), telling) + 2 * telling

    @property
    def largest_payload(self) -> int:
        return max(
            super().largest_payload, *(phase.telling.largest for phase in self.phases.values())
        )

    # -- what is seen -------------------------------------------------------------------------

    def numbers_of(self, content: Relayed | Told) -> tuple[Residues, Counts]:
        if isinstance(content, Relayed):
            return self.within.numbers_of(content.content)
        if content.kind is not Kind.SUMMED:
            return self.ring.zeros(0), NO_ORIGINS
        sums = [
            self.ring.from_bytes(item[DIGEST_BYTES:-SEAL_BYTES], self.sums)
            for item in content.items.values()
        ]
        return np.stack(sums, axis=1), np.array([*content.items], np.int64)

    def told_in(self, content: Relayed | Told) -> Items:
        return content.items if isinstance(content, Told) else {}

    def entries_of(self, kind: Kind, sender: int, round_: int) -> range:
        if kind in self.phases:
            return range(self.sums if kind is Kind.SUMMED else 0)
        return self.within.entries_of(kind, sender, round_)

    def sum_over(self, group: Collection[int], shown: Iterable[Shown]) -> Residues:
        """That of the v_i less the streams, whose nonces were revealed to all."""
        seen = list(shown)
        told = {
            origin: item[DIGEST_BYTES : DIGEST_BYTES + SEED_BYTES]
            for one in seen
            if one.kind is Kind.REVEALED
            for origin, item in one.told.items()
        }
        if not told.keys() >= set(group):
            raise InputError(
                "the view does not show all nonces", hint="it is not the view of a whole run"
            )
        total = self.within.sum_over(group, (one for one in seen if one.kind not in self.phases))
        return self.ring.subtract_into(total, self.streams_of(told[party] for party in group))
