"""A party at work: all its links and its durable session, from the first dial until it leaves.

    connecting ─► conversation ─► arrival queue ─► durable session
                       ▲                                │
                       └────────── link.wake ◄──────────┘

Everybody reports to `run_events`, and whoever waits for the run waits there.
"""

# Rule 1: only the durable session decides what is taken and what may leave.
# Rule 2: a peer's fault costs its stream, never the process. What is wrong here, or with the run,
#         ends the run with an error.
# Rule 3: whatever was begun here has ended when the party has left.

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from titan.errors import FileError, WaitError
from titan.joint.task import described
from titan.listing import listing
from titan.moments.freed_memory import fetch_memory, keep_freed_memory
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.connecting import Connections, Handshake
from titan.party.durable_session import DurableSession
from titan.party.ending import to_its_end
from titan.party.lost_journals import LostJournals
from titan.party.proxies import DIRECTLY, Proxies
from titan.party.run import RunProgress
from titan.party.run_events import RunEvents, Watch, link_statuses
from titan.party.streams import CLOSING_SECONDS
from titan.protocol import Plan
from titan.study import Identity, Study

__all__ = ["Engine", "Watch"]

_VECTORS = 8  # that a party has at once in a sum


class Engine:
    """Runs one party's links until told to stop; an asynchronous context manager."""

    def __init__(
        self,
        study: Study,
        identity: Identity,
        durable: DurableSession,
        listen: str,
        watch: Watch,
        proxies: Proxies = DIRECTLY,
    ) -> None:
        session = durable.session
        run, links = session.run, link_statuses(study, identity.name)
        self._listen = listen
        self._links = list(links.values())
        self._session = session
        self._events = RunEvents(watch, self._progress)
        self._queue = ArrivalQueue(durable, links, self._events)
        self._attendance = Attendance(
            study, run.number, run.name, links, self._events, lambda: session.nonces
        )
        handshake = Handshake(run, described(session.plans))
        self._events.addresses = {card.name: card.address for card in study.parties}
        self._events.began_before = partial(handshake.began_before, identity.card)
        wake = self._queue.wake_senders
        self.lost = LostJournals(study, identity, durable, links, self._events, wake)
        parts = durable, self._queue, self._events, self._attendance, self.lost
        self._connections = Connections(study, identity, handshake, links, *parts, proxies)
        self._tasks: list[asyncio.Task[None]] = []

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Engine:
        keep_freed_memory()
        fetch_memory(_VECTORS * max(map(_vector_bytes, self._session.plans), default=0))
        await self._connections.listen(self._listen)
        # Otherwise Python's collector would look for unused cycles among all objects of all modules
        # in the middle of the first sum, a tenth of its time.
        gc.freeze()
        self._spawn(self._queue.run())
        self._spawn(self._queue.confirm_in_turn())
        self._spawn(self._queue.work())
        for link in self._links:
            if link.dials:
                self._spawn(self._connections.dial(link))
        self._events.progressed()  # who is missing is named before anybody has come
        return self

    async def __aexit__(self, failed: object, *_: object) -> None:
        await to_its_end(self._leave(failed))

    async def _leave(self, failed: object) -> None:
        try:
            if not failed and self._events.failure is None:
                with suppress(FileError):  # what is not confirmed, others will send again
                    self._queue.confirm()
            for link in self._links:
                link.leave()
            conversations = [link.conversation for link in self._links if link.conversation]
            if conversations and (self._events.failure is None or self._events.last_words):
                await asyncio.wait(conversations, timeout=2 * CLOSING_SECONDS)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._connections.close()
            gc.unfreeze()
            self._events.tell_left_out()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._note_failure)
        self._tasks.append(task)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._events.fail(task.exception())

    def wake_senders(self) -> None:
        """Something was released."""
        self._queue.wake_senders()

    # -- how far it is ------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool], wait: float) -> None:
        """Take part until something holds; WaitError after `wait` seconds without news."""
        if not await self._events.until(condition, wait):
            raise self._waited_in_vain(wait)

    @property
    def connected(self) -> bool:
        """Every link has been up."""
        return all(link.ever_up for link in self._links)

    @property
    def closed(self) -> bool:
        """Nobody will say anything more, and everybody knows."""
        return all(link.closed for link in self._links)

    @property
    def left_in_order(self) -> bool:
        """Nobody has gone who had come, but for those who know that they may."""
        return all(link.closed or not link.ever_up for link in self._links)

    @property
    def bytes_written(self) -> int:
        """To all links, after hello."""
        return sum(link.bytes_written for link in self._links)

    def _progress(self) -> RunProgress:
        named = self._attendance.named(self._session.progress)
        return replace(named, bytes_written=self.bytes_written)

    def _waited_in_vain(self, wait: float) -> WaitError:
        progress = self._progress()
        troubles = [f"{n}: {why}" for n, why in self._troubles(progress.waiting)]
        hint = "there is no answer, and the journal is kept: the same command goes on from here"
        if others := sorted({link.peer for link in self._links if link.another_study}):
            hint = f"compare fingerprints with {listing(others)}: titan study check shows the "
            hint += "study's, which must be the same at all parties; with the right file at each, "
            hint += "the same command goes on"
        hint = self.lost.hint or hint
        return WaitError(
            f"nothing came for {wait:g} seconds ({progress})"
            + (f"; {'; '.join(troubles)}" if troubles else ""),
            hint=hint,
        )

    def _troubles(self, first: Sequence[str]) -> list[tuple[str, str]]:
        """Whose link is down, and why; those who are waited for come first."""
        found: dict[str, str] = {}
        for link in self._links:
            if not link.up:
                found[link.peer] = link.trouble or found.get(link.peer, "")
        order = [n for n in first if n in found] + [n for n in found if n not in first]
        return [(name, found[name] or "no connection yet") for name in order]


def _vector_bytes(plan: Plan) -> int:
    return plan.ring.width * plan.entries
