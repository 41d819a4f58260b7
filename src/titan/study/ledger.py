"""The ledger: what a party has taken part in, so that two studies do not expose what one hides.

A sum hides each party among the others, and each row among the rows. Differences of sums do not:
where two studies differ by one party, it is that party's part; where they differ by a few rows of
one party, it is those rows; and what no two answers show, a combination of many may. So before
anything of a study leaves, own rows are grouped by the set of questions, of this study and of
earlier ones on some of the same columns, that used them, and parties by the studies that they took
part in (`titan.study.row_classes`). Refused is a study that makes

    a class of own rows of fewer than max(k, rows per parameter × parameters), the largest of the
    questions compared, unless all of these used it: then no combination shows it alone; or
    a class of parties of fewer than τ + 2, since τ who collude can take out their own.

Everything that was recorded counts, also runs that came to nothing: masked vectors may have left.
Vetoes are counted by the columns that a question reads and by the rows (`titan.study.vetoes`).

How rows are recognised (`titan.study.row_digests`). Two rows are the same if they agree on all
columns that the earlier question used, as values on the grid that this ledger fixed when a column
was first used. Those columns are looked up in today's file, used or not; one that is not there by
name is looked for by its values among the columns that are new. So it does not matter whether a
file is CSV or Parquet, in which order its rows and columns stand, which unused columns it has, how
columns are called, or how finely a study states them. Where a column of the earlier question is
nowhere in today's file, rows cannot be matched: then the common columns are compared one by one,
and the most by which one of them differs counts.

What it does not see: a value that was edited makes another row; renamed columns of few values (a
flag) have nothing to be recognised by; renamed columns whose rows have changed by as many as a
class needs, or that were stated more finely at once, are other columns; where a file lacks earlier
columns, studies are compared in pairs only; other machines' ledgers; what others did with their
rows. What it refuses without need: different people who agree in all that can be compared, where
that is little (the numbers of men and women in two years). The digests of rows are keyed, and the
key is in the file.
"""

# Rule 1: a study is in the ledger before its first masked vector leaves, in the transaction that
#         found no conflict.
# Rule 2: an error names studies and parties, never rows nor how many differ.

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import FileError
from titan.protocol.masking import fresh_key
from titan.study.crossing import Divided
from titan.study.differencing import (
    Conflict,
    EarlierQuestion,
    LedgerQuestion,
    conflicts,
    crossing,
    read_before,
    refusal_of,
)
from titan.study.ledger_rows import LedgerRows
from titan.study.row_digests import RowKey
from titan.study.vetoes import Vetoes, of_refusals

_KEPT = 2
"""What `vetoed` is where this party refused before any sum of its columns left it."""
_MEND = (
    "correct the rows, and agree with the others on a question of other columns: the ledgers of "
    "those who took part in these runs count these vetoes as well, and do not take this question "
    "on the rows that they used"
)


@dataclass(frozen=True)
class Recorded:
    """A run as its owner may look at it: no rows and no digests."""

    study: str
    title: str
    run: int
    date: str
    parties: tuple[str, ...]
    tau: int
    questions: tuple[tuple[str, str], ...]
    allowed: bool
    vetoed: bool


