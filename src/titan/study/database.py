"""Small SQLite files for their owner's eyes: mode 600, durable, deleted content overwritten.

What is committed outlives the process, whatever kills it. What must outlive the machine's power too
has to reach the disk, and a wait for the disk is dear: a file with a writer of its own waits only
when told to (`sync`), any other at each commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

from titan.errors import BusyError, FileError
from titan.files import attempt

SQLITE = b"SQLite format 3\x00"  # how every such file begins
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
        self._in_batch = False
        self._log: int | None = None
        self._why_no_log = "others write it too"
        self._made = _make_private(self.path, self.what)
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
            if exclusive:
                self._log = _open_log(self.path, self.what)
                _sync_directory(self.path.parent)
        except BaseException:
            Database.close(self)
            raise

    @property
    def _empty(self) -> bool:
        """A file of no bytes is a database without tables to SQLite."""
        (found,) = self._one("PRAGMA application_id")
        return not found and not self._one("SELECT 1 FROM sqlite_master")

    def _lay_out(self) -> None:
        """Lay out an empty file; refuse a file that is something else."""
        (found,) = self._one("PRAGMA application_id")
        if self._empty:
            for statement in self.schema.split(";"):
                self._do(statement)
            self._do(f"PRAGMA application_id = {self.identity}")
        elif found != self.identity:
            _refuse(self.path, self.what, "it is something else, or of another version")

    def sync(self) -> None:
        """Wait until everything committed is on the disk; where that failed once, it fails.

        For a file with a writer of its own. How far the disk itself keeps its word is the system's
        affair: on macOS it may answer from its cache.
        """
        if self._log is None:
            _refuse(self.path, self.what, self._why_no_log)
        try:
            os.fsync(self._log)
        except OSError as error:  # the system tells it once, and the next wait would succeed
            self._close_log((error.strerror or "the disk fails").lower())
            _refuse(self.path, self.what, self._why_no_log)

    def _close_log(self, why: str) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log, self._why_no_log = None, why

    def close(self) -> None:
        with self._lock:
            self._close_log("it is closed")
            self._connection.close()  # which leaves nothing in the log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self.path)!r}>"

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything inside is written together, in one transaction, or not at all.

        Batches nest; the outermost counts. Never await inside one: whatever else runs in this
        thread would join it.
        """
        with self._lock:
            if self._in_batch:
                yield
                return
            with explained(self.path, self.what):
                self._connection.execute("BEGIN IMMEDIATE")
                self._in_batch = True
                try:
                    yield
                    self._commit()
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
                finally:
                    self._in_batch = False

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


def _make_private(place: Path, what: str) -> bool:
    """Create the file with mode 600 before SQLite sees it; -wal and -shm inherit that mode.

    Whether it was created just now.
    """
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not place.is_file():
            _refuse(place, what, "it is not a file")
        if os.name == "posix" and place.stat().st_mode & 0o077:
            _check_kind(place, what)
            raise FileError(
                f'the {what} "{place}" can be read by people other than its owner',
                hint=f'run: chmod 600 "{place}"',
            ) from None
    except OSError as error:
        _refuse(place, what, (error.strerror or "it cannot be created").lower())
    else:
        os.close(handle)
        _sync_directory(place.parent)
        return True
    return False


def _check_kind(place: Path, what: str) -> None:
    """Refuse something else under its own name: rows, say, need not be made private.

    Not for a file that this process may have open: to close it here would lose SQLite's locks.
    """
    with attempt("read", place), place.open("rb") as file:
        beginning = file.read(len(SQLITE))
    if beginning and beginning != SQLITE:
        _refuse_kind(place, what)


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
    if not exclusive:
        pragma("synchronous = EXTRA")
        return
    pragma("locking_mode = EXCLUSIVE")  # before the first access: no index of the log on the disk
    pragma("journal_mode = WAL")
    pragma("synchronous = NORMAL")  # commits go to the log; see `sync`
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")


def _open_log(place: Path, what: str) -> int:
    """SQLite's write-ahead log, for `sync` alone: no lock hangs on it that closing would lose."""
    try:
        return os.open(f"{place}-wal", os.O_RDWR)
    except OSError as error:
        _refuse(place, what, (error.strerror or "its log cannot be opened").lower())


@contextmanager
def explained(place: Path, what: str) -> Iterator[None]:
    """SQLite's troubles as errors of ours. Its messages name tables at most, never contents."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise BusyError(
                f'another process is using the {what} "{place}"',
                hint="wait until it ends, or stop it; whatever it has written stays",
            ) from None
        _refuse(place, what, str(error))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            _refuse_kind(place, what)
        _refuse(place, what, str(error))


def _refuse(place: Path, what: str, reason: str) -> NoReturn:
    hint = "restore it from a backup; a ledger that is lost is protection that is lost"
    raise FileError(
        f'the {what} "{place}" cannot be used: {reason}', hint=hint if what == "ledger" else ""
    ) from None


def _refuse_kind(place: Path, what: str) -> NoReturn:
    raise FileError(
        f'"{place}" cannot be used: it is not a {what}',
        hint=f"name the {what}; if this was one, it is damaged: restore it from a backup",
    ) from None
