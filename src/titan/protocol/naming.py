"""Who falsified a checked sum, from what everybody told and signed.

Nobody is named for a thing that an honest party might have done; not even one whose power failed
while another lied to it, but for two cases that decision 0013 tells of. In `tree` all that
a relay sends on is signed, so one that alters it is named; in `topk` it is found that somebody did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from titan.errors import MessageError
from titan.protocol.claims import (
    DIGEST_BYTES,
    INPUT_BYTES,
    NONCE,
    VECTOR,
    Commitment,
    SignedStream,
    challenge_of,
    committed,
    digest_of,
)
from titan.protocol.messages import Kind
from titan.protocol.recovery.interface import SEAL_BYTES, Culprit, Means, Stream
from titan.protocol.subset_sums import subset_sums
from titan.ring import Residues

if TYPE_CHECKING:
    from titan.protocol.checked import Checked

TOLD = (Kind.COMMITTED, Kind.REVEALED, Kind.SUMMED)
"""What everybody shows as it has heard it."""


@dataclass(frozen=True)
class Opened:
    """What one party opened; None in place of a vector that is not one."""

    vector: Residues | None
    heard: dict[Kind, list[bytes]]
    """Everybody's items with their seals, as this party heard them."""
    streams: dict[tuple[int, Kind], SignedStream]
    """Sender, kind → what this party was sent."""

    @classmethod
    def of(cls, scheme: Checked, party: int, content: bytes) -> Opened:
        taken = _Taken(content)
        try:
            vector: Residues | None = scheme.ring.from_bytes(
                taken.next(scheme.ring.width * scheme.entries), scheme.entries
            )
        except MessageError:
            vector = None
        heard = {
            kind: [taken.next(scheme.phases[kind].telling.size) for _ in range(len(scheme.network))]
            for kind in TOLD
        }
        streams = {}
        for key in scheme.within.streams(party):
            digest, inputs = taken.next(DIGEST_BYTES), taken.next(scheme.most_inputs * INPUT_BYTES)
            sender, kind = key
            used = len(scheme.within.inputs(kind, sender)) * INPUT_BYTES
            streams[key] = SignedStream(digest, inputs[:used], taken.next(SEAL_BYTES))
        return cls(vector, heard, streams)

    def write(self, scheme: Checked) -> bytes:
        assert self.vector is not None  # noqa: S101 - it is the own one
        parts = [scheme.ring.to_bytes(self.vector)]
        parts += (item for kind in TOLD for item in self.heard[kind])
        for it in self.streams.values():
            room = scheme.most_inputs * INPUT_BYTES
            parts += [it.digest, it.inputs.ljust(room, b"\0"), it.seal]
        return b"".join(parts).ljust(scheme.opened_bytes - SEAL_BYTES, b"\0")

    def content(self, kind: Kind, origin: int) -> bytes:
        return self.heard[kind][origin][:-SEAL_BYTES]

    def commitment(self, party: int) -> Commitment:
        return Commitment.of(self.content(Kind.COMMITTED, party))

    def revealed(self, party: int) -> tuple[bytes, bytes]:
        """A digest and a nonce."""
        content = self.content(Kind.REVEALED, party)
        return content[:DIGEST_BYTES], content[DIGEST_BYTES:]


