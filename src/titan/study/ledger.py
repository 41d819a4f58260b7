"""The ledger: what a party has taken part in, so that two studies do not expose what one hides.

A sum hides each party among the others. The difference of two sums does not: where the studies
differ by one party, it is that party's part; where they differ by a few rows of one party, it is
those rows. With τ parties colluding, who can take out their own parts, a difference of up to τ+1
parties leaves one exposed. So a study is refused if, against any earlier one on overlapping
columns,

    the parties differ by 1 to τ+1 (who joined and who left, counted together), or
    this party's own rows differ by at least one, but fewer than the minimum number of rows
    were taken away and fewer than that added.

The same rows with the same parties are no difference. Everything that was recorded counts, also
runs that came to nothing: masked vectors may have left. The digests of rows are keyed, and the key
is in the file. What a ledger cannot see, docs/privacy.md says.
"""

# Rule 1: a study is in the ledger before its first masked vector leaves, in the transaction that
#         found no conflict.
# Rule 2: an error names studies and parties, never rows nor how many differ.

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from titan.errors import FileError, ReleaseError
from titan.protocol.masking import fresh_key
from titan.study.database import Database
from titan.study.row_digests import RowDigests

_SCHEMA = """
CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), row_key BLOB NOT NULL);
CREATE TABLE entries (
    place INTEGER PRIMARY KEY, study TEXT NOT NULL, title TEXT NOT NULL, run INTEGER NOT NULL,
    parties TEXT NOT NULL, tau INTEGER NOT NULL, minimum INTEGER NOT NULL, columns TEXT NOT NULL,
    model TEXT NOT NULL, allowed INTEGER NOT NULL);
CREATE TABLE row_sets (
    place INTEGER PRIMARY KEY, sha256 BLOB UNIQUE NOT NULL, count INTEGER NOT NULL,
    digests BLOB NOT NULL);
CREATE TABLE entry_rows (
    entry INTEGER NOT NULL, view TEXT NOT NULL, row_set INTEGER NOT NULL,
    PRIMARY KEY (entry, view))
"""
_SHOWN = 12  # hex digits of a study's digest


@dataclass(frozen=True)
class Entry:
    """One run of one study, as the ledger sees it.

    `parties` maps names to certificate fingerprints. `columns` are those of the data that the
    model uses. `rows` maps a way of looking at rows to their digests: whole records ("record")
    catch another model on nearly the same rows, the used columns alone (under a name that lists
    them) catch the same model after other columns were edited. Views of one name are compared.
    """

    study: str
    title: str
    run: int
    parties: Mapping[str, str]
    tau: int
    minimum: int
    columns: frozenset[str]
    model: str
    rows: Mapping[str, RowDigests]


@dataclass(frozen=True)
class Conflict:
    """An earlier study whose difference from this one would expose somebody."""

    study: str
    title: str
    run: int
    reason: Literal["parties", "rows"]
    parties: tuple[str, ...] = ()  # who is in one of the two only

    def __str__(self) -> str:
        earlier = f"study {self.title!r} ({self.study[:_SHOWN]}, run {self.run})"
        if self.reason == "rows":
            return f"only a few of this party's rows differ from those it used in {earlier}"
        return f"its parties differ from those of {earlier} only by {', '.join(self.parties)}"


@dataclass(frozen=True)
class _Earlier:
    """An entry as stored; its rows are read when needed."""

    parties: dict[str, str]
    columns: frozenset[str]
    place: int
    study: str
    title: str
    run: int
    tau: int
    minimum: int
    model: str


