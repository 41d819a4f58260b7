"""Small SQLite files for their owner's eyes: mode 600, durable, deleted content overwritten."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import NoReturn

from titan.errors import FileError

_PAGE_BYTES = 1 << 14  # vectors of megabytes are written in half the time of pages of 4 KiB


def open_database(
    path: str | PathLike[str], what: str, identity: int, schema: str, *, exclusive: bool
) -> sqlite3.Connection:
    """Open or create the file; `what` is its name in errors, `identity` marks its first page.

    With `exclusive` no other process can open it until this one closes it or dies, however it
    dies: the lock is the operating system's. Without, writers take turns.
    """
    place = Path(path)
    _make_private(place, what)
    with explained(place, what):
        connection = sqlite3.connect(
            place, timeout=0 if exclusive else 30, isolation_level=None, check_same_thread=False
        )
        try:
            _settle(connection, exclusive)
            _lay_out(connection, place, what, identity, schema)
        except BaseException:
            connection.close()
            raise
    return connection


def _make_private(place: Path, what: str) -> None:
    """Create the file with mode 600 before SQLite sees it; -wal and -shm inherit that mode."""
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not place.is_file():
            _refuse(place, what, "it is not a file")
        if os.name == "posix" and place.stat().st_mode & 0o077:
            raise FileError(
                f'the {what} "{place}" can be read by others than its owner',
                hint=f'run: chmod 600 "{place}"',
            ) from None
    except OSError as error:
        _refuse(place, what, (error.strerror or "it cannot be created").lower())
    else:
        os.close(handle)
        _sync_directory(place.parent)


def _sync_directory(directory: Path) -> None:
    """Make the new name itself survive a power cut, where the system offers that."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _settle(connection: sqlite3.Connection, exclusive: bool) -> None:
    def pragma(setting: str) -> None:
        connection.execute(f"PRAGMA {setting}").fetchall()

    pragma(f"page_size = {_PAGE_BYTES}")
    pragma("secure_delete = ON")
    pragma("trusted_schema = OFF")
    if exclusive:  # set before the first access, this also keeps the index of the log off the disk
        pragma("locking_mode = EXCLUSIVE")
        pragma("journal_mode = WAL")
    pragma("synchronous = EXTRA")
    if exclusive:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")


def _lay_out(
    connection: sqlite3.Connection, place: Path, what: str, identity: int, schema: str
) -> None:
    """Lay out an empty file, in one transaction; refuse a file that is something else."""
    connection.execute("BEGIN IMMEDIATE")
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    if empty and not found:
        for statement in schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {identity}")
    elif found != identity:
        _refuse(place, what, "it is something else, or of another version")
    connection.execute("COMMIT")


@contextmanager
def explained(place: Path, what: str) -> Iterator[None]:
    """SQLite's troubles as errors of ours. Its messages name tables at most, never contents."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise FileError(
                f'another process is using the {what} "{place}"',
                hint="wait until it ends, or stop it; whatever it has written stays",
            ) from None
        _refuse(place, what, str(error))
    except sqlite3.DatabaseError as error:
        _refuse(place, what, str(error))


def _refuse(place: Path, what: str, reason: str) -> NoReturn:
    raise FileError(f'the {what} "{place}" cannot be used: {reason}') from None
