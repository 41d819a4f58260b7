"""Misbehaviour inside a party's process, put there from outside: nothing of it is in `titan`.

The writer of streams duplicates, delays and swaps chunks, and a process may kill itself around its
n-th commit or write, or at one moment that a test needs. Everything that happens is noted in a
file, a letter each, since a killed process tells nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from titan.errors import MessageError
from titan.party import streams
from titan.party.durable_session import DurableSession
from titan.party.messages import AGREED, Told
from titan.party.run import Ready
from titan.party.session import Session
from titan.study.journal import Journal

LATEST = 0.03  # seconds by which a chunk is late
HELD = 0.05  # seconds after which a chunk that was to be swapped goes alone

Write = Callable[[Any, bytes], Awaitable[None]]


def make_noise(seed: int, notes: str, duplicate: float, delay: float, swap: float) -> None:
    """Patch the one class through which chunks leave."""
    rng, write = Random(seed), streams.Stream.write
    held: dict[int, asyncio.Task[None]] = {}

    async def noisy(end: Any, chunk: bytes) -> None:
        waiting = held.pop(id(end), None)
        if waiting is None and rng.random() < swap:
            _note(notes, "s")
            held[id(end)] = asyncio.ensure_future(_later(write, end, chunk))
            return
        if rng.random() < delay:
            _note(notes, "l")
            await asyncio.sleep(rng.uniform(0, LATEST))
        await write(end, chunk)
        if rng.random() < duplicate:
            _note(notes, "d")
            await write(end, chunk)
        if waiting is not None:
            await waiting

    streams.Stream.write = noisy  # type: ignore[method-assign, assignment]


async def _later(write: Write, end: Any, chunk: bytes) -> None:
    await asyncio.sleep(HELD)
    await write(end, chunk)


def kill_around_commit(count: int, before: bool) -> None:
    commit, left = Journal._commit, count

    def counted(journal: Journal) -> None:
        nonlocal left
        left -= 1
        if left == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        commit(journal)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal._commit = counted  # type: ignore[method-assign, assignment]


def kill_around_write(count: int, before: bool) -> None:
    write, left = streams.Stream.write, count

    async def counted(end: Any, chunk: bytes) -> None:
        nonlocal left
        left -= 1
        if left == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        await write(end, chunk)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    streams.Stream.write = counted  # type: ignore[method-assign, assignment]


def kill_before_agreement(count: int, before: bool) -> None:
    """Once its digest has arrived everywhere it goes, and before it has heard any other's."""
    hear, acknowledged = Session._hear, DurableSession.acknowledged

    def deaf(session: Session, sender: int, kind: str, told: Told) -> Ready:
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
            os.kill(os.getpid(), signal.SIGKILL)
        return new

    Session._hear = deaf  # type: ignore[method-assign, assignment]
    DurableSession.acknowledged = last  # type: ignore[method-assign, assignment]


KILLS = {
    "commit": kill_around_commit,
    "write": kill_around_write,
    "agreement": kill_before_agreement,
}


def _note(notes: str, letter: str) -> None:
    with open(notes, "a") as file:  # noqa: PTH123 - short, and often called
        file.write(letter)
