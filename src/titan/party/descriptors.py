"""File descriptors: how many this process may have."""

from __future__ import annotations

from contextlib import suppress

from titan.files import MORE_DESCRIPTORS

PER_ADDRESS = 512  # connections of who has not shown who it is; a party needs one, for an instant
_ENOUGH = 1 << 20  # descriptors; some systems have no limit, and refuse to be asked for that
NONE_LEFT = f"this process has no file descriptor left; {MORE_DESCRIPTORS}"


def raise_limit() -> int:
    """Raise the soft limit of descriptors to the hard one; the limit that holds then."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return _ENOUGH
    which, unlimited = resource.RLIMIT_NOFILE, resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(which)
    wanted = _ENOUGH if hard == unlimited else hard
    if soft not in (wanted, unlimited):
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(which, (wanted, hard))
            soft = wanted
    return _ENOUGH if soft == unlimited else soft
