"""Files: written whole or not at all, and what the system says against it as an error in words."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from titan.errors import FileError, FullError, InputError
from titan.replacing import kept, not_a_file

MORE_DESCRIPTORS = "raise the limit of file descriptors: ulimit -n, or LimitNOFILE= of a service"
MORE_ROOM = "make room on the disk; then the same command goes on"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def attempt(what: str, path: object, hint: str = "") -> Iterator[None]:
    """`rows.csv cannot be read: is a directory`."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        kind = FullError if error.errno in _FULL else FileError
        found = kind(f"{path} cannot be {what}: {reason}", hint=hint or advice(error))
        found.errno = error.errno
        raise found from None


def advice(error: OSError) -> str:
    """What to do about it, where that is the same whatever was wanted."""
    if error.errno in _FULL:
        return MORE_ROOM
    return MORE_DESCRIPTORS if error.errno in (errno.EMFILE, errno.ENFILE) else ""


def write(
    path: Path, data: bytes, *, mode: int = 0o666, force: bool = False, own: str = ""
) -> None:
    """Write a file that has its mode from its first moment on.

    With `force` an older one is replaced in one step, without it a place that is taken is refused.
    With either, what `titan.replacing` names is refused, unless it is of the writer's `own` kind.
    """
    write_stream(path, [data], mode=mode, force=force, own=own)


def write_stream(
    path: Path,
    pieces: Iterable[bytes],
    *,
    mode: int = 0o666,
    force: bool = False,
    own: str = "",
) -> int:
    """The same, of pieces that are made while it is written; how many bytes it has."""
    check_replaceable(path, own=own)
    place = linked(path) if force else path
    hint = "" if place.parent.is_dir() else f"make the folder first: mkdir -p {place.parent}"
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    with attempt("written", path, hint):
        fresh.unlink(missing_ok=True)  # of a process that was killed and had the same number
        try:
            size = write_all(fresh, pieces, mode)
            fresh.replace(place) if force else _name(fresh, path)
        except FileExistsError:
            raise FileError(f"{path} exists already", hint="force=True replaces it") from None
        finally:
            fresh.unlink(missing_ok=True)  # half a file is worse than none
    return size


def linked(path: Path) -> Path:
    """Of a symbolic link what it leads to, since that is what is written."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def check_replaceable(
    path: Path, *, own: str = "", error: Callable[..., InputError] = FileError
) -> None:
    """Refuse a place of which `titan.replacing` knows why nothing can be written over it."""
    with attempt("written", path):
        found = not_a_file(path)
    if found:
        raise error(f"{path} cannot be written: it is {found}", hint="name a file")
    unknown = "what is there cannot be looked at, so it is not replaced: name another file"
    with attempt("read", path, unknown):
        why = kept(path, own)
    if why is not None:
        raise error(f"{path} is {why[0]}, and is not replaced", hint=f"name another file; {why[1]}")


def write_all(
    path: Path, pieces: Iterable[bytes], mode: int, *, flags: int = os.O_CREAT | os.O_EXCL
) -> int:
    """Write all of it and wait for the disk; on a full one, a system may take a part in silence."""
    handle = os.open(path, os.O_WRONLY | flags, mode)
    with os.fdopen(handle, "wb") as file:
        size = sum(map(file.write, pieces))
        file.flush()
        os.fsync(file.fileno())
    return size


def _name(fresh: Path, path: Path) -> None:
    """Give a file its name unless that is taken, as one step where the file system has links."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError from None
        fresh.rename(path)


def sync_folder(folder: Path) -> None:
    """Make names made or removed in it survive a power cut, where the system offers that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
