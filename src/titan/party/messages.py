"""Whole messages along a link; a frame's body is the message as it travels.

    kind u8 · sum u8 · body

    kinds 1 to 6     an envelope of a sum; behind a MASKED one the signatures of its origins
    16 NONCE         told to all: a party's random number for this run
    17 AGREED        told to all: its digest of the pooled sums
    18 ANSWER        told to all by the one who solves, where the study says that one does
    19 END           nothing more will come along this link; without an answer, told by whoever
                     ended the run, to all

Outside the sums `sum` is 255. What is told to all has the body origin u32 · signature · content;
several nonces or digests, which are of 32 bytes, stand one behind the other.
"""

# Rule: a message is decoded once, when it arrives; whoever needs its content gets what was found.

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import chain

from titan.errors import MessageError
from titan.protocol.messages import HEADER_BYTES, Envelope, Kind, Payload
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.frames import Frame

NONCE, AGREED, ANSWER, END = "NONCE", "AGREED", "ANSWER", "END"
_CONTROL = {16: NONCE, 17: AGREED, 18: ANSWER, 19: END}
_KINDS = {int(kind): kind.name for kind in Kind} | _CONTROL
_NUMBERS = {name: number for number, name in _KINDS.items()}
_OUTSIDE = 255
_ORIGIN = struct.Struct("<I")
_ITEM_BYTES = _ORIGIN.size + SIGNATURE_BYTES + 32
HEAD_BYTES = 2
MOST_SUMS = _OUTSIDE


LAST = bytes([_NUMBERS[END], _OUTSIDE])
"""The last message along a link, of a party that has an answer: it says nothing but that."""


def most_bytes(parties: int, *, in_sums: int, answer: int) -> dict[int, int]:
    """How long a message can be, by its first byte, which says its kind.

    Where one party solves, its answer may have many megabytes. Nothing else may: what is longer is
    refused before it is read.
    """
    told = HEAD_BYTES + parties * _ITEM_BYTES
    sizes = {ANSWER: HEAD_BYTES + _ORIGIN.size + SIGNATURE_BYTES + answer}
    return {
        number: sizes.get(kind, told) if kind in _CONTROL.values() else in_sums
        for number, kind in _KINDS.items()
    }


@dataclass(frozen=True)
class Enclosed:
    """An envelope of sum `number`, and the signatures behind it if it is a MASKED one."""

    number: int
    envelope: Envelope
    signatures: Payload = field(default=b"", repr=False)
    of_vectors: bytes = field(default=b"", repr=False, compare=False)
    """The digests of its vectors, where it is an own one."""

    def encode(self) -> bytes:
        """The whole message; a vector is copied once."""
        envelope, head = self.envelope, bytes([self.envelope.kind, self.number])
        return b"".join((head, envelope.head, envelope.payload, self.signatures))

    @classmethod
    def decode(cls, message: Payload) -> Enclosed:
        """What a message says, whose head was read already."""
        body = message[HEAD_BYTES:]
        if len(body) < HEADER_BYTES:
            raise MessageError("an envelope without its head")
        end = HEADER_BYTES + int.from_bytes(body[HEADER_BYTES - 4 : HEADER_BYTES], "little")
        envelope, behind = Envelope.decode(body[:end]), body[end:]
        if len(behind) and envelope.kind is not Kind.MASKED:
            raise MessageError(f"{envelope!r} has something behind it")
        return cls(message[1], envelope, behind)


@dataclass(frozen=True)
class Told:
    """What party number `origin` tells all others, under its signature."""

    origin: int
    signature: bytes = field(repr=False)
    content: bytes = field(repr=False)

    def encode(self, kind: str, *more: Told) -> bytes:
        """The whole message, with what others tell behind."""
        items = ((_ORIGIN.pack(it.origin), it.signature, it.content) for it in (self, *more))
        return b"".join((bytes([_NUMBERS[kind], _OUTSIDE]), *chain.from_iterable(items)))

    @classmethod
    def decode(cls, message: Payload) -> Told:
        """What a message says, whose head was read already."""
        body, start = message[HEAD_BYTES:], _ORIGIN.size + SIGNATURE_BYTES
        if len(body) <= start:
            raise MessageError("something told to all without a signature or content")
        (origin,) = _ORIGIN.unpack_from(body)
        return cls(origin, bytes(body[_ORIGIN.size : start]), bytes(body[start:]))

    @classmethod
    def decode_all(cls, kind: str, message: Payload) -> list[Told]:
        """The same of one or several."""
        size = len(message) - HEAD_BYTES
        if kind in (ANSWER, END) or size % _ITEM_BYTES or not size:
            return [cls.decode(message)]
        head, starts = message[:HEAD_BYTES], range(HEAD_BYTES, len(message), _ITEM_BYTES)
        return [cls.decode(b"".join((head, message[at : at + _ITEM_BYTES]))) for at in starts]


@dataclass
class Received:
    """A message as the journal keeps it, and what it says."""

    frame: Frame
    _found: Enclosed | list[Told] | None = None

    @property
    def content(self) -> Enclosed | list[Told] | None:
        """Found when it is asked for; None for a last message that says nothing."""
        kind, body = self.frame.kind, self.frame.body
        if self._found is None and len(body) > HEAD_BYTES:
            outside = self.frame.sum is None
            self._found = Told.decode_all(kind, body) if outside else Enclosed.decode(body)
        return self._found


def decode(peer: str, number: int, message: Payload) -> Received:
    """Message `number` from `peer`; MessageError if it cannot be one."""
    if len(message) < HEAD_BYTES:
        raise MessageError("a message without its head")
    kind, place = _KINDS.get(message[0]), message[1]
    if kind is None:
        raise MessageError(f"a message of unknown kind {message[0]}")
    if (kind in _CONTROL.values()) != (place == _OUTSIDE):
        where = "outside the sums" if place == _OUTSIDE else "inside a sum"
        raise MessageError(f"a message of kind {kind} {where}")
    if kind in (NONCE, AGREED, ANSWER) and len(message) == HEAD_BYTES:
        raise MessageError(f"{kind} that says nothing")
    if place == _OUTSIDE:
        told = [Told.decode(message)] if kind == END and len(message) > HEAD_BYTES else None
        return Received(Frame(peer, number, kind, message), told)
    enclosed = Enclosed.decode(message)
    if enclosed.envelope.kind.name != kind:
        raise MessageError(f"a message of kind {kind} with an envelope of another")
    return Received(Frame(peer, number, kind, message, place, enclosed.envelope.round), enclosed)
