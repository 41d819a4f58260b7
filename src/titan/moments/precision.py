"""The precision that flint works with. It is one for the whole process, so threads take turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.RLock()


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Bits of every ball made inside: two answers made at once get the bits each gets alone."""
    import flint

    with _TURN, flint.ctx.workprec(bits):
        yield
