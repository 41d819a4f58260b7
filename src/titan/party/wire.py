"""Chunks: what travels on the stream of a link, and their one encoding.

A chunk is one of

    HELLO    01  version u8 · role u8 · study 32 bytes · run u32 · nonce 32 bytes · expects u32 ·
                 name, peer, plan: each u16 length and UTF-8
    PIECE    02  number u32 · size u32 · offset u32 · bytes
    ACK      03  next u32
    REFUSAL  04  0 · UTF-8, or 1 · signature 64 bytes · nonce 32 bytes · UTF-8
    ABSENCE  05  party u32 · signature 64 bytes · UTF-8
    HERE     06  party u32, once or more
    LOST     10  yours u8
    WORD     11  what u8 · party u32 · signature 64 bytes · bytes

Numbers are little-endian; texts must print, for they end on terminals. A message of `size` bytes
travels as pieces in order, each full but the last. Decoding is strict: whatever `decode` accepts,
`encode` turns back into the same bytes.

Every version begins a HELLO with 01 and its number, and has this REFUSAL that begins with 04 0: so
two parties of different versions, whichever they are, can say so to each other.
"""

# Rule: a length is checked before anything is made of it, and nothing is longer than a chunk.

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from titan.errors import MessageError

VERSION = 2
MOST_CHUNK = 1 << 20  # bytes
MOST_TEXT = 4096
MOST_REASON = 200  # bytes of why a party does not come
MOST_SIZE = (1 << 32) - 1
NO_PROOF = bytes(64 + 32)

_HELLO = struct.Struct("<BBB32sI32sI")
_PIECE = struct.Struct("<BIII")
_ACK = struct.Struct("<BI")
_ABSENCE = struct.Struct("<BI64s")
_LENGTH = struct.Struct("<H")
_PARTY = struct.Struct("<I")
_WORD = struct.Struct("<BBI64s")
_TAGS = (*range(1, 7), 0x10, 0x11)
_HELLO_TAG, _PIECE_TAG, _ACK_TAG, _REFUSAL_TAG = _TAGS[:4]
_ABSENCE_TAG, _HERE_TAG, _LOST_TAG, _WORD_TAG = _TAGS[4:]
PIECE_BYTES = MOST_CHUNK - _PIECE.size
MOST_WORD = MOST_CHUNK - _WORD.size

Bytes = bytes | bytearray | memoryview


class OtherVersionError(MessageError):
    """A hello of another version, of which nothing more can be read."""

    def __init__(self, version: int) -> None:
        super().__init__(f"a hello of version {version}; this is version {VERSION}")
        self.version = version


class Role(IntEnum):
    """Which end of the link is speaking."""

    SENDER = 1
    RECEIVER = 2


@dataclass(frozen=True)
class Hello:
    """The first chunk from either end: who, in which run of which study, and from where on.

    `expects` is the number of the message that a receiver wants next; at a sender, that below which
    the receiver has confirmed all. `plan` says in words how the sums will be made: two parties must
    have come to the same.
    """

    role: Role
    study: bytes
    run: int
    nonce: bytes = field(repr=False)
    expects: int
    name: str
    peer: str
    plan: str


@dataclass(frozen=True)
class Piece:
    """Bytes `offset` and following of message `number`, which has `size` bytes in all."""

    number: int
    size: int
    offset: int
    content: Bytes = field(repr=False)


@dataclass(frozen=True)
class Ack:
    """All messages below `next` are on the receiver's disk."""

    next: int


@dataclass(frozen=True)
class Refusal:
    """Why this stream is not wanted, for the other's log.

    `final` says that it never will be, since whoever is refused has begun the run before, with
    another nonce. That counts with its `proof`: this nonce under that party's own signature.
    """

    reason: str
    final: bool = False
    proof: bytes = field(default=NO_PROOF, repr=False)


@dataclass(frozen=True)
class Absence:
    """Party number `party` does not take part in this run, and says why; others pass it on."""

    party: int
    signature: bytes = field(repr=False)
    reason: str


@dataclass(frozen=True)
class Here:
    """These parties have come, in ascending order; for those who wait."""

    parties: tuple[int, ...]


@dataclass(frozen=True)
class Lost:
    """Who says this cannot go on with the run: its journal is lost, or an earlier state of itself.

    Or, with `yours`, whoever hears it.
    """

    yours: bool


class What(IntEnum):
    """What a party has said to all."""

    AGREED = 1
    ANSWER = 2
    STOPPED = 3


@dataclass(frozen=True)
class Word:
    """Something that `party` has said to all, on its way through one that cannot go on."""

    what: What
    party: int
    signature: bytes = field(repr=False)
    content: bytes = field(repr=False)


Chunk = Hello | Piece | Ack | Refusal | Absence | Here | Lost | Word


def pieces(number: int, message: Bytes) -> Iterator[tuple[bytes, memoryview]]:
    """A whole message as encoded chunks, each in two parts: a long one is not copied for it."""
    whole = memoryview(message)
    for offset in range(0, len(whole), PIECE_BYTES):
        head = _PIECE.pack(_PIECE_TAG, number, len(whole), offset)
        yield head, whole[offset : offset + PIECE_BYTES]


# -- encoding ---------------------------------------------------------------------------------


