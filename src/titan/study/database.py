"""Small SQLite files for their owner's eyes: mode 600, durable, deleted content overwritten.

What is committed outlives the process, whatever kills it. What must outlive the machine's power too
has to reach the disk, and a wait for the disk is dear: a file with a writer of its own waits only
when told to (`sync`), any other at each commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

from titan.errors import BusyError, DamagedError, FileError, FullError, TitanError
from titan.files import MORE_ROOM, attempt, sync_folder
from titan.replacing import SQLITE

_SECONDS_TO_WAIT = 30  # for a writer's turn
# What SQLite says of the machine, of others and of rights, by its primary codes: PERM, BUSY,
# LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, AUTH. All else is the file's.
_NOT_THE_FILE = frozenset({3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 23})
_RIGHTS = frozenset({3, 8, 14})  # of those, what missing rights may cause: PERM, READONLY, CANTOPEN
_FULL = ("disk is full", "no space left", "quota exceeded")  # as SQLite and the system say it
_PAGE_BYTES = 1 << 12  # a message changes five of them
_LOG_PAGES = 1 << 12  # 16 MiB: what is committed is moved out of the log when nobody waits for it


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
        self._batch = _Batch(self)
        self._log: int | None = None
        self._log_lock = threading.RLock()  # `sync` may run beside everything else but `close`
        self._why_no_log = "others write it too"
        self._make()
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
                sync_folder(self.path.parent)
        except BaseException:
            Database.close(self)
            raise

    def _make(self) -> None:
        """Make the file, if it is not there."""
        _make_private(self.path, self.what)

    @property
    def _empty(self) -> bool:
        """A file of no bytes is a database without tables to SQLite."""
        (found,) = self._one("PRAGMA application_id")
        return not found and not self._one("SELECT 1 FROM sqlite_master")

    @property
    def _has_its_tables(self) -> bool:
        """Whether its tables are those of this program's schema, and no others."""
        found = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {sql for (sql,) in found} == {each.strip() for each in self.schema.split(";")} - {""}

    def _lay_out(self) -> None:
        """Lay out an empty file; refuse a file that is something else."""
        (found,) = self._one("PRAGMA application_id")
        if self._empty:
            for statement in self.schema.split(";"):
                self._do(statement)
            self._do(f"PRAGMA application_id = {self.identity}")
        elif found != self.identity:
            reason = "it is something else, or of another version"
            refuse(self.path, self.what, reason, DamagedError)

    def sync(self) -> None:
        """Wait until everything committed is on the disk; where that failed once, it fails.

        For a file with a writer of its own, and in any thread: transactions do not wait for it. How
        far the disk itself keeps its word is the system's affair: on macOS it may answer from its
        cache.
        """
        self._sync(self._sync_beside)

    def sync_rows(self) -> None:
        """The same, but for what stands in other files."""
        self._sync(lambda: None)

    def _sync(self, beside: Callable[[], None]) -> None:
        with self._log_lock:
            if self._log is None:
                refuse(self.path, self.what, self._why_no_log)
            try:
                beside()
                os.fsync(self._log)
            except OSError as error:  # the system tells it once, and the next wait would succeed
                self._close_log((error.strerror or "the disk fails").lower())
                refuse(self.path, self.what, self._why_no_log)

    def _sync_beside(self) -> None:
        """What must be on the disk before the log: nothing, unless there is another file."""

    def _close_log(self, why: str) -> None:
        with self._log_lock:
            if self._log is not None:
                os.close(self._log)
                self._log, self._why_no_log = None, why

    def _truncate_log(self) -> None:
        """Move everything out of the log, and cut it off."""
        busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError("the log could not be emptied")

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

    def batch(self) -> AbstractContextManager[None]:
        """Everything inside is written together, in one transaction, or not at all.

        Batches nest; the outermost counts. Never await inside one: whatever else runs in this
        thread would join it.
        """
        return self._batch

    def _begin(self) -> None:
        with explained(self.path, self.what):
            self._connection.execute("BEGIN IMMEDIATE")

    def _end(self, error: BaseException | None) -> None:
        """Commit, or roll back; what SQLite or the system raised is explained."""
        with explained(self.path, self.what):
            try:
                if error is None:
                    self._commit()
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error | OSError):
                raise error

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


