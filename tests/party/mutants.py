"""A plain byte mutator, and good bytes of every kind to begin with."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.party.given_sums import send
from tests.party.tables import STUDY, Table, fixed
from titan.party import wire
from titan.party.messages import HEAD_BYTES
from titan.party.wire import Absence, Ack, Hello, Here, Lost, Piece, Refusal, Role, What, Word
from titan.protocol.messages import HEADER_BYTES

_TELLING = (0, 1, 2, 4, 63, 64, 255, 256, 0x7FFF, 0xFFFF, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF)


def mutated(rng: random.Random, good: bytes, other: bytes) -> bytes:
    """One to three changes; never what it was."""
    data = good
    while data == good:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            data = rng.choice(_CHANGES)(rng, data, other)
    return data


def _flip(rng: random.Random, data: bytes, _: bytes) -> bytes:
    return _put(data, at := _place(rng, data), bytes([_byte(data, at) ^ (1 << rng.randrange(8))]))


def _replace(rng: random.Random, data: bytes, _: bytes) -> bytes:
    return _put(
        data, _place(rng, data), bytes([rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))])
    )


def _truncate(rng: random.Random, data: bytes, _: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _behead(rng: random.Random, data: bytes, _: bytes) -> bytes:
    return data[rng.randrange(1, 8) :]


def _extend(rng: random.Random, data: bytes, _: bytes) -> bytes:
    return data + rng.randbytes(rng.choice((1, 2, 4, 64, 65)))


def _splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _repeat(rng: random.Random, data: bytes, _: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:b] + data[a:b] + data[b:]


def _number(rng: random.Random, data: bytes, _: bytes) -> bytes:
    """Another number over 2 or 4 bytes: a length, a count, a round, an origin."""
    size = rng.choice((2, 4, 4))
    value = rng.choice((*_TELLING, len(data), rng.randrange(8))) % (1 << 8 * size)
    return _put(data, _place(rng, data), value.to_bytes(size, "little"))


_CHANGES = (_flip, _flip, _replace, _truncate, _behead, _extend, _splice, _repeat, _number, _number)


def _place(rng: random.Random, data: bytes) -> int:
    """Anywhere, but half of the time in the head, where the meaning is."""
    return rng.randrange(max(1, min(len(data), rng.choice((32, len(data) or 1)))))


def _byte(data: bytes, at: int) -> int:
    return data[at] if at < len(data) else 0


def _put(data: bytes, at: int, some: bytes) -> bytes:
    return data[:at] + some + data[at + len(some) :]


def mutants(seed: int, good: Sequence[bytes], count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for number in range(count):
        yield mutated(rng, good[number % len(good)], rng.choice(good))


# -- good bytes -------------------------------------------------------------------------------


def good_chunks() -> list[bytes]:
    """Of every kind, small, and a piece that is full."""
    hello = Hello(Role.SENDER, STUDY, 1, fixed("nonce"), 0, "north", "east", "3 x 64 bits")
    answer = Hello(Role.RECEIVER, STUDY, 2**32 - 1, fixed("nonce"), 7, "éast", "north", "")
    return [
        wire.encode(hello),
        wire.encode(answer),
        wire.encode(Ack(0)),
        wire.encode(Ack(2**32 - 1)),
        wire.encode(Refusal("this is another study")),
        wire.encode(Refusal("north lost its journal; agree on run 2", final=True)),
        wire.encode(Absence(2, bytes(range(64)), "its ledger refuses the study")),
        wire.encode(Here((0, 1, 7))),
        wire.encode(Lost(yours=True)),
        wire.encode(Word(What.AGREED, 2, bytes(range(64)), bytes(32))),
        wire.encode(Piece(0, 1, 0, b"x")),
        *map(b"".join, wire.pieces(3, bytes(range(256)))),
        *map(b"".join, wire.pieces(9, b"ab" * 90)),
        b"".join(list(wire.pieces(4, bytes(wire.PIECE_BYTES + 5)))[1]),
    ]


def good_messages(folder: Path) -> list[bytes]:
    """Whole messages of every kind, from runs in all three recoveries."""
    found: dict[bytes, None] = {}
    for recovery in ("flood", "tree", "topk"):
        (folder / recovery).mkdir()
        with Table(folder / recovery, recovery=recovery, solver=0) as table:
            table.run()
            send(
                table.seats["north"].durable, table.seats["north"].session.tell_answer(b'{"x": 1}')
            )
            table.run()
            found |= dict.fromkeys(_travelled(table))
    return list(found)


def messages_of(table: Table, receiver: str) -> list[bytes]:
    """All that one party gets in a run."""
    table.run()
    return list(_travelled(table, receiver))


def _travelled(table: Table, receiver: str | None = None) -> Iterator[bytes]:
    for link, chunks in table.chunks.items():
        if receiver in (None, link[1]):
            yield from map(_content, chunks)


def _content(chunk: bytes) -> bytes:
    piece = wire.decode(chunk)
    assert isinstance(piece, Piece)
    assert len(piece.content) == piece.size, "these tests keep to messages of one piece"
    return bytes(piece.content)


def told_to_all(messages: Sequence[bytes]) -> list[bytes]:
    return [m for m in messages if m[0] in (16, 17, 18)]


def envelopes(messages: Sequence[bytes]) -> list[bytes]:
    """Without the signatures behind them."""
    bodies = [m[HEAD_BYTES:] for m in messages if m[0] < 16]
    return [b[: HEADER_BYTES + int.from_bytes(b[16:20], "little")] for b in bodies]
