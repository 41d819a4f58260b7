"""Something that happens very often, done now and then: at last with what was so at last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from titan.party.notices import RateLimit

T = TypeVar("T")


class Throttle(Generic[T]):
    """Inside an event loop: does it at once so many times, then no more than every `seconds`."""

    def __init__(self, do: Callable[[T], None], burst: int, seconds: float) -> None:
        self._do = do
        self._seconds = seconds
        self._limit = RateLimit(burst, seconds)
        self._last: list[T] = []
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, value: T) -> None:
        self._last = [value]
        if self._timer is None:
            self._look()

    def _look(self) -> None:
        self._timer = None
        if not self._last:
            return
        if self._limit.passes(("", ""), time.monotonic()) is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)
        else:
            self._do(self._last.pop())

    def forget(self) -> None:
        """What was not done yet is not done any more."""
        self._last = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
