"""Ports on loopback that nobody else takes meanwhile.

A port that the system hands out (`bind` to 0) is free for a moment only: the next connection that
anybody dials may take it as its own end.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator


def free_port() -> int:
    """One below those that the system hands out by itself."""
    while True:
        port = next(_PORTS)
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _ports() -> Iterator[int]:
    """In turn, from a window of this process's own: others look for ports at the same moment."""
    while True:
        first = 10_000 + os.getpid() % 50 * 200
        yield from range(first, first + 200)  # a rehearsal takes higher ones


_PORTS = _ports()
