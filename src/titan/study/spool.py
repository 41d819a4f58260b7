"""Long arrays: in memory while they are few, beyond that in a file without a name.

    spool = Spool()
    kept = spool.keep(array)
    kept.load(), kept.load(10, 20)

The file is in the folder for temporary files ($TMPDIR). It loses its name when it is made, so that
nothing is left of it, however its process ends. An array of equal values takes no room.
"""

# Rule 1: what was kept does not change, whatever is kept after it.
# Rule 2: what is kept can be pickled: then it goes as the array that it is.

from __future__ import annotations

import tempfile
import threading
import weakref
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from titan.files import attempt

Array = npt.NDArray[Any]
MOST_HELD = 1 << 28
"""So many bytes of a spool are in memory."""
_ROOM = "make room there, or name a folder with more room in the variable TMPDIR"


class Kept(Protocol):
    """An array, wherever it is."""

    def __len__(self) -> int: ...

    def load(self, start: int = 0, stop: int | None = None) -> Array:
        """Its values, from one place to another; not to be written to."""


@dataclass(frozen=True, eq=False)
class Held:
    """In memory."""

    array: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.array)

    def load(self, start: int = 0, stop: int | None = None) -> Array:
        return self.array[start:stop]


class OpenFile:
    """A file that is read at any place, by one thread at a time."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self.name = file, name
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)

    def read(self, start: int, size: int) -> bytearray:
        found = bytearray(size)
        view, at = memoryview(found), 0
        with self._lock, attempt("read", self.name):
            self._file.seek(start)
            while at < size:
                count = self._file.readinto(view[at:])  # type: ignore[attr-defined]
                if not count:
                    raise OSError("it is shorter than it was")
                at += count
        return found

    def append(self, data: memoryview) -> int:
        """Where it is."""
        with self._lock, attempt("written", self.name, _ROOM):
            start, at = self._file.seek(0, 2), 0
            while at < len(data):
                at += self._file.write(data[at:])
        return start


@dataclass(frozen=True, eq=False)
class InFile:
    """From a place of a file on."""

    file: OpenFile = field(repr=False)
    start: int
    size: int
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.size

    def load(self, start: int = 0, stop: int | None = None) -> Array:
        start, stop, _ = slice(start, stop).indices(self.size)
        width = self.dtype.itemsize
        data = self.file.read(self.start + start * width, max(stop - start, 0) * width)
        return np.frombuffer(data, self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (self.load(),)


class Spool:
    """Keeps arrays of one dimension."""

    def __init__(self, most_held: int | None = None) -> None:
        self._most = MOST_HELD if most_held is None else most_held
        self._held = 0
        self._file: OpenFile | None = None

    def keep(self, array: Array) -> Kept:
        if len(array) > 1 and array[0] == array[-1] and (array == array[0]).all():
            return Held(np.broadcast_to(array[:1].copy(), array.shape))
        if self._held + array.nbytes <= self._most:
            self._held += array.nbytes
            return Held(array)
        if self._file is None:
            self._file = _nameless()
        data = np.ascontiguousarray(array).view(np.uint8).data
        return InFile(self._file, self._file.append(data), len(array), array.dtype)


def _nameless() -> OpenFile:
    folder = tempfile.gettempdir()
    with attempt("written", folder, _ROOM):
        return OpenFile(tempfile.TemporaryFile(buffering=0, prefix="titan-"), folder)
