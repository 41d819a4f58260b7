"""What the ledger knows of the journals that runs were begun with, each by its nonce."""

from __future__ import annotations

from collections.abc import Iterable

from titan.errors import FileError, ReleaseError
from titan.study.ledger_file import LedgerFile


class LedgerJournals(LedgerFile):
    """The part of a ledger that looks at journals."""

    def note_over(self, study: str, run: int, said: Iterable[bytes] = ()) -> None:
        """A run came to its end here, with an answer or without: it is not begun again.

        What this party `said` of its sums others may still need, should its journal be lost.
        """
        with self.batch():
            self._do("INSERT OR IGNORE INTO over VALUES (?, ?)", study, run)
            for word in said:
                self._do("INSERT OR IGNORE INTO said VALUES (?, ?, ?)", study, run, word)

    def said(self, study: str, run: int) -> list[bytes]:
        """What it had said when a run was over."""
        found = self._all("SELECT word FROM said WHERE study = ? AND run = ?", study, run)
        return [bytes(word) for (word,) in found]

    def is_over(self, study: str, run: int) -> bool:
        """Whether it did; a journal that does not know it is an earlier state, or a new one."""
        return bool(self._all("SELECT 1 FROM over WHERE study = ? AND run = ?", study, run))

    def withdraw(self, study: str, run: int, nonce: bytes) -> None:
        """Forget a run of which the journal with this nonce proves that nothing left."""
        with self.batch():
            found = self._one("SELECT place FROM runs WHERE study = ? AND run = ?", study, run)
            if found is None:
                raise FileError(f"the ledger does not know run {run} of study {study[:12]}")
            if self._all("SELECT nonce FROM journals WHERE run = ?", *found) != [(nonce,)]:
                raise ReleaseError(
                    "the run was begun more than once, and this journal proves nothing about "
                    "the other time",
                    hint="what may have left this machine counts, so the run stays in the ledger",
                )
            for table, key in (("entries", "run"), ("journals", "run"), ("runs", "place")):
                self._do(f"DELETE FROM {table} WHERE {key} = ?", *found)  # noqa: S608 - constants
            self._do("DELETE FROM row_sets WHERE place NOT IN (SELECT row_set FROM entries)")
            for table in ("row_pieces", "parts"):
                kept = "SELECT row_set FROM entries"
                self._do(f"DELETE FROM {table} WHERE row_set NOT IN ({kept})")  # noqa: S608 - constants
