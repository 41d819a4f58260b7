"""The rows in a ledger: what is kept of those that questions used, and how it is read again.

Digests are sorted, each with how many rows have it, and lie in the file in pieces of one megabyte
each. So a ledger holds as many rows as the disk does, and nobody needs all of them in memory.
"""

# Rule: what is read is what was written, or the ledger is damaged: else rows that were used would
#       seem to be new ones.

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from titan.study.digest_order import Counts, Stretch
from titan.study.ledger_journals import LedgerJournals
from titan.study.matched_rows import Before
from titan.study.row_digests import PARTS, Fingerprint, RowSet

PIECE_DIGESTS = 1 << 17


class LedgerRows(LedgerJournals):
    """The part of a ledger that has rows."""

    def _before(self, row_set: int) -> Before:
        """Its rows, which are read when they are needed."""
        (rows,) = self._one("SELECT rows FROM row_sets WHERE place = ?", row_set)
        reading = partial(self._stretches, row_set), partial(self._parts, row_set)
        return Before(row_set, rows, *reading)

    def _stretches(self, row_set: int) -> Iterator[Stretch]:
        columns, rows, known = self._one(
            "SELECT columns, rows, sha256 FROM row_sets WHERE place = ?", row_set
        )
        found, total, at = Fingerprint(self._read(columns)), 0, 0
        while piece := self._one(
            "SELECT digests, counts FROM row_pieces WHERE row_set = ? AND place = ?", row_set, at
        ):
            stretch = self._stretch(*piece)
            found.add(stretch)
            total += int(stretch.counts.sum())
            at += 1
            yield stretch
        if total != rows or found.digest() != known:
            self._refuse_damaged()

    def _stretch(self, digests: object, counts: object) -> Stretch:
        """A piece without counts is of different rows."""
        words = self._numbers(digests).astype(np.uint64, copy=False)
        if counts is None:
            return Stretch(words, np.broadcast_to(np.int64(1), len(words)))
        each = self._numbers(counts).astype(np.int64)
        if len(each) != len(words) or not len(words) or each.min() < 1:
            self._refuse_damaged()
        return Stretch(words, each)

    def _numbers(self, data: object) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        if not isinstance(data, bytes) or len(data) % 8:
            self._refuse_damaged()
        return np.frombuffer(data, "<u8")

    def _parts(self, row_set: int) -> dict[str, Counts]:
        found = self._all("SELECT name, counts FROM parts WHERE row_set = ?", row_set)
        if any(len(counts) != 8 * PARTS for _, counts in found):
            self._refuse_damaged()
        return {name: self._numbers(counts).astype(np.int64) for name, counts in found}

    def _row_set(self, rows: RowSet) -> int:
        """Where these rows are stored; once, however many studies use them."""
        found = self._one("SELECT place FROM row_sets WHERE sha256 = ?", rows.fingerprint)
        if found is None:
            columns = json.dumps(rows.columns, ensure_ascii=False)
            self._do(
                "INSERT INTO row_sets (sha256, columns, rows) VALUES (?, ?, ?)",
                rows.fingerprint, columns, len(rows),
            )  # fmt: skip
            found = self._one("SELECT place FROM row_sets WHERE sha256 = ?", rows.fingerprint)
            for at, piece in enumerate(_pieces(rows.stretches())):
                self._do("INSERT INTO row_pieces VALUES (?, ?, ?, ?)", *found, at, *_bytes(piece))
            for name, counts in rows.parts.items():
                data = counts.astype("<u8").tobytes()
                self._do("INSERT INTO parts VALUES (?, ?, ?)", *found, name, data)
        return int(found[0])


def _pieces(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    for digests, counts in stretches:
        for start in range(0, len(digests), PIECE_DIGESTS):
            stop = start + PIECE_DIGESTS
            yield Stretch(digests[start:stop], counts[start:stop])


def _bytes(piece: Stretch) -> tuple[bytes, bytes | None]:
    """Digests; and counts, unless all rows are different."""
    digests = piece.digests.astype("<u8", copy=False).tobytes()
    different = bool((piece.counts == 1).all())
    return digests, None if different else piece.counts.astype("<u8").tobytes()
