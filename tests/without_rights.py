"""As root, without root's way past the modes of files: what cannot be read or written is so for
tests, too, whoever runs them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.pool import Pool

import pytest

_VERSION = 0x20080522  # of Linux's capabilities, with 64 of them
_PAST_MODES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Head(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Half(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


@contextmanager
def where_modes_count(closed: os.PathLike[str]) -> Iterator[Pool]:
    """A process like this one in which `closed`, of mode 0, cannot be read."""
    if os.name != "posix":
        pytest.skip("here every file can be read by its owner")
    with get_context("fork").Pool(1, _give_up) as pool:
        if pool.apply(os.access, (closed, os.R_OK)):
            pytest.skip("root can read every file here, and cannot give that up")
        yield pool


def _give_up() -> None:
    if os.geteuid():
        return
    system = ctypes.CDLL(None)
    head, halves = _Head(_VERSION, 0), (_Half * 2)()
    if not hasattr(system, "capset") or system.capget(ctypes.byref(head), halves):
        return
    halves[0].effective &= ~_PAST_MODES
    halves[0].permitted &= ~_PAST_MODES
    system.capset(ctypes.byref(head), halves)
