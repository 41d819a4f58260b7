"""Modules that are needed later, imported while other things are done."""

# Rule: only in a process of our own, and where no other process is forked from it: a fork would
#       wait for ever for a module that was half imported.

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread


def import_meanwhile(name: str) -> None:
    """In a thread; whoever imports it then waits for the rest, and meets what is wrong with it."""

    def work() -> None:
        with suppress(Exception):
            import_module(name)

    if name not in sys.modules:
        Thread(target=work, name="titan-import").start()
