"""Many modules: imported without delay, or while other things are done."""

# Rule: in a thread only in a process of our own, and where no other process is forked from it: a
#       fork would wait for ever for a module that was half imported.

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Python's collector would look for unused cycles among modules, and none are unused."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def import_meanwhile(name: str) -> None:
    """In a thread; whoever imports it then waits for the rest, and meets what is wrong with it."""

    def work() -> None:
        with suppress(Exception):
            import_module(name)

    if name not in sys.modules:
        Thread(target=work, name="titan-import").start()