class _Batch(AbstractContextManager[None]):
    """`Database.batch`: entered for every message several times, so it is not a generator."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.depth = 0

    def __enter__(self) -> None:
        database = self._database
        database._lock.acquire()
        try:
            if not self.depth:
                database._begin()
        except BaseException:
            database._lock.release()
            raise
        self.depth += 1

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        database = self._database
        try:
            if self.depth == 1:
                database._end(error)
        finally:
            self.depth -= 1
            database._lock.release()


def _make_private(place: Path, what: str) -> None:
    """Create the file with mode 600 before SQLite sees it; -wal and -shm inherit that mode."""
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not place.is_file():
            refuse(place, what, "it is not a file")
        if os.name == "posix" and place.stat().st_mode & 0o077:
            _check_kind(place, what)
            raise FileError(
                f'the {what} "{place}" can be read by people other than its owner',
                hint=f'run: chmod 600 "{place}"',
            ) from None
    except OSError as error:
        refuse(place, what, (error.strerror or "it cannot be created").lower())
    else:
        os.close(handle)
        sync_folder(place.parent)


def _check_kind(place: Path, what: str) -> None:
    """Refuse something else under its own name: rows, say, need not be made private.

    Not for a file that this process may have open: to close it here would lose SQLite's locks.
    """
    with attempt("read", place), place.open("rb") as file:
        beginning = file.read(len(SQLITE))
    if beginning and beginning != SQLITE:
        _refuse_kind(place, what)


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
    pragma(f"wal_autocheckpoint = {_LOG_PAGES}")
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")


def _open_log(place: Path, what: str) -> int:
    """SQLite's write-ahead log, for `sync` alone: no lock hangs on it that closing would lose."""
    try:
        return os.open(f"{place}-wal", os.O_RDWR)
    except OSError as error:
        refuse(place, what, (error.strerror or "its log cannot be opened").lower())


@contextmanager
def explained(place: Path, what: str) -> Iterator[None]:
    """SQLite's troubles as errors of ours, and what a damaged file makes Python stumble over.

    SQLite's messages name tables at most; those of Python's own part of it show contents.
    """
    try:
        yield
    except OSError as error:
        refuse(place, what, (error.strerror or "the disk fails").lower())
    except UnicodeDecodeError:
        damaged(place, what)
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and "decode" in str(error):
            damaged(place, what)
        if code is None:
            refuse(place, what, str(error))
        code &= 0xFF  # without what SQLite adds to it
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise BusyError(
                f'another process is using the {what} "{place}"',
                hint="wait until it ends, or stop it; whatever it has written stays",
            ) from None
        if code == sqlite3.SQLITE_NOTADB:
            _refuse_kind(place, what)
        reason = "permission denied" if code in _RIGHTS and _denied(place) else str(error)
        refuse(place, what, reason, FileError if code in _NOT_THE_FILE else DamagedError)


def _denied(place: Path) -> bool:
    return place.exists() and not os.access(place, os.R_OK | os.W_OK)


@contextmanager
def as_written(place: Path, what: str) -> Iterator[None]:
    """What is read may be of another kind than what was written, where a disk has changed it."""
    try:
        yield
    except TitanError:
        raise
    except (TypeError, ValueError):
        damaged(place, what)


def damaged(place: Path, what: str) -> NoReturn:
    refuse(place, what, "it is damaged", DamagedError)


def refuse(place: Path, what: str, reason: str, kind: type[FileError] = FileError) -> NoReturn:
    if any(words in reason for words in _FULL):
        raise FullError(
            f'the {what} "{place}" cannot be written: {reason}',
            hint=MORE_ROOM,
        ) from None
    hint = "restore it from a backup: without it, nothing is compared with earlier answers"
    if "full" in reason:
        hint = "make room on the disk, then give the same command again"
    elif reason == "permission denied":
        hint = "let the user who gives this command read and write it; it is still what it was"
    elif what == "journal":
        hint = "if it is damaged, its run cannot go on: agree with the others on the next one"
    raise kind(f'the {what} "{place}" cannot be used: {reason}', hint=hint) from None


def _refuse_kind(place: Path, what: str) -> NoReturn:
    kind = DamagedError if what == "journal" else FileError  # a journal is ours, whatever it is now
    raise kind(
        f'"{place}" cannot be used: it is not a {what}',
        hint=f"name the {what}; if this was one, it is damaged: restore it from a backup",
    ) from None
