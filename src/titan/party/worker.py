"""One thread beside the event loop, for what is made of rows while messages come and go.

An executor would do, and costs a sum of ten parties a twentieth of its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_Due = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Worker:
    """Does one thing after the other; what is under way when it is closed is left to itself."""

    def __init__(self) -> None:
        self._due: SimpleQueue[_Due | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """What it returns, or raises."""
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = Thread(target=_work, args=(self._due, loop), daemon=True)
            self._thread.start()
        made: asyncio.Future[T] = loop.create_future()
        self._due.put((work, made))
        return await made

    def close(self) -> None:
        self._due.put(None)


def _work(all_due: SimpleQueue[_Due | None], loop: asyncio.AbstractEventLoop) -> None:
    while (due := all_due.get()) is not None:
        work, made = due
        found, failed = None, None
        try:
            found = work()
        except BaseException as error:
            failed = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, made, found, failed)
        del due, work, made, found, failed  # vectors are not kept until there is more to do


def _tell(made: asyncio.Future[Any], found: Any, failed: BaseException | None) -> None:
    if made.done():  # it was cancelled
        return
    if failed is None:
        made.set_result(found)
    else:
        made.set_exception(failed)
