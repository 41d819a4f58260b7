"""Signals that end a command, held back while the program is loaded.

A signal that comes before a party can say what it means would end it without a word. So it waits
in the system until somebody listens.
"""

# Rule: nothing is imported here that takes time, since until then signals are not held.

from __future__ import annotations

import signal
from collections.abc import Sequence

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING: Sequence[signal.Signals] = [
    getattr(signal, name) for name in _NAMES if hasattr(signal, name)
]

_before: list[set[int]] = []  # what was held back before


def hold() -> None:
    """From now on, where the system can do that; threads that begin meanwhile never take them."""
    if hasattr(signal, "pthread_sigmask"):
        _before.append(signal.pthread_sigmask(signal.SIG_BLOCK, ENDING))


def release() -> None:
    """Those that came meanwhile come now."""
    while _before:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before.pop())
