"""Whole messages along a link; a frame's body is the message as it travels.

    kind u8 · sum u8 · body

    kinds 1 to 6     an envelope of a sum; behind a MASKED one the signatures of its origins
    16 NONCE         told to all: a party's random number for this run
    17 AGREED        told to all: its digest of the pooled sums
    18 ANSWER        told to all by the one who solves, where the study says that one does
    19 END           nothing more will come along this link

Outside the sums `sum` is 255. What is told to all has the body origin u32 · signature · content.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from titan.errors import MessageError
from titan.protocol.messages import HEADER_BYTES, Envelope, Kind, Payload
from titan.study.frames import Frame
from titan.study.signatures import SIGNATURE_BYTES

NONCE, AGREED, ANSWER, END = "NONCE", "AGREED", "ANSWER", "END"
_CONTROL = {16: NONCE, 17: AGREED, 18: ANSWER, 19: END}
_KINDS = {int(kind): kind.name for kind in Kind} | _CONTROL
_NUMBERS = {name: number for number, name in _KINDS.items()}
_OUTSIDE = 255
_ORIGIN = struct.Struct("<I")
HEAD_BYTES = 2
MOST_SUMS = _OUTSIDE


def decode(peer: str, number: int, message: Payload) -> Frame:
    """Message `number` from `peer` as a frame; MessageError if it cannot be one."""
    if len(message) < HEAD_BYTES:
        raise MessageError("a message without its head")
    kind, place = _KINDS.get(message[0]), message[1]
    if kind is None:
        raise MessageError(f"a message of unknown kind {message[0]}")
    if kind in _CONTROL.values():
        if place != _OUTSIDE:
            raise MessageError(f"a message of kind {kind} inside a sum")
        if kind == END and len(message) > HEAD_BYTES:
            raise MessageError("a last message that says something")
        return Frame(peer, number, kind, message, None, 0)
    if place == _OUTSIDE:
        raise MessageError(f"a message of kind {kind} outside the sums")
    envelope, _ = opened(message)
    if envelope.kind.name != kind:
        raise MessageError(f"a message of kind {kind} with an envelope of another")
    return Frame(peer, number, kind, message, place, envelope.round)


def _head(kind: str, place: int = _OUTSIDE) -> bytes:
    return bytes([_NUMBERS[kind], place])


# -- inside a sum -----------------------------------------------------------------------------


def enclosed(number: int, envelope: Envelope, signatures: bytes = b"") -> bytes:
    """The message that carries an envelope of sum `number`; a vector is copied once."""
    head = _head(envelope.kind.name, number)
    return b"".join((head, envelope.head, envelope.payload, signatures))


def opened(message: Payload) -> tuple[Envelope, Payload]:
    """The envelope and the signatures behind it, which only a MASKED one may have."""
    body = message[HEAD_BYTES:]
    if len(body) < HEADER_BYTES:
        raise MessageError("an envelope without its head")
    end = HEADER_BYTES + int.from_bytes(body[HEADER_BYTES - 4 : HEADER_BYTES], "little")
    envelope, behind = Envelope.decode(body[:end]), body[end:]
    if len(behind) and envelope.kind is not Kind.MASKED:
        raise MessageError(f"{envelope!r} has something behind it")
    return envelope, behind


# -- told to all ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What party number `origin` tells all others, under its signature."""

    origin: int
    signature: bytes = field(repr=False)
    content: bytes = field(repr=False)

    def encode(self, kind: str) -> bytes:
        """The whole message."""
        return _head(kind) + _ORIGIN.pack(self.origin) + self.signature + self.content

    @classmethod
    def decode(cls, message: Payload) -> Told:
        """What a message says, whose head was read already."""
        body, start = message[HEAD_BYTES:], _ORIGIN.size + SIGNATURE_BYTES
        if len(body) <= start:
            raise MessageError("something told to all without a signature or content")
        (origin,) = _ORIGIN.unpack_from(body)
        return cls(origin, bytes(body[_ORIGIN.size : start]), bytes(body[start:]))


# -- the last ---------------------------------------------------------------------------------

LAST = _head(END)
"""It says nothing but that."""
