"""Executors for tests: nothing depends on which thread is faster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Elsewhere(Executor):
    """As other processes would: all that goes there and comes back is pickled.

    `_max_workers` pieces wait until the first answer is asked for; then the last one is done first.
    """

    def __init__(self, workers: int = 2) -> None:
        self._max_workers = workers
        self.waiting: list[Later] = []
        self.most = 0
        """The most that waited at a time."""
        self.sizes: list[int] = []
        """Bytes of all that was sent."""
        self.done = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        sent = pickle.dumps((fn, args))
        self.sizes.append(len(sent))
        later = Later(self, sent)
        self.waiting.append(later)
        self.most = max(self.most, len(self.waiting))
        return later

    def work(self) -> None:
        """The last that was submitted comes first."""
        for later in reversed(self.waiting):
            later.do()
            self.done += 1
        self.waiting.clear()


class Later(Future[Any]):
    """What is done when an answer is wanted."""

    def __init__(self, executor: Elsewhere, sent: bytes) -> None:
        super().__init__()
        self.executor, self.sent = executor, sent

    def do(self) -> None:
        fn, args = pickle.loads(self.sent)  # noqa: S301 - one's own
        try:
            answer = fn(*args)
        except Exception as error:
            self.set_exception(pickle.loads(pickle.dumps(error)))  # noqa: S301 - the same
        else:
            self.set_result(pickle.loads(pickle.dumps(answer)))  # noqa: S301 - the same

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            self.executor.work()
        return super().result(0)
