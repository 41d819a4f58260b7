"""Long bodies of frames: one behind the other in a file of their own beside the journal.

SQLite would copy a vector into pages, sum each page up, write it to its log and later once more to
the file. Here it is written once. A record is its length, a check, and its bytes, and begins where
a block of the disk does. A long one goes past the system's cache, where the system allows that: to
find memory there costs several times what the disk itself does, and nobody reads it soon.

The journal's rows and these records reach the disk each in its own time. What is acknowledged has
been waited for on both sides (`sync`). After a power cut a row may be there whose record is not,
or not whole: its check tells, and the row goes, with all rows after it. None of them was
acknowledged, so they come again.
"""

# Rule 1: a record is written before its row is committed, and never moved or overwritten.
# Rule 2: nothing secret is in here but sealed.

from __future__ import annotations

import errno
import mmap
import os
import struct
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np

from titan.files import sync_folder
from titan.protocol.messages import Payload

_HEAD = struct.Struct("<QQ")
_WORD = np.dtype("<u8")
_BLOCK = 1 << 12  # bytes of the disk, and of memory that it writes from
_LONG = 1 << 18  # bytes; less is not worth the wait
_AT_ONCE = 1 << 20
_PAST_CACHE = getattr(os, "O_DIRECT", 0)


class Vectors:
    """The file; made when there is something to write. All calls raise OSError where it fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._past_cache: int | None = None  # the same file, opened so
        self._end = 0
        self._unsynced = self._unnamed = False  # at the disk: records, and the file's name

    def append(self, body: Payload) -> int:
        """Write a record; where it is."""
        file, at = self._opened(os.O_CREAT), self.end
        head = _HEAD.pack(len(body), _check(body))
        if len(body) < _LONG or not self._write_past_cache(at, head, body):
            _write(file, at, head, body)
        self._end = at + _HEAD.size + len(body)
        self._unsynced = True
        return at

    def _write_past_cache(self, at: int, head: bytes, body: Payload) -> bool:
        """From memory that begins where a block does, and in whole blocks. False: it cannot be."""
        if self._past_cache is None:
            return False
        rest, filled = memoryview(body), len(head)
        self._staging[:filled] = head
        while filled or rest:
            some = rest[: _AT_ONCE - filled]
            self._staging[filled : filled + len(some)] = some
            rest, filled = rest[len(some) :], filled + len(some)
            try:
                _write(self._past_cache, at, self._staging[: _whole_blocks(filled)])
            except OSError as error:  # this file system wants it otherwise
                if error.errno != errno.EINVAL:
                    raise
                return False
            at, filled = at + filled, 0
        return True

    @cached_property
    def _staging(self) -> memoryview:
        return memoryview(mmap.mmap(-1, _AT_ONCE))

    @property
    def end(self) -> int:
        """Where the next record will be."""
        self._opened(os.O_CREAT)
        return _whole_blocks(self._end)

    def read(self, at: int) -> bytes | None:
        """The record that is there; None if it is not, or not whole."""
        try:
            file = self._opened()
        except FileNotFoundError:
            return None
        head = os.pread(file, _HEAD.size, at)
        if len(head) < _HEAD.size:
            return None
        length, check = _HEAD.unpack(head)
        if not length or at + _HEAD.size + length > self._end:  # a lost page reads as zeros
            return None
        body = bytearray(length)
        filled = 0
        while filled < length and (
            got := os.preadv(file, [memoryview(body)[filled:]], at + _HEAD.size + filled)
        ):
            filled += got
        return bytes(body) if filled == length and _check(body) == check else None

    def sync(self) -> None:
        """Wait until the disk has all records, also an earlier process' own; in any thread."""
        if self._file is None and self.path.exists():
            self._opened()
        if self._file is not None and self._unsynced:
            self._unsynced = False
            os.fsync(self._file)
            if self._unnamed:
                sync_folder(self.path.parent)
                self._unnamed = False

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        if self._past_cache is not None:
            os.close(self._past_cache)
        self._file = self._past_cache = None

    def _opened(self, flag: int = 0) -> int:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | flag, 0o600)
            self._unsynced = self._unnamed = True  # an earlier process may not have waited
            self._end = os.fstat(self._file).st_size
            with suppress(OSError):
                if _PAST_CACHE:
                    self._past_cache = os.open(self.path, os.O_RDWR | _PAST_CACHE)
        return self._file


def _whole_blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _write(file: int, at: int, *parts: Payload) -> None:
    done, size = os.pwritev(file, parts, at), sum(map(len, parts))
    if done < size:  # the rest, or why it cannot be
        rest = memoryview(b"".join(parts))[done:]
        _write(file, at + done, rest)


def _check(body: Payload | bytearray) -> int:
    """The sum of its words: masked or sealed bytes are uniform, and lost pages read as zeros."""
    whole = len(body) // _WORD.itemsize * _WORD.itemsize
    words = np.frombuffer(body, _WORD, whole // _WORD.itemsize)
    rest = int.from_bytes(memoryview(body)[whole:], "little")
    return (int(np.add.reduce(words)) + rest) % 2**64
