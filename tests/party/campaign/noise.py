"""Misbehaviour inside a party's process, put there from outside: nothing of it is in `titan`.

The writer of streams duplicates, delays and swaps chunks, and a process may send itself a signal
around its n-th commit or write, or at one moment that a test needs, or falsify sums. Everything
that happens is noted in a file, a letter each, since a killed process tells nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from titan.errors import MessageError
from titan.party import streams
from titan.party.durable_session import DurableSession
from titan.party.messages import AGREED, Received, Told
from titan.party.ready import Ready
from titan.party.session import Session
from titan.protocol.messages import Kind, Payload
from titan.protocol.recovery.interface import Outgoing
from titan.protocol.recovery.tree import TreeState
from titan.study.journal import Journal
from titan.study.kinds import MASK

LATEST = 0.03  # seconds by which a chunk is late
HELD = 0.05  # seconds after which a chunk that was to be swapped goes alone
IN_A_LIFE = 50  # chunks that suffer; then there is quiet, in which what is long arrives, too

Write = Callable[[Any, bytes], Awaitable[None]]


def make_noise(seed: int, notes: str, duplicate: float, delay: float, swap: float) -> None:
    """Patch the one class through which chunks leave."""
    rng, write = Random(seed), streams.Stream.write
    held: dict[int, asyncio.Task[None]] = {}
    left = IN_A_LIFE

    def suffers(letter: str, chance: float) -> bool:
        nonlocal left
        found = rng.random() < chance and left > 0
        if found:
            left -= 1
            note(notes, letter)
        return found

    async def noisy(end: Any, *parts: bytes) -> None:
        chunk = b"".join(parts)
        waiting = held.pop(id(end), None)
        if waiting is None and suffers("s", swap):
            held[id(end)] = asyncio.ensure_future(_later(write, end, chunk))
            return
        if suffers("l", delay):
            await asyncio.sleep(rng.uniform(0, LATEST))
        await write(end, chunk)
        if suffers("d", duplicate):
            await write(end, chunk)
        if waiting is not None:
            await waiting

    streams.Stream.write = noisy  # type: ignore[method-assign, assignment]


async def _later(write: Write, end: Any, chunk: bytes) -> None:
    """If the stream has ended, whoever uses it next is told: nobody may be waiting for this."""
    await asyncio.sleep(HELD)
    with suppress(streams.StreamEndedError):
        await write(end, chunk)


def kill_around_commit(count: int, before: bool, number: int = signal.SIGKILL) -> None:
    commit, left = Journal._commit, count

    def counted(journal: Journal) -> None:
        nonlocal left
        left -= 1
        now = left == 0
        if now and before:
            os.kill(os.getpid(), number)
        commit(journal)
        if now and not before:
            os.kill(os.getpid(), number)

    Journal._commit = counted  # type: ignore[method-assign, assignment]


def kill_around_write(count: int, before: bool, number: int = signal.SIGKILL) -> None:
    write, left = streams.Stream.write, count

    async def counted(end: Any, *parts: bytes) -> None:
        nonlocal left
        left -= 1
        now = left == 0
        if now and before:
            os.kill(os.getpid(), number)
        await write(end, *parts)
        if now and not before:
            os.kill(os.getpid(), number)

    streams.Stream.write = counted  # type: ignore[method-assign, assignment]


def kill_before_agreement(count: int, before: bool, number: int = signal.SIGKILL) -> None:
    """Once its digest has arrived everywhere it goes, and before it has heard any other's."""
    hear, acknowledged = Session._hear, DurableSession.acknowledged

    def deaf(session: Session, sender: int, kind: str, told: Sequence[Told]) -> Ready:
        if kind == AGREED:
            raise MessageError("not yet")
        return hear(session, sender, kind, told)

    def last(durable: DurableSession, peer: str, next_: int) -> bool:
        new = acknowledged(durable, peer, next_)
        if (
            isinstance(durable.session, Session)
            and durable.session.pooled
            and not durable.unacknowledged()
        ):
            os.kill(os.getpid(), number)
        return new

    Session._hear = deaf  # type: ignore[method-assign, assignment]
    DurableSession.acknowledged = last  # type: ignore[method-assign, assignment]


def kill_before_total(count: int, before: bool, number: int = signal.SIGKILL) -> None:
    """Once a neighbour has confirmed its masks, and before it knows any total."""
    take, acknowledged = Session._take, DurableSession.acknowledged

    def deaf(session: Session, sender: int, received: Received) -> Ready:
        if received.frame.sum is not None and received.frame.kind != MASK:
            raise MessageError("not yet")
        return take(session, sender, received)

    def last(durable: DurableSession, peer: str, next_: int) -> bool:
        new = acknowledged(durable, peer, next_)
        masks = "SELECT 1 FROM sent WHERE kind = ? AND peer = ? AND sequence < ?"
        if durable.journal._one(masks, MASK, peer, next_):
            os.kill(os.getpid(), number)
        return new

    Session._take = deaf  # type: ignore[method-assign, assignment]
    DurableSession.acknowledged = last  # type: ignore[method-assign, assignment]


KILLS = {
    "commit": kill_around_commit,
    "write": kill_around_write,
    "agreement": kill_before_agreement,
    "total": kill_before_total,
}


def alter_partial_sums() -> None:
    """One bit of one entry, the first, of each; then it is signed like any other."""
    send = TreeState.send

    def lying(state: TreeState, round_: int) -> list[Outgoing]:
        return [
            (receiver, kind, _flipped(payload) if kind is Kind.PARTIAL else payload)
            for receiver, kind, payload in send(state, round_)
        ]

    TreeState.send = lying  # type: ignore[method-assign, assignment]


def _flipped(payload: Payload) -> bytes:
    return bytes([payload[0] ^ 1]) + bytes(payload[1:])


LIES = {"partial": alter_partial_sums}


def note(notes: str, letters: str) -> None:
    with open(notes, "a") as file:  # noqa: PTH123 - short, and often called
        file.write(letters)
