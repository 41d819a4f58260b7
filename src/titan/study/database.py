"""Small SQLite files for their owner's eyes: mode 600, durable, deleted content overwritten."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

from titan.errors import FileError

_SECONDS_TO_WAIT = 30  # for a writer's turn
_PAGE_BYTES = 1 << 14  # vectors of megabytes are written in half the time of pages of 4 KiB


class Database:
    """One file and the transactions on it.

    With `exclusive` no other process can open it until this one closes it or dies, however it
    dies: the lock is the operating system's. Without, writers take turns. Calls may come from
    several threads: a lock keeps them apart.
    """

    what: str  # its name in errors
    identity: int  # marks its first page: what it is, and of which version
    schema: str

    def __init__(self, path: str | PathLike[str], *, exclusive: bool) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._depth = 0
        _make_private(self.path, self.what)
        with explained(self.path, self.what):
            self._connection = sqlite3.connect(
                self.path,
                timeout=0 if exclusive else _SECONDS_TO_WAIT,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with explained(self.path, self.what):
                _settle(self._connection, exclusive)
            with self.batch():
                self._lay_out()
        except BaseException:
            self._connection.close()
            raise

    def _lay_out(self) -> None:
        """Lay out an empty file; refuse a file that is something else."""
        (found,) = self._one("PRAGMA application_id")
        if not found and not self._one("SELECT 1 FROM sqlite_master"):
            for statement in self.schema.split(";"):
                self._do(statement)
            self._do(f"PRAGMA application_id = {self.identity}")
        elif found != self.identity:
            _refuse(self.path, self.what, "it is something else, or of another version")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self.path)!r}>"

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything inside reaches the disk together, in one transaction, or not at all.

        One wait for the disk then serves many changes. Batches nest; the outermost counts. Never
        await inside one: whatever else runs in this thread would join it.
        """
        with self._lock, explained(self.path, self.what):
            outermost = not self._depth
            if outermost:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
                if outermost:
                    self._commit()
            except BaseException:
                if outermost and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def _do(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)

    def _one(self, statement: str, *values: object) -> Any:
        with self._lock, explained(self.path, self.what):
            return self._connection.execute(statement, values).fetchone()

    def _all(self, statement: str, *values: object) -> list[Any]:
        with self._lock, explained(self.path, self.what):
            return self._connection.execute(statement, values).fetchall()


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
