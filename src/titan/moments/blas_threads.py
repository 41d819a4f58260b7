"""BLAS without threads of its own while blocks are worked on.

Its products are small here, and two crowds of threads on the same cores wait for each other: with
them a file took up to twenty times the processor's time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_users = 0
_limit = ExitStack()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Until the last of those who are in here leaves."""
    global _users
    with _lock:
        if not _users:
            _limit.enter_context(_libraries().limit(limits=1, user_api="blas"))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limit.close()


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