class _Taken:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def next(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


def culprits(scheme: Checked, means: Means, opened: list[Opened]) -> list[Culprit]:
    """In order of their numbers; empty where nobody can be named."""
    genuine = _Genuine(means)
    found = [
        *_contradictions(genuine, opened),
        *_unlike_committed(scheme, genuine, opened),
        *_streams(scheme, means, opened),
    ]
    return sorted(dict.fromkeys(found))


class _Genuine(dict[tuple[Kind, int, bytes], bool]):
    """Whether an item is signed by its origin, each looked at once."""

    def __init__(self, means: Means) -> None:
        super().__init__()
        self._seals = means.seals

    def __missing__(self, key: tuple[Kind, int, bytes]) -> bool:
        kind, origin, item = key
        found = self._seals.signed(kind, origin, item[:-SEAL_BYTES], item[-SEAL_BYTES:])
        self[key] = found
        return found


def _contradictions(genuine: _Genuine, opened: list[Opened]) -> Iterator[Culprit]:
    """Who told two different things, and who shows what was never told."""
    for kind in TOLD:
        for origin in range(len(opened)):
            said: set[bytes] = set()
            for party, each in enumerate(opened):
                item = each.heard[kind][origin]
                if not genuine[kind, origin, item]:
                    yield Culprit(party, "shows what nobody signed")
                    continue
                said.add(item[:-SEAL_BYTES])
                if len(said) > 1:
                    yield Culprit(origin, f"told different parties different things ({kind.name})")


def _unlike_committed(
    scheme: Checked, genuine: _Genuine, opened: list[Opened]
) -> Iterator[Culprit]:
    """Judged by what each shows to have told and heard itself."""
    for party, each in enumerate(opened):
        own, vector = each.commitment(party), each.vector
        if committed(NONCE, party, each.revealed(party)[1]) != own.nonce:
            yield Culprit(party, "revealed another nonce than it had committed to")
        if vector is None or (committed(VECTOR, party, scheme.ring.to_bytes(vector)) != own.vector):
            yield Culprit(party, "opened another vector than it had committed to")
            continue
        items = {other.heard[Kind.SUMMED][party] for other in opened}
        for item in (item for item in items if genuine[Kind.SUMMED, party, item]):
            told = item[:-SEAL_BYTES]
            sums = subset_sums(scheme.ring, vector, told[:DIGEST_BYTES])
            if scheme.ring.to_bytes(sums) != told[DIGEST_BYTES:]:
                yield Culprit(party, "told wrong sums of its vector")
        nonces = [each.revealed(other)[1] for other in range(len(opened))]
        drawn = challenge_of(own.context, each.revealed(party)[0], nonces)
        if each.content(Kind.SUMMED, party)[:DIGEST_BYTES] != drawn:
            yield Culprit(party, "drew another challenge than follows from what it was told")


def _streams(scheme: Checked, means: Means, opened: list[Opened]) -> Iterator[Culprit]:
    """Who does not show what it was sent, or told a digest of something else; then the relays."""
    shown: dict[tuple[int, int, Kind], Stream] = {}
    signed_by: dict[tuple[int, Kind, bytes], set[bytes]] = {}
    for party, each in enumerate(opened):
        for (sender, kind), stream in each.streams.items():
            if not means.seals.signed(kind, sender, stream.signed, stream.seal):
                yield Culprit(party, "does not show what it was sent")
                continue
            keys = scheme.within.inputs(kind, sender)
            records = list(zip(keys, stream.records, strict=True))
            if not all(means.seals.signed(k, s, *record) for (s, k), record in records):
                yield Culprit(sender, "passed on what was not signed")
                continue
            made_of = tuple(signed[:DIGEST_BYTES] for _, (signed, _) in records)
            shown[sender, party, kind] = Stream(stream.digest, made_of)
            for (s, k), (signed, _) in [((sender, kind), (stream.signed, b"")), *records]:
                signed_by.setdefault((s, k, signed[DIGEST_BYTES:]), set()).add(signed)
    for (sender, _, _), outputs in signed_by.items():
        if len(outputs) > 1:
            yield Culprit(sender, "signed two different sums of the same")
    yield from _twice(scheme, shown)
    for party, each in enumerate(opened):
        totals = _totals(shown, party)
        commitments = [each.content(Kind.COMMITTED, p) for p in range(len(opened))]
        told, context = each.revealed(party)[0], each.commitment(party).context
        if totals and told not in {digest_of(context, commitments, total) for total in totals}:
            yield Culprit(party, "told the digest of another total than it had")
    vectors = [each.vector for each in opened if each.vector is not None]
    if len(vectors) == len(opened):
        yield from scheme.within.culprits(vectors, shown)


def _twice(scheme: Checked, shown: dict[tuple[int, int, Kind], Stream]) -> Iterator[Culprit]:
    """Who sent a relay one thing that it passed on, and another that it shows."""
    for (relay, _, kind), stream in shown.items():
        for key, digest in zip(scheme.within.inputs(kind, relay), stream.inputs, strict=True):
            sender, of = key
            received = shown.get((sender, relay, of))
            if received is not None and received.digest != digest:
                yield Culprit(sender, "signed two different sums")


def _totals(shown: dict[tuple[int, int, Kind], Stream], party: int) -> set[bytes]:
    """The digest of the total that a party was sent; of the root's, of those that it sent."""
    totals = [(ends, it.digest) for (*ends, kind), it in shown.items() if kind is Kind.TOTAL]
    received = {digest for (_, receiver), digest in totals if receiver == party}
    return received or {digest for (sender, _), digest in totals if sender == party}
