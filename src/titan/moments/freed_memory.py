"""What is freed is used again, instead of being given back and fetched anew.

The C library gives blocks of 128 kB and more back to the system as soon as they are free. Vectors,
messages, buffers of links and columns of rows are such blocks, and each page of one that is
fetched anew is a fault: with vectors of 8 MB these took longer than encryption and arithmetic
together, and a fifth of the time of reading rows.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

import numpy as np

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_OWN_MAPPING = 1 << 25  # bytes from which a block is given back at once; the most that glibc takes
SPARE_FOR_ROWS = 1 << 26
_SPARE = 1 << 28
_BLOCK = 1 << 23  # bytes; NumPy asks for large pages, which are fetched quickly
_kept = 0


def keep_freed_memory(spare: int = _SPARE) -> None:
    """For this process, from now on; where the C library is another one, nothing changes.

    At least so many bytes may be free at the end of a heap.
    """
    global _kept
    if sys.platform == "linux" and spare > _kept:
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING)
            library.mallopt(_M_TRIM_THRESHOLD, spare)
            _kept = spare


def fetch_memory(size: int) -> None:
    """Fetch about so many bytes now, when nobody waits, and free them: who needs them later has
    them at hand. Never more than is kept, and nothing where there is too little: whoever really
    needs it then says so."""
    with contextlib.suppress(MemoryError):
        blocks = [np.empty(_BLOCK, np.uint8) for _ in range(min(size, _kept) // _BLOCK)]
        for block in blocks:
            block.fill(0)
