"""Long bodies of frames: one behind the other in a file of their own beside the journal.

SQLite would copy a vector into pages, sum each page up, write it to its log and later once more to
the file. Here it is written once. A record is its length, a check, and its bytes, and begins where
a block of the disk does. A long one goes past the system's cache, where the system allows that: to
find memory there costs several times what the disk itself does, and nobody reads it soon.

Nobody waits for a record to be written but whoever waits for its acknowledgement: until then it is
in memory, and its sender has it too. What is acknowledged has been written and waited for (`sync`).
After a kill or a power cut a row may be there whose record is not, or not whole: its check tells,
and the row goes, with all rows after it. None of them was acknowledged, so they come again.
"""

# Rule 1: a record has one place, told when it is taken; it is never moved or overwritten.
# Rule 2: nothing secret is in here but sealed; what fills a record's last block is zeros.
# Rule 3: records are written in their order, in any thread, and one thread at a time.
# Rule 4: what is closed stays closed: places told since would be told twice.

from __future__ import annotations

import errno
import os
import struct
from collections import deque
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import RLock

import numpy as np

from titan.files import sync_folder
from titan.protocol.messages import Payload

_HEAD = struct.Struct("<QQ")
_WORD = np.dtype("<u8")
_BLOCK = 1 << 12  # bytes of the disk, and of memory that it writes from
_LONG = 1 << 18  # bytes; less is not worth the wait
_AT_ONCE = 1 << 20
_MOST_UNWRITTEN = 1 << 25  # bytes; then whoever brings more waits for the disk
_PAST_CACHE = getattr(os, "O_DIRECT", 0)


class Vectors:
    """The file; made when there is something to write. All calls raise OSError where it fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._past_cache: int | None = None  # the same file, opened so
        self._end = 0
        self._unsynced = self._unnamed = False  # at the disk: records, and the file's name
        self._unwritten: deque[tuple[int, Payload]] = deque()
        self._taken = self._written = 0  # bytes
        self._why_closed = ""
        self._writing = RLock()

    def append(self, body: Payload) -> int:
        """Take a record; where it will be."""
        at = self.end
        self._end = at + _HEAD.size + len(body)
        self._unwritten.append((at, body))
        self._taken += len(body)
        self._unsynced = True
        if self._taken - self._written > _MOST_UNWRITTEN:
            self.write()
        return at

    def write(self) -> None:
        """Write what was taken so far."""
        with self._writing:
            while self._unwritten:
                at, body = self._unwritten[0]  # it stays there if this fails
                head = _HEAD.pack(len(body), _check(body))
                if len(body) < _LONG or not self._write_past_cache(at, head, body):
                    _write(self._opened(), at, head, body)
                self._written += len(body)
                self._unwritten.popleft()

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
            whole = _whole_blocks(filled)
            self._staging[filled:whole] = bytes(whole - filled)
            try:
                _write(self._past_cache, at, self._staging[:whole])
            except OSError as error:  # this file system wants it otherwise
                if error.errno != errno.EINVAL:
                    raise
                return False
            at, filled = at + filled, 0
        return True

    @cached_property
    def _staging(self) -> memoryview:
        """Of the memory that this process has at hand: a mapping of its own would be fetched page
        by page."""
        room = np.empty(_AT_ONCE + _BLOCK, np.uint8)
        start = -room.ctypes.data % _BLOCK
        return room[start : start + _AT_ONCE].data

    @property
    def end(self) -> int:
        """Where the next record will be."""
        self._opened(os.O_CREAT)
        return _whole_blocks(self._end)

    def read(self, at: int) -> bytes | None:
        """The record that is there; None if it is not, or not whole."""
        with self._writing:
            self.write()
            return self._read(at)

    def _read(self, at: int) -> bytes | None:
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
            self.write()
            os.fsync(self._file)
            if self._unnamed:
                sync_folder(self.path.parent)
                self._unnamed = False

    def close(self, why: str = "it is closed") -> None:
        """What was not written is lost."""
        with self._writing:
            self._why_closed = self._why_closed or why
            self._unwritten.clear()
            if self._file is not None:
                os.close(self._file)
            if self._past_cache is not None:
                os.close(self._past_cache)
            self._file = self._past_cache = None

    def _opened(self, flag: int = 0) -> int:
        file = self._file  # which another thread may close
        if file is None:
            with self._writing:
                file = self._file if self._file is not None else self._open(flag)
        return file

    def _open(self, flag: int) -> int:
        if self._why_closed:
            raise OSError(errno.EBADF, self._why_closed)
        file = os.open(self.path, os.O_RDWR | flag, 0o600)
        self._unsynced = self._unnamed = True  # an earlier process may not have waited
        self._end = os.fstat(file).st_size
        with suppress(OSError):
            if _PAST_CACHE:
                self._past_cache = os.open(self.path, os.O_RDWR | _PAST_CACHE)
        self._file = file  # last: whoever sees it asks no further
        return file


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
