"""Ports on loopback that nobody else takes meanwhile.

A port that the system hands out (`bind` to 0) is free for a moment only: the next connection that
anybody dials may take it as its own end.
"""

from __future__ import annotations

import itertools
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
    """In turn, from a window of this process's own: others look for ports at the same moment.

    Whose a window is says who listens at its first port.
    """
    for number in itertools.count(os.getpid()):
        first = 10_000 + number % 50 * 200  # a rehearsal takes higher ones
        mark = socket.socket()
        try:
            mark.bind(("127.0.0.1", first))
            mark.listen(1)
        except OSError:
            mark.close()
            continue
        _MARKS.append(mark)
        yield from itertools.cycle(range(first + 1, first + 200))


_MARKS: list[socket.socket] = []  # to the end of the process
_PORTS = _ports()
