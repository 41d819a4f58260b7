"""All that a party decodes of what others send: each decoder with its encoder and good bytes.

`tests/party/test_bad_bytes.py` tries 100,000 mutants on them, and the fault campaign a million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import titan
from tests.party.mutants import (
    envelopes,
    good_chunks,
    good_messages,
    messages_of,
    mutants,
    told_to_all,
)
from tests.party.tables import Table
from titan.canonical import canonical, parsed
from titan.errors import MessageError, PeerError
from titan.party import messages, origin_signatures, wire
from titan.party.links import Incoming, Outgoing
from titan.party.messages import Enclosed
from titan.party.told_answer import check_told
from titan.protocol import Envelope, Kind, Plan, RecoveryName
from titan.results import Results, encode
from titan.ring import Residues, Ring
from titan.study.frames import Frame

BITS = 61
"""Of payloads: bytes have bits to spare, which must be zero."""
MOST = 1000
"""Bytes of a message in `Link`."""


@dataclass(frozen=True)
class Decoder:
    """`again` decodes and encodes; `share` is the part of all mutants that it gets."""

    name: str
    again: Callable[[bytes], bytes]
    good: list[bytes]
    share: int  # of 100

    def tried(self, data: bytes) -> str:
        return tried(self.again, data)

    def mutants(self, seed: int, of: int) -> Iterator[bytes]:
        return mutants(seed, self.good, of * self.share // 100)


def tried(again: Callable[[bytes], bytes], data: bytes) -> str:
    """An error other than these two is a crash, and is not caught."""
    try:
        return "same" if again(data) == data else "changed"
    except (MessageError, PeerError):
        return "refused"


def counted(decoder: Decoder, seed: int, of: int) -> Counter[str]:
    return Counter(map(decoder.tried, decoder.mutants(seed, of)))


def decoders(whole: list[bytes], folder: Path) -> list[Decoder]:
    """`whole` are messages of every kind, as `good_messages` makes them."""
    shares: dict[RecoveryName, int] = {"flood": 8, "tree": 7, "topk": 7}
    payloads = [payload_decoder(recovery, folder, n) for recovery, n in shares.items()]
    return [
        Decoder("chunk", Link().again, good_chunks(), 35),
        Decoder("message", message_again, whole, 20),
        Decoder("told to all", told_again, told_to_all(whole), 10),
        Decoder("envelope", envelope_again, envelopes(whole), 10),
        *payloads,
        answer_decoder(3),
    ]


def every_decoder(folder: Path) -> list[Decoder]:
    return decoders(good_messages(folder), folder)


# -- chunks -----------------------------------------------------------------------------------


class Link:
    """Both ends of a link, which get every chunk that can be decoded."""

    def __init__(self) -> None:
        self._incoming, self._outgoing = Incoming(MOST), Outgoing()

    def again(self, data: bytes) -> bytes:
        chunk = wire.decode(data)
        with suppress(MessageError):
            self._take(chunk)
        held = self._incoming._partial
        assert held is None or len(held) <= MOST, "memory for a message that is too long"
        return wire.encode(chunk)

    def _take(self, chunk: wire.Chunk) -> None:
        match chunk:
            case wire.Piece():
                self._incoming.take(chunk)
            case wire.Ack(next_):
                self._outgoing.acknowledged(next_)
                self._outgoing.waiting.append(Frame("north", next_, "NONCE", b"x"))
            case wire.Hello():
                self._outgoing.start(chunk.expects)


# -- messages ---------------------------------------------------------------------------------


def message_again(data: bytes) -> bytes:
    received = messages.decode("north", 0, data)
    if isinstance(received.content, Enclosed):
        return received.content.encode()
    return bytes(received.frame.body)


def told_again(data: bytes) -> bytes:
    received = messages.decode("north", 0, data)
    if not isinstance(received.content, list):
        raise MessageError("not told to all")
    first, *more = received.content
    return first.encode(received.frame.kind, *more)


def envelope_again(data: bytes) -> bytes:
    return Envelope.decode(data).encode()


# -- payloads ---------------------------------------------------------------------------------


def payload_decoder(recovery: RecoveryName, folder: Path, share: int) -> Decoder:
    """Messages to the first party, down to the numbers in them."""
    (place := folder / f"payloads-{recovery}").mkdir()
    with Table(place, recovery=recovery, bits=BITS) as table:
        plan, party = table.plans[0], table.network.parties[0]
        good = [m for m in messages_of(table, party) if m[0] < 16]
    return Decoder(f"payload of {recovery}", partial(payload_again, plan), good, share)


def payload_again(plan: Plan, data: bytes) -> bytes:
    """What a session does with it, to the first party, in the order it does it."""
    enclosed = messages.decode("north", 0, data).content
    if not isinstance(enclosed, Enclosed):
        raise MessageError("not of a sum")
    envelope = enclosed.envelope
    if envelope.receiver != 0 or envelope.round > plan.recovery_rounds:
        raise MessageError("for somebody else or for no round")
    if (envelope.sender, envelope.kind) not in plan.senders(0, envelope.round):
        raise MessageError("not planned")
    content = origin_signatures.read(plan, envelope, enclosed.signatures)
    payload = b"".join(encoded(plan, envelope.kind, content))
    return replace(enclosed, envelope=envelope._replace(payload=payload)).encode()


def encoded(plan: Plan, kind: Kind, content: Any) -> Iterable[bytes]:
    """The bytes of what was read."""
    match kind:
        case Kind.MASK:
            yield plan.write(content)
        case Kind.MASKED:
            yield len(content).to_bytes(4, "little")
            yield from (origin.to_bytes(4, "little") for origin, _ in content)
            for _, vector in content:
                yield again(plan.ring, plan.ring.from_bytes(vector, plan.entries))
        case Kind.LIST:
            values, ids = content
            yield again(plan.ring, values.reshape(plan.ring.limbs, -1))
            yield ids.astype(np.dtype("<u2")).tobytes()
        case _:
            yield again(plan.ring, content)


def again(ring: Ring, numbers: Residues) -> bytes:
    """By way of Python's integers."""
    return bytes(ring.to_bytes(ring.from_ints(ring.to_ints(numbers))))


# -- answers ----------------------------------------------------------------------------------


def answer_decoder(share: int) -> Decoder:
    """Told by the one who solves, and compared with one's own: with what is near it, too."""
    fit = titan.average([1.5, 2.5, 4.0], "cycle")
    own = Results({"main": fit}, study="s", run=1, parties=["a", "b", "c"])

    def answer_again(data: bytes) -> bytes:
        check_told(data, own, "east", 1)
        return canonical(parsed(data, len(data)))

    return Decoder("answer", answer_again, [encode(own)], share)
