"""The rows of a party as keyed digests: enough to compare two sets of rows, and no more.

A row's digest is keyed BLAKE2b of its bytes (RFC 7693), 64 bits, under a key that never leaves the
machine. Others cannot choose the digests' collisions, since they lack the key; and where two of a
million rows collide by chance (once in 30 million such sets) a count is off by one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from titan.errors import FileError

Digests = npt.NDArray[np.uint64]
_CUT = 8  # bytes


@dataclass(frozen=True, eq=False)
class RowDigests:
    """A multiset of rows: a row held twice counts twice, because moments count it twice."""

    digests: Digests  # sorted

    @classmethod
    def of(cls, rows: Iterable[bytes], key: bytes) -> RowDigests:
        """Reads the rows once, in any order, and keeps 8 bytes of each."""
        keyed, cut = hashlib.blake2b(key=key, digest_size=_CUT), array("Q")
        for row in rows:
            code = keyed.copy()  # a quarter of the time of HMAC-SHA256 from its beginning
            code.update(row)
            cut.frombytes(code.digest())
        return cls(np.sort(np.frombuffer(cut, np.uint64)))

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
        return max(len(self), len(other)) - self._common(other)

    def _common(self, other: RowDigests) -> int:
        """How many rows both have, a row held a and b times counting min(a, b)."""
        here, times_here = np.unique(self.digests, return_counts=True)
        there, times_there = np.unique(other.digests, return_counts=True)
        _, i, j = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        return int(np.minimum(times_here[i], times_there[j]).sum())
