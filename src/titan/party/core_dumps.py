"""No core dumps of a process that holds keys, masks and rows.

On Linux neither the process nor whoever crashes it on purpose gets its memory into a file, and no
other process of the same user may attach to it or read its memory. Elsewhere on POSIX the limit of
core files is zero. On Windows nothing is done.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

_PR_SET_DUMPABLE = 4


def no_core_dumps() -> None:
    """For this process, from now on. What the system refuses is not worth an error."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # a limit of zero does not count where dumps go to a program
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