class Ledger(Database):
    """One party's ledger, across studies; processes take turns."""

    what = "ledger"
    identity = 0x54_4C_00_02  # "TL", version 2
    schema = _SCHEMA

    def __init__(self, path: str | PathLike[str], row_key: bytes | None = None) -> None:
        self._new_key = row_key or fresh_key()
        super().__init__(path, exclusive=False)

    @classmethod
    def open(cls, path: str | PathLike[str], row_key: bytes | None = None) -> Ledger:
        """Open or create the file; FileError if it is not a ledger.

        With a key that `key_for` gave, it must be the one under which rows are digested here.
        """
        ledger = cls(path, row_key)
        if row_key is not None and ledger.row_key != row_key:
            ledger.close()
            raise FileError(
                f'the ledger "{path}" was made by another process just now',
                hint="give the same command again",
            )
        return ledger

    @classmethod
    def key_for(cls, path: str | PathLike[str]) -> bytes:
        """The key of the ledger there, or one for a ledger that is made only if rows are used."""
        if not Path(path).exists():
            return fresh_key()
        with cls.open(path) as ledger:
            return ledger.row_key

    def _lay_out(self) -> None:
        super()._lay_out()
        if self._one("SELECT 1 FROM ledger") is None:
            self._do("INSERT INTO ledger VALUES (1, ?)", self._new_key)

    @property
    def row_key(self) -> bytes:
        """The secret under which the digests of rows in this ledger are made."""
        (key,) = self._one("SELECT row_key FROM ledger")
        return bytes(key)

    def check(self, entry: Entry) -> list[Conflict]:
        """All conflicts with earlier studies; an empty list if there are none."""
        return [
            conflict
            for earlier in self._entries()
            if not earlier.columns.isdisjoint(entry.columns)
            for conflict in self._conflicts(earlier, entry)
        ]

    def record(self, entry: Entry, *, allow_differencing: bool = False) -> None:
        """Write the study down, or refuse it: call this before the first masked vector leaves.

        With `allow_differencing` it is written down whatever the conflicts. A run that is in the
        ledger with the same rows (resumed after a crash) is left as it is.
        """
        with self.batch():
            conflicts = self.check(entry)
            same_run = [c for c in conflicts if (c.study, c.run) == (entry.study, entry.run)]
            if same_run and not allow_differencing:
                raise ReleaseError(
                    "two questions of this study use rows of this party that differ by only a few",
                    hint="agree on questions that leave out the same rows (gaps in other columns "
                    "leave out others); or, if what differs may be known to all parties, say so: "
                    "allow_differencing=True",
                )
            if conflicts and not allow_differencing:
                raise ReleaseError(
                    "the answer could be subtracted from an earlier one: "
                    + "; ".join(map(str, conflicts)),
                    hint="use the same rows and parties as then; or, if what differs may be known "
                    "to all parties, say so: allow_differencing=True",
                )
            if not self.has_rows_of(entry):
                self._store(entry, allowed=bool(conflicts))

    # -- conflicts ----------------------------------------------------------------------------

    def _conflicts(self, earlier: _Earlier, entry: Entry) -> Iterator[Conflict]:
        who = earlier.study, earlier.title, earlier.run
        differing = _differing(earlier.parties, entry.parties, max(earlier.tau, entry.tau))
        if differing:
            yield Conflict(*who, "parties", differing)
        if self._few_rows_differ(earlier, entry):
            yield Conflict(*who, "rows")

    def _few_rows_differ(self, earlier: _Earlier, entry: Entry) -> bool:
        minimum = max(earlier.minimum, entry.minimum)
        for view, rows in entry.rows.items():
            stored = self._one(
                "SELECT row_set, count FROM entry_rows JOIN row_sets ON row_set = row_sets.place "
                "WHERE entry = ? AND view = ?",
                earlier.place, view,
            )  # fmt: skip
            if stored is None or abs(stored[1] - len(rows)) >= minimum:
                continue  # nothing to compare, or that many rows more are enough to hide in
            (digests,) = self._one("SELECT digests FROM row_sets WHERE place = ?", stored[0])
            if 0 < rows.change(RowDigests.decode(digests)) < minimum:
                return True
        return False

    # -- storage ------------------------------------------------------------------------------

    def _entries(self) -> list[_Earlier]:
        rows = self._all(
            "SELECT parties, columns, place, study, title, run, tau, minimum, model FROM entries "
            "ORDER BY place"
        )
        return [
            _Earlier(json.loads(parties), frozenset(json.loads(columns)), *rest)
            for parties, columns, *rest in rows
        ]

    def has_rows_of(self, entry: Entry) -> bool | None:
        """Whether its question was recorded in its run with just these rows, in the entry's views.

        None where the run is not in this ledger.
        """
        sets = {view: _fingerprint(rows.encode()) for view, rows in entry.rows.items()}
        stored = [
            dict(
                self._all(
                    "SELECT view, sha256 FROM entry_rows JOIN row_sets "
                    "ON row_set = row_sets.place WHERE entry = ?",
                    earlier.place,
                )
            )
            for earlier in self._entries()
            if (earlier.study, earlier.run, earlier.model) == (entry.study, entry.run, entry.model)
        ]
        return any(sets.items() <= found.items() for found in stored) if stored else None

    def _store(self, entry: Entry, *, allowed: bool) -> None:
        (place,) = self._one("SELECT coalesce(max(place), 0) + 1 FROM entries")
        self._do(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            place, entry.study, entry.title, entry.run, json.dumps(dict(entry.parties)),
            entry.tau, entry.minimum, json.dumps(sorted(entry.columns)), entry.model, allowed,
        )  # fmt: skip
        for view, rows in entry.rows.items():
            self._do("INSERT INTO entry_rows VALUES (?, ?, ?)", place, view, self._row_set(rows))

    def _row_set(self, rows: RowDigests) -> int:
        """Where these rows are stored; once, however many studies use them."""
        data = rows.encode()
        sha256 = _fingerprint(data)
        self._do(
            "INSERT OR IGNORE INTO row_sets (sha256, count, digests) VALUES (?, ?, ?)",
            sha256, len(rows), data,
        )  # fmt: skip
        (place,) = self._one("SELECT place FROM row_sets WHERE sha256 = ?", sha256)
        return int(place)


def _fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _differing(before: Mapping[str, str], now: Mapping[str, str], tau: int) -> tuple[str, ...]:
    """Who is in one study only, if they are 1 to τ+1; else nobody.

    A party is the same if its name or its certificate is: parties that were renamed, or have new
    certificates, must not drown the one that is really missing.
    """
    names, certificates = before.keys() & now.keys(), {*before.values()} & {*now.values()}
    one_sided = {
        name
        for parties in (before, now)
        for name, certificate in parties.items()
        if name not in names and certificate not in certificates
    }
    return tuple(sorted(one_sided)) if 1 <= len(one_sided) <= tau + 1 else ()
