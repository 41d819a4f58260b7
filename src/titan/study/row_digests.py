"""The rows of a party as keyed digests: enough to compare two sets of rows, and no more.

Rows are looked at in two ways. Whole records catch another model on nearly the same rows; the used
columns alone, as the numbers and levels that the model reads, catch the same model after other
columns were edited or the file was written anew in another format. A row that is left out for a gap
is used in neither: where another model leaves one row more out, the two sums differ by that row.

64 bits of a row's digest are kept (see `titan.moments.cell_digests`), under a key that never leaves
the machine. Others cannot choose collisions, since they lack the key; and where two of a million
rows collide by chance (once in 30 million such sets) a count is off by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, FileError
from titan.moments.cell_digests import CellDigests
from titan.moments.reading import Reading
from titan.moments.rows import Count, ModelRows
from titan.moments.sources import BATCH_ROWS, Block

_Words = npt.NDArray[np.uint64]
_CUT = 8  # bytes
_BLOCK_CELLS = 1 << 20
_LEAST_ROWS = 256


@dataclass(frozen=True, eq=False)
class RowDigests:
    """A multiset of rows: a row held twice counts twice, because moments count it twice."""

    digests: _Words  # sorted

    @classmethod
    def of(cls, rows: Sequence[_Words]) -> RowDigests:
        """From the digests of all rows, in any order, cut to their first word."""
        return cls(np.sort(np.concatenate(rows)))

    @classmethod
    def decode(cls, data: bytes) -> RowDigests:
        if len(data) % _CUT:
            raise FileError("the ledger's digests of rows are damaged")
        return cls(np.frombuffer(data, "<u8").astype(np.uint64))

    def encode(self) -> bytes:
        return self.digests.astype("<u8", copy=False).tobytes()

    def __len__(self) -> int:
        return len(self.digests)

    def __repr__(self) -> str:
        return f"<RowDigests of {len(self)} rows>"

    def change(self, other: RowDigests) -> int:
        """The larger of: rows only here, rows only there. 0 if the two are the same rows."""
        if np.array_equal(self.digests, other.digests):  # as most often
            return 0
        return max(len(self), len(other)) - self._common(other)

    def _common(self, other: RowDigests) -> int:
        """How many rows both have, a row held a and b times counting min(a, b)."""
        here, times_here = np.unique(self.digests, return_counts=True)
        there, times_there = np.unique(other.digests, return_counts=True)
        _, i, j = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        return int(np.minimum(times_here[i], times_there[j]).sum())


@dataclass(frozen=True)
class UsedRows:
    """The rows that a model uses, looked at in both ways."""

    records: RowDigests
    values: RowDigests


@dataclass(frozen=True, repr=False)
class _Part:
    records: tuple[_Words, ...]
    values: tuple[_Words, ...]
    count: Count

    def __add__(self, other: _Part) -> _Part:
        values = self.values + other.values
        return _Part(self.records + other.records, values, self.count + other.count)


@dataclass(frozen=True)
class DigestRows(Reading[_Part, UsedRows]):
    """The digests of the rows that a model uses; their records are all columns of the source.

    Where there is no model all rows count, and the used columns are named.
    """

    rows: ModelRows | tuple[str, ...]
    records: Sequence[str]
    key: bytes = field(repr=False)

    @property
    def columns(self) -> Sequence[str]:
        return self.records

    @property
    def size(self) -> int:
        return max(_LEAST_ROWS, min(BATCH_ROWS, _BLOCK_CELLS // len(self.records)))

    def block(self, rows: Block) -> _Part:
        digests = CellDigests(self.key)
        held = {name: digests.held(rows.cells[name]) for name in self.records}
        record = digests.rows(held.values())[:, 0]
        if not isinstance(self.rows, ModelRows):
            used = digests.rows(held[name] for name in self.rows)[:, 0]
            return _Part((record,), (used,), Count(rows.rows, rows.rows, {}))
        readings, incomplete, count = self.rows.readings(rows)
        numbers = [digests.numbers(name, column) for name, column in readings.numbers.items()]
        levels = {  # a column counts once, in whatever order a term has its levels
            it.column: digests.levels(it.column, it.levels, codes)
            for it, codes in readings.codes.items()
        }
        values, kept = digests.rows([*numbers, *levels.values()]), ~incomplete
        return _Part((record[kept],), (values[kept, 0],), count)

    def finish(self, whole: _Part, label: str) -> UsedRows:
        found = UsedRows(RowDigests.of(whole.records), RowDigests.of(whole.values))
        if not isinstance(self.rows, ModelRows):
            return found
        if not whole.count.used and self.rows.missing == "drop":
            raise DataError(f"{label} has no rows that can be used")
        whole.count.check(label, self.rows.missing)
        return found
