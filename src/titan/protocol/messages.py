"""Envelopes: what parties send each other, and their one encoding as bytes.

    magic  version  kind  sender  receiver  round  length  payload
    2      1        1     4       4         4      4       length      bytes, little-endian

Parties are numbered in the network's order. Decoding is strict: whatever `decode` accepts,
`encode` turns back into the same bytes.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from titan.errors import MessageError

_HEADER = struct.Struct("<2sBBIIII")
_MAGIC = b"TE"
_VERSION = 1
HEADER_BYTES = _HEADER.size
MOST_ROUNDS = 2**32 - 1
MOST_PIECE_BYTES = 1_000_000
"""Of a vector that travels in pieces: with its heads a piece is one chunk of a stream."""

Payload = bytes | memoryview


class Kind(IntEnum):
    """What a payload is."""

    MASK = 1  # before recovery: a key and, unless masks are seeded, uniform entries
    LIST = 2  # topk: k values and k ids for every entry
    MASKED = 3  # flood: masked vectors with their origins
    PARTIAL = 4  # tree, towards the root: a chunk of a partial sum
    TOTAL = 5  # tree, away from the root: a chunk of the total
    RESULT = 6  # a broadcast: what one party tells all others
    COMMITTED = 7  # checked sums, told to all: digests of the vector and of a nonce
    REVEALED = 8  # … : the digest of the total, and the nonce
    SUMMED = 9  # … : sums over random subsets of the vector's entries
    OPENED = 10  # … where they do not add up: the vector, and who signed what on its way


class Envelope(NamedTuple):
    """One message from one party to another. Its payload is never printed."""

    kind: Kind
    sender: int
    receiver: int
    round: int
    payload: Payload

    @property
    def size(self) -> int:
        """The number of bytes of the encoding."""
        return HEADER_BYTES + len(self.payload)

    @property
    def head(self) -> bytes:
        kind, sender, receiver, round_, payload = self
        return _HEADER.pack(_MAGIC, _VERSION, kind, sender, receiver, round_, len(payload))

    def encode(self) -> bytes:
        return self.head + self.payload

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Envelope:
        if len(data) < HEADER_BYTES:
            raise MessageError(f"an envelope of {len(data)} bytes; its header has {HEADER_BYTES}")
        magic, version, kind, sender, receiver, round_, length = _HEADER.unpack_from(data)
        if magic != _MAGIC or version != _VERSION:
            raise MessageError(f"not an envelope of version {_VERSION}")
        if length != len(data) - HEADER_BYTES:
            raise MessageError(
                f"an envelope with {len(data) - HEADER_BYTES} bytes of payload; it says {length}"
            )
        try:
            known = Kind(kind)
        except ValueError:
            raise MessageError(f"an envelope of unknown kind {kind}") from None
        return cls(known, sender, receiver, round_, data[HEADER_BYTES:])

    def __repr__(self) -> str:
        return (
            f"<Envelope {self.kind.name} {self.sender}->{self.receiver} "
            f"round {self.round}, {len(self.payload)} bytes>"
        )
