"""What happens while somebody waits: messages, silence, the error that ends the run.

Links report here; whoever waits is woken, and the person who watches is told.
"""

# Rule 1: the clock is the machine's monotonic one, and all it decides is when to give up waiting.
# Rule 2: of several failures the first is the one that is raised.
# Rule 3: whoever does the same again and again is told of once.

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from titan.party.run_progress import RunProgress


@dataclass
class Watch:
    """Whom to tell what happens: `progress` often, `tell` when something is worth a line."""

    tell: Callable[[str], None] = lambda _: None
    progress: Callable[[RunProgress], None] | None = None


class RunEvents:
    """What was heard of a run, when, and by whom it is awaited."""

    def __init__(self, watch: Watch, progress: Callable[[], RunProgress]) -> None:
        self.failure: Exception | None = None
        self.last_words = b""
        """A chunk that goes out on every stream before this party leaves."""
        self._watch = watch
        self._progress = progress
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._heard = time.monotonic()
        self._told: dict[str, str] = {}  # what was said last of whom

    async def until(self, condition: Callable[[], bool], wait: float) -> bool:
        """Wait until something holds; False after `wait` seconds without news."""
        self._heard = time.monotonic()
        try:
            while self.failure is None and not condition():
                left = self._heard + wait - time.monotonic()
                if left <= 0:
                    return False
                if self._timer is None:  # messages do not move it: when it is up, it is set again
                    self._timer = asyncio.get_running_loop().call_later(left, self._time_is_up)
                self._changed.clear()
                await self._changed.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if self.failure is not None:
            raise self.failure
        return True

    def _time_is_up(self) -> None:
        self._timer = None
        self._changed.set()

    def progressed(self) -> None:
        """A message was taken, here or by another."""
        self._heard = time.monotonic()
        if self._watch.progress is not None:
            self._watch.progress(self._progress())
        self._changed.set()

    def more_is_coming(self) -> None:
        """Part of a long message: nothing to look at yet, but no silence either."""
        self._heard = time.monotonic()

    def changed(self) -> None:
        """Look again whether what you wait for holds; the silence goes on."""
        self._changed.set()

    def fail(self, error: BaseException | None) -> None:
        if self.failure is None and isinstance(error, Exception):
            self.failure = error
        self._changed.set()

    def tell(self, text: str) -> None:
        self._watch.tell(text)

    def tell_once(self, peer: str, text: str) -> None:
        """Whoever tries again every few seconds is not worth a line each time."""
        if self._told.get(peer) != text:
            self._told[peer] = text
            self.tell(f"{peer}: {text}")

    def is_well(self, peer: str) -> None:
        """What is wrong with it next is worth a line, even if it is the same again."""
        self._told.pop(peer, None)
