"""Taking in: whatever arrives in one turn of the event loop goes to the desk in one transaction.

Messages are confirmed later, many at a time: nobody waits for it but the memory of the sender, and
each confirmation costs both ends a message and this one a wait for the disk.
"""

# Rule 1: only the desk decides what is taken.
# Rule 2: a message that is refused costs the stream it came on, and nothing else. Any other error
#         ends the run.
# Rule 3: messages are confirmed after a moment; at once when they are many bytes, or somebody's
#         last.

from __future__ import annotations

import asyncio

from titan.party.desk import Arrival, Desk
from titan.party.line import Line, Lines
from titan.party.news import News
from titan.party.wire import MOST_CHUNK, Role

_MOMENT = 0.1  # seconds
_MOST_UNCONFIRMED = MOST_CHUNK  # bytes


class Intake:
    """Where all links of a party put the messages that came along them."""

    def __init__(self, desk: Desk, lines: Lines, news: News) -> None:
        self._desk = desk
        self._to = _by_peer(lines, Role.SENDER)
        self._from = _by_peer(lines, Role.RECEIVER)
        self._news = news
        self._arrivals: list[Arrival] = []
        self._unconfirmed = 0  # bytes
        self._alarm: asyncio.TimerHandle | None = None
        self._it_is_time = False
        self._woken = asyncio.Event()

    def add(self, arrival: Arrival) -> None:
        self._arrivals.append(arrival)
        self._woken.set()

    async def run(self) -> None:
        """Hand over to the desk whatever has arrived, and confirm what it took."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            if self._arrivals:
                arrivals, self._arrivals = self._arrivals, []
                self._hand_over(arrivals)
                del arrivals
            if self._it_is_time:
                self.confirm()

    def _hand_over(self, arrivals: list[Arrival]) -> None:
        before = self._accepted()
        for refused in self._desk.accept(arrivals):
            self._news.tell_once(
                refused.peer, f"message {refused.number} refused: {refused.reason}"
            )
            self._from[refused.peer].break_off(refused.reason)
        if self._accepted() == before:  # what is refused again and again is no news
            return
        self.stir()
        self._news.progressed()
        self._unconfirmed += sum(len(arrival.message) for arrival in arrivals)
        if self._unconfirmed > _MOST_UNCONFIRMED or any(map(self._desk.heard_all, self._from)):
            self._it_is_time = True
        elif self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(_MOMENT, self._ring)

    def _ring(self) -> None:
        self._it_is_time = True
        self._woken.set()

    def confirm(self) -> None:
        """Acknowledge everything taken so far."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._it_is_time, self._unconfirmed = None, False, 0
        for peer in self._desk.confirm():
            self._from[peer].stirred.set()

    def stir(self) -> None:
        """Send what was put out."""
        for peer in self._desk.take_fresh():
            self._to[peer].stirred.set()

    def _accepted(self) -> list[int]:
        return [self._desk.accepted(peer) for peer in self._desk.incoming]


def _by_peer(lines: Lines, role: Role) -> dict[str, Line]:
    return {line.peer: line for line in lines.values() if line.role is role}
