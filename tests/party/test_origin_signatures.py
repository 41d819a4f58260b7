"""A relay hashes each vector once: what it checked is what stands in the digest of its message."""

from __future__ import annotations

import hashlib

from tests.party.tables import NAMES, Codes, plans
from titan import Network
from titan.party.messages import Enclosed
from titan.party.origin_signatures import OriginSignatures
from titan.protocol import Envelope, Kind

CYCLE = Network.cycle(list(NAMES))
ORIGIN, RELAY, THIRD = 0, 1, 2


def masked(sender: int, receiver: int, round_: int, vectors: dict[int, bytes]) -> Envelope:
    numbers = b"".join(n.to_bytes(4, "little") for n in (len(vectors), *vectors))
    return Envelope(Kind.MASKED, sender, receiver, round_, numbers + b"".join(vectors.values()))


def test_what_is_passed_on_brings_the_digests_that_were_checked() -> None:
    plan = plans(CYCLE)[0]
    size = plan.entries * plan.ring.width
    own, others = bytes(size), bytes([7]) * size
    there = OriginSignatures(CYCLE, plan, ORIGIN, Codes(ORIGIN), b"a sum")
    here = OriginSignatures(CYCLE, plan, RELAY, Codes(RELAY), b"a sum")
    came = there.enclose(0, masked(ORIGIN, RELAY, 1, {ORIGIN: others}))
    first = here.enclose(0, masked(RELAY, THIRD, 1, {RELAY: own}))
    here.check(Enclosed(0, came.envelope, came.signatures), [(ORIGIN, others)])
    second = here.enclose(0, masked(RELAY, THIRD, 2, {ORIGIN: others, RELAY: own}))
    assert came.of_vectors == hashlib.sha256(others).digest()
    assert first.of_vectors == hashlib.sha256(own).digest()
    assert second.of_vectors == came.of_vectors + first.of_vectors
    assert second.signatures == bytes(came.signatures) + bytes(first.signatures)