class Ledger(LedgerRows):
    """One party's ledger, across studies; processes take turns."""

    @classmethod
    def open(cls, path: str | PathLike[str], row_key: RowKey | None = None) -> Ledger:
        """Open or create the file; FileError if it is not a ledger.

        With what `key_for` gave, rows must be looked at in that way here.
        """
        ledger = cls(path, row_key)
        if row_key is not None and ledger.row_key != row_key:
            done = "made" if ledger.row_key.secret != row_key.secret else "written"
            ledger.close()
            raise FileError(
                f'the ledger "{path}" was {done} by another process just now',
                hint="give the same command again",
            )
        return ledger

    @classmethod
    def key_for(cls, path: str | PathLike[str]) -> RowKey:
        """How the ledger there looks at rows, or one that is made only if rows are used will."""
        if not Path(path).exists():
            return RowKey(fresh_key())
        with cls.open(path) as ledger:
            return ledger.row_key

    @property
    def row_key(self) -> RowKey:
        """The secret under which rows are digested here, and what each column was at first."""
        (key,) = self._one("SELECT row_key FROM ledger")
        columns = self._all("SELECT name, content FROM columns")
        return RowKey(bytes(key), {name: self._read(content) for name, content in columns})

    # -- studies ------------------------------------------------------------------------------

    def check(self, entries: Sequence[LedgerQuestion]) -> list[Conflict]:
        """All conflicts of a study's questions, with earlier ones and among each other."""
        own = {
            (each.study, each.run, each.model, each.rows.fingerprint, _json(each.parties))
            for each in entries
        }
        earlier = [
            (each, model)
            for each, model, digest in self._earlier()
            if (each.study, each.run, model, digest, _json(each.parties)) not in own
        ]
        found = conflicts(entries, [each for each, _ in earlier])
        return list(dict.fromkeys([*found, *crossing(entries, earlier)]))

    def _earlier(self, *, vetoed: bool = False) -> Iterator[tuple[EarlierQuestion, str, bytes]]:
        """What was recorded, with its words and the digest of its rows; or only what was vetoed."""
        for model, digest, columns, parties, study, title, run, tau, least, at, told in self._all(
            "SELECT model, sha256, columns, parties, runs.study, title, runs.run, tau, minimum, "
            "row_set, content FROM entries JOIN runs ON entries.run = runs.place "
            "JOIN row_sets ON row_set = row_sets.place LEFT JOIN divided "
            "ON divided.study = runs.study AND divided.question = entries.question "
            "WHERE vetoed OR NOT ? ORDER BY entries.place",
            vetoed,
        ):
            who, names = self._read(parties), tuple(self._read(columns))
            more = names, self._before(at), self._divided(told)
            yield EarlierQuestion(study, title, run, who, tau, least, *more), model, digest

    def _divided(self, content: str | None) -> tuple[Divided, ...]:
        """None where it divides by no number, or was written by an earlier program."""
        try:
            return tuple(map(Divided.from_state, self._read(content))) if content else ()
        except (ValueError, TypeError, ZeroDivisionError):
            self._refuse_damaged()

    def vetoes(self, entries: Sequence[LedgerQuestion]) -> Vetoes:
        """Those of other runs that stand against these questions."""
        found = [(each, digest) for each, _, digest in self._earlier(vetoed=True)]
        mine = {(entry.study, entry.run) for entry in entries}
        found = [(e, digest) for e, digest in found if (e.study, e.run) not in mine]
        questions: dict[str, int] = {}
        by_column: dict[str, set[tuple[str, int]]] = {}
        for entry in entries:
            own, read = entry.rows.fingerprint, read_before(entry, [each for each, _ in found])
            same = {(each.study, each.run) for each, digest in found if digest == own}
            questions[entry.question] = len(same)
            for (each, _), columns in zip(found, read, strict=True):
                for name in columns:
                    by_column.setdefault(name, set()).add((each.study, each.run))
        return Vetoes(questions, {name: len(runs) for name, runs in by_column.items()})

    def record(
        self,
        entries: Sequence[LedgerQuestion],
        *,
        allow_differencing: bool = False,
        nonce: bytes = b"",
        date: str = "",
    ) -> Vetoes:
        """Write a study down, or refuse it: call this before the first masked vector leaves.

        With `allow_differencing` it is written down whatever the conflicts. A run that is in the
        ledger with the same rows (resumed after a crash) is left as it is. `nonce` is that of the
        run's journal, which alone can prove that nothing left. Returned are the vetoes so far.
        """
        with self.batch():
            vetoes = self.vetoes(entries)
            vetoes.check({entry.question: entry.model for entry in entries})
            found = self.check(entries)
            if found and not allow_differencing:
                raise refusal_of(entries[0], found)
            for entry in entries:
                self._store(entry, date, allowed=bool(found))
                self._do(
                    "INSERT OR IGNORE INTO journals "
                    "SELECT place, ? FROM runs WHERE study = ? AND run = ?",
                    nonce, entry.study, entry.run,
                )  # fmt: skip
        return vetoes

    def has_rows_of(self, entry: LedgerQuestion) -> bool | None:
        """Whether its question was recorded in its run with just these rows.

        None where the run is not in this ledger.
        """
        stored = self._all(
            "SELECT sha256 FROM entries JOIN runs ON entries.run = runs.place "
            "JOIN row_sets ON row_set = row_sets.place "
            "WHERE study = ? AND runs.run = ? AND model = ?",
            entry.study, entry.run, entry.model,
        )  # fmt: skip
        return (entry.rows.fingerprint,) in stored if stored else None

    def recorded(self) -> list[Recorded]:
        """All runs, in the order in which they were written down."""
        found = []
        for place, study, title, run, date, parties, tau, allowed, vetoed in self._all(
            "SELECT place, study, title, run, date, parties, tau, allowed, vetoed FROM runs "
            "ORDER BY place"
        ):
            asked = self._all(
                "SELECT question, model FROM entries WHERE run = ? ORDER BY place", place
            )
            names, questions = tuple(self._read(parties)), tuple(dict(asked).items())
            flags = {"allowed": bool(allowed), "vetoed": bool(vetoed)}
            found.append(Recorded(study, title, run, date, names, tau, questions, **flags))
        return found

    def asked(self, study: str, run: int) -> list[str]:
        """The questions of all other runs, each once, but for those it refused itself."""
        found = self._all(
            "SELECT DISTINCT model FROM entries JOIN runs ON entries.run = runs.place "
            "WHERE NOT (study = ? AND runs.run = ?) AND vetoed != ? ORDER BY model",
            study, run, _KEPT,
        )  # fmt: skip
        return [model for (model,) in found]

    def known_keys(self) -> dict[str, list[str]]:
        """Every party of earlier runs, with the fingerprints it was known by, the latest last."""
        found: dict[str, list[str]] = {}
        for (parties,) in self._all("SELECT parties FROM runs ORDER BY place"):
            for name, fingerprint in self._read(parties).items():
                keys = found.setdefault(name, [])
                found[name] = [*(key for key in keys if key != fingerprint), fingerprint]
        return found

    def forget_other_rows(
        self, study: str, run: int, nonce: bytes, entries: Sequence[LedgerQuestion]
    ) -> None:
        """Withdraw a run that is here with other rows than these, before they are recorded.

        The journal with this nonce must prove that nothing left. Rows that can be used, as these,
        take the place of some that could not, too.
        """
        with self.batch():
            known = self._one("SELECT 1 FROM runs WHERE study = ? AND run = ?", study, run)
            if known and not (entries and all(map(self.has_rows_of, entries))):
                self.withdraw(study, run, nonce)
            if entries:
                self._do("DELETE FROM refusals WHERE study = ? AND run = ?", study, run)

    def mark_vetoed(self, study: str, run: int, *, kept: bool = False) -> None:
        """All parties learned that somebody refuses; a run counts once.

        With `kept` it was this party, and no more than counts of its rows has left.
        """
        with self.batch():
            how = _KEPT if kept else 1
            self._do("UPDATE runs SET vetoed = ? WHERE study = ? AND run = ?", how, study, run)

    def record_refusal(
        self, study: str, run: int, asked: Mapping[str, tuple[str, Sequence[str]]]
    ) -> Vetoes:
        """Write down that rows which cannot be used (out of range) stand against these questions,
        by name: in their words, and the columns that they read. After three runs in which they did,
        or nine for any column, this party stays away. Returned are the vetoes before.

        Whoever states ranges could else find the largest value, one veto after the other.
        """
        with self.batch():
            found = [(each[:2], each[2]) for each in self.refusals() if each[:2] != (study, run)]
            sets = {name: sorted(columns) for name, (_, columns) in asked.items()}
            vetoes = of_refusals(found, sets)
            vetoes.check({name: words for name, (words, _) in asked.items()}, hint=_MEND)
            for own in sets.values():
                self._do("INSERT OR IGNORE INTO refusals VALUES (?, ?, ?)", study, run, _json(own))
        return vetoes

    def refused(self, study: str, run: int) -> bool:
        """Whether this party's rows could not be used in a run, which it vetoed."""
        return any(each[:2] == (study, run) for each in self.refusals())

    def refusals(self) -> list[tuple[str, int, list[str]]]:
        """Study, run and columns of every question that rows here could not be used for."""
        found = self._all("SELECT study, run, columns FROM refusals ORDER BY rowid")
        return [(study, run, self._read(columns)) for study, run, columns in found]

    # -- storage ------------------------------------------------------------------------------

    def _store(self, entry: LedgerQuestion, date: str, *, allowed: bool) -> None:
        if self.has_rows_of(entry):
            return
        for name, content in entry.columns.items():
            self._do("INSERT OR IGNORE INTO columns VALUES (?, ?)", name, _json(content))
        self._do(
            "INSERT OR IGNORE INTO runs (study, title, run, parties, tau, date, allowed, vetoed) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            entry.study, entry.title, entry.run, _json(entry.parties), entry.tau, date, allowed,
        )  # fmt: skip
        self._do(
            "INSERT INTO entries (run, question, model, minimum, row_set) "
            "SELECT place, ?, ?, ?, ? FROM runs WHERE study = ? AND run = ?",
            entry.question, entry.model, entry.minimum, self._row_set(entry.rows),
            entry.study, entry.run,
        )  # fmt: skip
        if entry.divided:  # the same whenever the study is
            told = _json([each.state for each in entry.divided])
            what = entry.study, entry.question, told
            self._do("INSERT OR IGNORE INTO divided VALUES (?, ?, ?)", *what)


def _json(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)
