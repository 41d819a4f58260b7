"""A party at work: all its links and its desk, from the first dial until it leaves.

    connecting ─► conversation ─► intake ─► desk
                       ▲                     │
                       └─ line.stirred ◄─────┘

Everybody reports to `news`, and whoever waits for the run waits there.
"""

# Rule 1: only the desk decides what is taken and what may leave.
# Rule 2: a peer's fault costs its stream, never the process. What is wrong here, or with the run,
#         ends the run with an error.
# Rule 3: whatever was begun here has ended when the party has left.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from titan.errors import FileError, PeerError
from titan.party.connecting import Connections
from titan.party.conversation import FAREWELL
from titan.party.desk import Desk
from titan.party.greeting import Greeting
from titan.party.intake import Intake
from titan.party.line import lines_of
from titan.party.news import News, Watch
from titan.party.standing import Standing
from titan.study import Identity, Study

__all__ = ["Engine", "Watch"]


class Engine:
    """Runs one party's links until told to stop; an asynchronous context manager."""

    def __init__(
        self,
        study: Study,
        identity: Identity,
        desk: Desk,
        greeting: Greeting,
        *,
        listen: str,
        watch: Watch,
        standing: Callable[[], Standing],
    ) -> None:
        self._listen = listen
        self._standing = standing
        lines = lines_of(study, identity.name)
        self._lines = list(lines.values())
        self._news = News(watch, standing)
        self._intake = Intake(desk, lines, self._news)
        self._connections = Connections(
            study, identity, greeting, lines, desk, self._intake, self._news
        )
        self._tasks: list[asyncio.Task[None]] = []

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Engine:
        await self._connections.listen(self._listen)
        self._spawn(self._intake.run())
        for line in self._lines:
            if line.dials:
                self._spawn(self._connections.dial(line))
        return self

    async def __aexit__(self, failed: object, *_: object) -> None:
        if not failed and self._news.failure is None:
            with suppress(FileError):  # what is not confirmed, others will send again
                self._intake.confirm()
        for line in self._lines:
            line.leave()
        conversations = [line.conversation for line in self._lines if line.conversation]
        if conversations and self._news.failure is None:
            await asyncio.wait(conversations, timeout=2 * FAREWELL)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._connections.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._note_failure)
        self._tasks.append(task)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._news.fail(task.exception())

    def stir(self) -> None:
        """Something was put out."""
        self._intake.stir()

    # -- how far it is ------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool], wait: float) -> None:
        """Take part until something holds; PeerError after `wait` seconds without news."""
        if not await self._news.until(condition, wait):
            raise self._waited_in_vain(wait)

    @property
    def connected(self) -> bool:
        """Every link has been up."""
        return all(line.ever_up for line in self._lines)

    @property
    def closed(self) -> bool:
        """Nobody will say anything more, and everybody knows."""
        return all(line.closed for line in self._lines)

    @property
    def bytes_written(self) -> int:
        """To all links, after hello."""
        return sum(line.bytes_written for line in self._lines)

    def _waited_in_vain(self, wait: float) -> PeerError:
        standing = self._standing()
        troubles = [f"{n}: {why}" for n, why in self._troubles(standing.waiting)]
        return PeerError(
            f"nothing came for {wait:g} seconds ({standing})"
            + (f"; {'; '.join(troubles)}" if troubles else ""),
            hint="there is no answer, and the journal is kept: the same command goes on from here",
        )

    def _troubles(self, first: Sequence[str]) -> list[tuple[str, str]]:
        """Whose link is down, and why; those who are waited for come first."""
        found: dict[str, str] = {}
        for line in self._lines:
            if not line.up:
                found[line.peer] = line.trouble or found.get(line.peer, "")
        order = [n for n in first if n in found] + [n for n in found if n not in first]
        return [(name, found[name] or "no connection yet") for name in order]