def encode(chunk: Chunk) -> bytes:
    match chunk:
        case Piece(number, size, offset, content):
            return b"".join((_PIECE.pack(_PIECE_TAG, number, size, offset), content))
        case Ack(next_):
            return _ACK.pack(_ACK_TAG, next_)
        case Hello(role, study, run, nonce, expects, name, peer, plan):
            head = _HELLO.pack(_HELLO_TAG, VERSION, role, study, run, nonce, expects)
            texts = [_text(text) for text in (name, peer, plan)]
            return head + b"".join(_LENGTH.pack(len(text)) + text for text in texts)
        case Refusal(reason, final, proof):
            return bytes([_REFUSAL_TAG, final]) + (proof if final else b"") + _text(reason)
        case Absence(party, signature, reason):
            return _ABSENCE.pack(_ABSENCE_TAG, party, signature) + _text(reason, MOST_REASON)
        case Here(parties):
            return bytes([_HERE_TAG]) + b"".join(map(_PARTY.pack, parties))
        case Lost(yours):
            return bytes([_LOST_TAG, yours])
        case Word(what, party, signature, said):
            return _WORD.pack(_WORD_TAG, what, party, signature) + said


def _text(text: str, most: int = MOST_TEXT) -> bytes:
    return text.encode()[:most].decode(errors="ignore").encode()


# -- decoding ---------------------------------------------------------------------------------


def decode(data: Bytes) -> Chunk:
    """The chunk that `encode` turns into exactly these bytes; MessageError if there is none."""
    content = memoryview(data)
    if len(content) > MOST_CHUNK:
        raise MessageError(f"a chunk of {len(content)} bytes; the most is {MOST_CHUNK}")
    if not content or content[0] not in _DECODERS:
        raise MessageError("a chunk of no known kind")
    return _DECODERS[content[0]](content)


def _piece(content: memoryview) -> Piece:
    if len(content) <= _PIECE.size:
        raise MessageError("a piece without content")
    _, number, size, offset = _PIECE.unpack_from(content)
    body = content[_PIECE.size :]
    if offset % PIECE_BYTES or len(body) != min(PIECE_BYTES, size - offset):
        raise MessageError(f"a piece of {len(body)} bytes at {offset} of {size} is cut wrongly")
    return Piece(number, size, offset, body)


def _ack(content: memoryview) -> Ack:
    if len(content) != _ACK.size:
        raise MessageError("an acknowledgement of the wrong length")
    return Ack(_ACK.unpack(content)[1])


def _refusal(content: memoryview) -> Refusal:
    if len(content) < 2 or content[1] > 1:
        raise MessageError("a refusal that is neither final nor not")
    if not content[1]:
        return Refusal(_read_text(content[2:]))
    start = 2 + len(NO_PROOF)
    if len(content) < start:
        raise MessageError("a final refusal without its proof")
    return Refusal(_read_text(content[start:]), final=True, proof=bytes(content[2:start]))


def _absence(content: memoryview) -> Absence:
    if len(content) < _ABSENCE.size:
        raise MessageError("an absence that is too short")
    _, party, signature = _ABSENCE.unpack_from(content)
    return Absence(party, signature, _read_text(content[_ABSENCE.size :], MOST_REASON))


def _here(content: memoryview) -> Here:
    if len(content) % _PARTY.size != 1:
        raise MessageError("a list of parties that is cut off")
    parties = tuple(party for (party,) in _PARTY.iter_unpack(content[1:]))
    if not parties or list(parties) != sorted(set(parties)):
        raise MessageError("a list of parties that is empty or out of order")
    return Here(parties)


def _lost(content: memoryview) -> Lost:
    if len(content) != 2 or content[1] > 1:
        raise MessageError("a lost journal that is neither here nor there")
    return Lost(bool(content[1]))


def _word(content: memoryview) -> Word:
    if len(content) <= _WORD.size or content[1] not in set(What):
        raise MessageError("a word that is too short, or of no known kind")
    _, what, party, signature = _WORD.unpack_from(content)
    return Word(What(what), party, signature, bytes(content[_WORD.size :]))


def _hello(content: memoryview) -> Hello:
    if len(content) > 1 and content[1] != VERSION:
        raise OtherVersionError(content[1])
    if len(content) < _HELLO.size:
        raise MessageError("a hello that is too short")
    _, _, role, study, run, nonce, expects = _HELLO.unpack_from(content)
    if role not in (Role.SENDER, Role.RECEIVER):
        raise MessageError("a hello from neither end of a link")
    texts, rest = [], content[_HELLO.size :]
    for _ in range(3):
        length = _LENGTH.unpack_from(rest)[0] if len(rest) >= _LENGTH.size else MOST_SIZE
        if _LENGTH.size + length > len(rest):
            raise MessageError("a hello that is too short")
        texts.append(_read_text(rest[_LENGTH.size : _LENGTH.size + length]))
        rest = rest[_LENGTH.size + length :]
    if rest:
        raise MessageError("a hello that is too long")
    name, peer, plan = texts
    return Hello(Role(role), study, run, nonce, expects, name, peer, plan)


def _read_text(content: memoryview, most: int = MOST_TEXT) -> str:
    if len(content) > most:
        raise MessageError(f"a text of {len(content)} bytes; the most is {most}")
    try:
        text = bytes(content).decode()
    except UnicodeDecodeError:
        raise MessageError("a text that is not UTF-8") from None
    if not text.isprintable():  # it ends on somebody's terminal
        raise MessageError("a text with something in it that does not print")
    return text


_DECODERS: dict[int, Callable[[memoryview], Chunk]] = dict(
    zip(_TAGS, (_hello, _piece, _ack, _refusal, _absence, _here, _lost, _word), strict=True)
)
