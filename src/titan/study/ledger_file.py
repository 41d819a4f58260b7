"""The file of a ledger: how it is made, and how one is known that is empty, damaged or another."""

# Rule 1: a new ledger has its name only when it is whole. So a file without contents is not one
#         that was never filled, whatever was killed, cut off or full: it has lost what it knew.

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from os import PathLike
from typing import Any, NoReturn

from titan import files
from titan.errors import DamagedError, FileError
from titan.protocol.masking import fresh_key
from titan.study.database import Database, refuse
from titan.study.row_digests import RowKey

_SCHEMA = """
CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), row_key BLOB NOT NULL);
CREATE TABLE columns (name TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE runs (
    place INTEGER PRIMARY KEY, study TEXT NOT NULL, title TEXT NOT NULL, run INTEGER NOT NULL,
    parties TEXT NOT NULL, tau INTEGER NOT NULL, date TEXT NOT NULL,
    allowed INTEGER NOT NULL, vetoed INTEGER NOT NULL, UNIQUE (study, run));
CREATE TABLE journals (run INTEGER NOT NULL, nonce BLOB NOT NULL, PRIMARY KEY (run, nonce));
CREATE TABLE entries (
    place INTEGER PRIMARY KEY, run INTEGER NOT NULL, question TEXT NOT NULL, model TEXT NOT NULL,
    minimum INTEGER NOT NULL, row_set INTEGER NOT NULL);
CREATE TABLE row_sets (
    place INTEGER PRIMARY KEY, sha256 BLOB UNIQUE NOT NULL, columns TEXT NOT NULL,
    rows INTEGER NOT NULL);
CREATE TABLE row_pieces (
    row_set INTEGER NOT NULL, place INTEGER NOT NULL, digests BLOB NOT NULL, counts BLOB,
    PRIMARY KEY (row_set, place));
CREATE TABLE refusals (
    study TEXT NOT NULL, run INTEGER NOT NULL, columns TEXT NOT NULL,
    PRIMARY KEY (study, run, columns));
CREATE TABLE parts (
    row_set INTEGER NOT NULL, name TEXT NOT NULL, counts BLOB NOT NULL,
    PRIMARY KEY (row_set, name))
"""
_VERSION = 5


class LedgerFile(Database):
    """A ledger, without what is written into it."""

    what = "ledger"
    identity = 0x54_4C_00_00 + _VERSION  # "TL"
    schema = _SCHEMA

    def __init__(self, path: str | PathLike[str], row_key: RowKey | None = None) -> None:
        self._new_key = row_key.secret if row_key else fresh_key()
        super().__init__(path, exclusive=False)

    def _make(self) -> None:
        if not self.path.exists():
            try:
                files.write(self.path, self._new(), mode=0o600)
            except FileError:
                if not self.path.exists():  # else another process was quicker
                    raise
            files.sync_folder(self.path.parent)
        super()._make()

    def _new(self) -> bytes:
        with closing(sqlite3.connect(":memory:")) as made:
            made.executescript(f"{self.schema}; PRAGMA application_id = {self.identity}")
            made.execute("INSERT INTO ledger VALUES (1, ?)", (self._new_key,))
            made.commit()
            return made.serialize()

    def _lay_out(self) -> None:
        (found,) = self._one("PRAGMA application_id")
        if found >> 16 == self.identity >> 16 and found != self.identity:
            raise FileError(
                f'the ledger "{self.path}" is of another version ({found & 0xFFFF}, where '
                f"{_VERSION} was expected)",
                hint="its rows cannot be compared with today's: keep it, and name a new one with "
                "--ledger; it knows nothing of the studies in the old one, so you must",
            )
        if self._empty:
            raise FileError(
                f'the ledger "{self.path}" is empty: what it knew of earlier studies is lost',
                hint="restore it from a backup; only if this party has never taken part in a "
                "study, delete the file and give the same command again",
            )
        super()._lay_out()
        if self._one("PRAGMA quick_check(1)") != ("ok",) or not self._one("SELECT 1 FROM ledger"):
            self._refuse_damaged()
        self._do(
            "CREATE TABLE IF NOT EXISTS divided (study TEXT NOT NULL, question TEXT NOT NULL, "
            "content TEXT NOT NULL, PRIMARY KEY (study, question))"
        )
        for table, more in (("over", ""), ("said", "word BLOB NOT NULL, ")):
            key = "study, run" + ", word" * bool(more)
            self._do(  # which ledgers made before did not have
                f"CREATE TABLE IF NOT EXISTS {table} "
                f"(study TEXT NOT NULL, run INTEGER NOT NULL, {more}PRIMARY KEY ({key}))"
            )
        self._check_key()

    def _check_key(self) -> None:
        """Under another key all rows that were used would seem to be new ones."""
        self._do(  # which ledgers made before did not have: then it is this key that counts
            "CREATE TABLE IF NOT EXISTS key_check "
            "(one INTEGER PRIMARY KEY CHECK (one = 1), sha256 BLOB NOT NULL)"
        )
        (key,) = self._one("SELECT row_key FROM ledger")
        if not isinstance(key, bytes):
            self._refuse_damaged()
        digest, known = sha256(key).digest(), self._one("SELECT sha256 FROM key_check")
        if not known:
            self._do("INSERT OR IGNORE INTO key_check VALUES (1, ?)", digest)
        elif known != (digest,):
            self._refuse_damaged()

    def _read(self, text: Any) -> Any:
        try:
            return json.loads(text)
        except (ValueError, TypeError):
            self._refuse_damaged()

    def _refuse_damaged(self) -> NoReturn:
        refuse(self.path, self.what, "it is damaged", DamagedError)
