"""Taking in: whatever arrives in one turn of the event loop goes to the desk in one transaction."""

# Rule 1: only the desk decides what is taken.
# Rule 2: a message that is refused costs the stream it came on, and nothing else. Any other error
#         ends the run.

from __future__ import annotations

import asyncio

from titan.party.desk import Arrival, Desk
from titan.party.line import Lines
from titan.party.news import News
from titan.party.wire import Role


class Intake:
    """Where all links of a party put the messages that came along them."""

    def __init__(self, desk: Desk, lines: Lines, news: News) -> None:
        self._desk = desk
        self._lines = list(lines.values())
        self._from = {line.peer: line for line in self._lines if line.role is Role.RECEIVER}
        self._news = news
        self._arrivals: list[Arrival] = []
        self._arrived = asyncio.Event()

    def add(self, arrival: Arrival) -> None:
        self._arrivals.append(arrival)
        self._arrived.set()

    async def run(self) -> None:
        """Hand over to the desk whatever has arrived, many messages at a time."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            arrivals, self._arrivals = self._arrivals, []
            before = self._accepted()
            for refused in self._desk.accept(arrivals):
                self._news.tell(
                    f"{refused.peer}: message {refused.number} refused: {refused.reason}"
                )
                self._from[refused.peer].break_off(refused.reason)
            del arrivals
            if self._accepted() != before:  # what is refused again and again is no news
                self.stir()
                self._news.progressed()

    def stir(self) -> None:
        """Messages were put out or taken: send, or acknowledge."""
        for line in self._lines:
            line.stirred.set()

    def _accepted(self) -> list[int]:
        return [self._desk.accepted(peer) for peer in self._desk.incoming]
