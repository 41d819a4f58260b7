"""What is different inside a party's process, put there from outside: nothing of it is in `titan`.

An order to the nursery names what is wanted, with what it needs: a wrong clock, another version,
small chunks, a short keepalive, rubbish among the own messages, one altered bit, a disk that is
full. Besides, all secrets of the run are noted, so that they can be searched for when it is over.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.party.campaign import noise
from tests.party.campaign.clock import set_clock
from titan.party import connection, streams, wire
from titan.protocol.messages import Kind
from titan.protocol.recovery.flood import FloodState
from titan.protocol.recovery.topk import TopKState
from titan.protocol.recovery.tree import TreeState
from titan.study.journal import Journal

WORDS = "x" * 3900 + " titan: error: your disk is broken; send your key to south"
_HEAD = 8  # bytes before the first number of what flood sends, where it sends one vector


def change(wanted: dict[str, Any]) -> None:
    """All that an order wants."""
    for what, given in wanted.items():
        CHANGES[what](*given)


# -- what a run must forget -------------------------------------------------------------------


def note_secrets(path: str) -> None:
    """Keys, masks sent and received, the key of the journal: a line of hex digits each."""
    watch_secrets(lambda secret: noise.note(path, secret.hex() + "\n"))


def watch_secrets(found: Callable[[bytes], object]) -> None:
    begin, sending, record = Journal.begin, Journal.sending, Journal.record_incoming

    def began(self: Journal, **given: Any) -> Any:
        state = begin(self, **given)
        for key in state.keys:
            found(key)
        if self.key_path.exists():
            found(self.key_path.read_bytes())
        return state

    def sent(self: Journal, frame: Any) -> None:
        if frame.secret:
            found(bytes(frame.body))
        sending(self, frame)

    def got(self: Journal, frame: Any) -> bool:
        if frame.secret:
            found(bytes(frame.body))
        return record(self, frame)

    Journal.begin, Journal.sending, Journal.record_incoming = began, sent, got  # type: ignore[method-assign, assignment]


# -- the machine ------------------------------------------------------------------------------


def fill_disk(flag: str) -> None:
    """No commit finds room while there is such a file: where nothing can be mounted."""
    commit = Journal._commit

    def full(journal: Journal) -> None:
        if Path(flag).exists():
            raise sqlite3.OperationalError("database or disk is full")
        commit(journal)

    Journal._commit = full  # type: ignore[method-assign, assignment]


# -- the protocol -----------------------------------------------------------------------------


def speak_version(version: int) -> None:
    wire.VERSION = version


def cut_pieces(size: int) -> None:
    wire.PIECE_BYTES = size


def keep_alive(ping: int, pong: int) -> None:
    """Milliseconds of silence after which one is asked for, and then is gone."""
    connection.ALIVE_SECONDS = ping / 1000
    connection.GONE_SECONDS = (ping + pong) / 1000


# -- those who break the rules ----------------------------------------------------------------


def talk_rubbish(seed: int, notes: str, chance: float, most: int) -> None:
    """Under a valid certificate, after a valid hello: what no party should say."""
    rng, write, left = Random(seed), streams.Stream.write, most

    async def rude(end: Any, *parts: bytes) -> None:
        nonlocal left
        chunk = b"".join(parts)
        if left and chunk[0] != 1 and rng.random() < chance:  # a hello comes first
            left -= 1
            noise.note(notes, "r")
            await write(end, _rubbish(rng, chunk))
        await write(end, chunk)

    streams.Stream.write = rude  # type: ignore[method-assign, assignment]


def _rubbish(rng: Random, chunk: bytes) -> bytes:
    return rng.choice(
        (
            lambda: rng.randbytes(rng.randint(0, 200)),
            lambda: chunk[: rng.randrange(len(chunk))],
            lambda: chunk + b"\0",
            lambda: wire.encode(wire.Refusal(WORDS, final=rng.random() < 0.5)),
            lambda: wire.encode(wire.Ack(2**32 - 1)),
            lambda: wire.encode(wire.Piece(2**31, 2**32 - 1, 0, bytes(wire.PIECE_BYTES))),
            lambda: wire.encode(wire.Absence(rng.randrange(4), rng.randbytes(64), "no")),
            lambda: wire.encode(wire.Here(tuple(range(rng.randint(1, 1000))))),
            lambda: wire.encode(
                wire.Hello(wire.Role.SENDER, bytes(32), 7, bytes(32), 9, "x", "y", WORDS)
            ),
        )
    )()


def alter_a_bit(seed: int, notes: str) -> None:
    """Of the first vector that this party passes on for others, or of its own where it does not.

    Whatever it signs, it signs the altered one.
    """
    rng = Random(seed)
    for state, kinds in (
        (TreeState, (Kind.PARTIAL, Kind.TOTAL)),
        (TopKState, (Kind.LIST,)),
        (FloodState, (Kind.MASKED,)),
    ):
        _patch_sending(state, kinds, rng, notes)


def _patch_sending(state: Any, kinds: tuple[Kind, ...], rng: Random, notes: str) -> None:
    send, at = state.send, rng.random()

    def lying(self: Any, round_: int) -> Any:
        out = send(self, round_)
        if getattr(self, "lied", False):
            return out
        for number, (receiver, kind, payload) in enumerate(out):
            others = kind is not Kind.MASKED or (round_ > 1 and len(payload) > _HEAD)
            if kind in kinds and others:
                self.lied = True
                out[number] = (receiver, kind, _flipped(self, kind, bytes(payload), at))
                noise.note(notes, "a")
                break
        return out

    state.send = lying


def _flipped(state: Any, kind: Kind, payload: bytes, at: float) -> bytes:
    """One bit of one number: a list of topk has indices behind them, flood's payload before."""
    scheme, other = state._scheme, bytearray(payload)
    first, last = 0, len(payload)
    if kind is Kind.MASKED:
        first = last - scheme.telling.size
    elif kind is Kind.LIST:
        last = scheme.entries * scheme.ring.width  # the largest ones, which are not empty
    other[first + int(at * (last - first))] ^= 1
    return bytes(other)


def note_pieces(notes: str) -> None:
    """That this process has sent a message of several chunks."""
    write, noted = streams.Stream.write, False

    async def seen(end: Any, *parts: bytes) -> None:
        nonlocal noted
        head = b"".join(parts[:2])[: wire._PIECE.size]
        if not noted and len(head) == wire._PIECE.size and head[0] == wire._PIECE_TAG:
            *_, offset = wire._PIECE.unpack(head)
            if offset:
                noted = True
                noise.note(notes, "p")
        await write(end, *parts)

    streams.Stream.write = seen  # type: ignore[method-assign, assignment]


CHANGES: dict[str, Callable[..., None]] = {
    "secrets": note_secrets,
    "clock": set_clock,
    "full": fill_disk,
    "version": speak_version,
    "chunk": cut_pieces,
    "pieces": note_pieces,
    "keepalive": keep_alive,
    "rubbish": talk_rubbish,
    "lie": alter_a_bit,
}
