"""Arrivals: what comes in one turn of the event loop is handed over in one transaction.

Messages are confirmed later, many at a time: nobody waits for it but the memory of the sender, and
each confirmation costs both ends a message and this one a wait for the disk.
"""

# Rule 1: only the durable session decides what is taken.
# Rule 2: a message that is refused costs the stream it came on, and nothing else. Any other error
#         ends the run.
# Rule 3: what is made of rows is made in a thread; meanwhile messages are taken and confirmed.
# Rule 4: messages are confirmed after a moment; at once when they are many bytes, or somebody's
#         last. The disk is waited for in a thread: meanwhile further messages are taken.

from __future__ import annotations

import asyncio
from asyncio import to_thread
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from titan.party.durable_session import Arrival, DurableSession
from titan.party.run_events import LinkStatus, LinkStatuses, RunEvents
from titan.party.wire import MOST_CHUNK, Role
from titan.party.worker import Worker

_MOMENT = 0.5  # seconds
_BREATH = 1.0  # seconds of work after which it is said that it goes on
_MOST_UNCONFIRMED = 16 * MOST_CHUNK  # bytes


class ArrivalQueue:
    """Where all links of a party put the messages that came along them."""

    def __init__(self, durable: DurableSession, links: LinkStatuses, events: RunEvents) -> None:
        self._durable = durable
        self._to = _by_peer(links, Role.SENDER)
        self._from = _by_peer(links, Role.RECEIVER)
        self._events = events
        self._arrivals: list[Arrival] = []
        self._unconfirmed = 0  # bytes
        self._timer: asyncio.TimerHandle | None = None
        self._confirm_now = asyncio.Event()
        self._woken = asyncio.Event()
        self._work_is_due = asyncio.Event()

    def add(self, arrival: Arrival) -> None:
        self._arrivals.append(arrival)
        self._woken.set()

    async def run(self) -> None:
        """Hand over to the durable session whatever has arrived."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            arrivals, self._arrivals = self._arrivals, []
            self._hand_over(arrivals)
            del arrivals

    async def confirm_in_turn(self) -> None:
        """Confirm what was taken, whenever it is time to."""
        while True:
            await self._confirm_now.wait()
            accepted = self._durable.accepted
            self._reset()
            await to_thread(self._durable.journal.sync)
            self._acknowledge(self._durable.on_disk(accepted))

    async def work(self) -> None:
        """Make of the rows what the session needs, whenever it needs something."""
        worker = Worker()
        try:
            while True:
                self._work_is_due.clear()
                while (work := self._durable.work) is not None:
                    with self._breathing():
                        made = await worker.run(work)
                    self._durable.proceed(made)
                    del work, made
                    self.wake_senders()
                    self._events.progressed()
                await self._work_is_due.wait()
        finally:
            worker.close()

    @contextmanager
    def _breathing(self) -> Iterator[None]:
        """Say from time to time that work goes on: others wait for this party, not it for them."""
        later = asyncio.get_running_loop().call_later

        def breathe() -> None:
            self._events.more_is_coming()
            timers.append(later(_BREATH, breathe))

        timers = [later(_BREATH, breathe)]
        try:
            yield
        finally:
            timers[-1].cancel()

    def _hand_over(self, arrivals: list[Arrival]) -> None:
        before = self._durable.accepted
        refusals = self._durable.accept(arrivals)
        if self._durable.work is not None:
            self._work_is_due.set()
        for refused in refusals:
            self._events.tell_once(
                refused.peer, f"message {refused.number} refused: {refused.reason}", "message"
            )
            self._from[refused.peer].break_off(refused.reason)
        if self._durable.accepted == before:  # what is refused again and again is not progress
            return
        self.wake_senders()
        self._events.progressed()
        self._unconfirmed += sum(len(arrival.message) for arrival in arrivals)
        if self._unconfirmed > _MOST_UNCONFIRMED or any(map(self._durable.heard_all, self._from)):
            self._confirm_now.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._confirm_now.set)

    def confirm(self) -> None:
        """Acknowledge everything taken so far, before anything else happens."""
        self._reset()
        self._acknowledge(self._durable.confirm())

    def _reset(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._unconfirmed = None, 0
        self._confirm_now.clear()

    def _acknowledge(self, peers: Iterable[str]) -> None:
        for peer in peers:
            self._from[peer].wake.set()

    def wake_senders(self) -> None:
        """Send what was released."""
        for peer in self._durable.take_written_to():
            self._to[peer].wake.set()


def _by_peer(links: LinkStatuses, role: Role) -> dict[str, LinkStatus]:
    return {link.peer: link for link in links.values() if link.role is role}
