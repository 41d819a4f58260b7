"""A source whose rows must be the same in every pass.

The first pass over some columns keeps a digest of all rows, which later passes have to meet. It
does not depend on the order of the rows, nor on how they come in blocks: see `cell_digests`.
"""

# Rule 1: what a pass has made of other rows is not given out.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from titan.errors import DataError
from titan.moments.cell_digests import CellDigests
from titan.moments.sources import BATCH_ROWS, Block, Source

P = TypeVar("P")
Columns = frozenset[str]
Sum = tuple[int, int]  # of the rows' digests, each word modulo 2^64
_WORDS = 1 << 64


class SameRows(Source):
    """The rows of another source, told apart from any others under a secret key of 32 bytes.

    A pass over columns that were not read together before reads those of an earlier pass too, so
    as to have something to compare. Columns that will be read `again`, by themselves, after a pass
    over more, are better named at once.
    """

    def __init__(
        self,
        source: Source,
        key: bytes,
        again: Sequence[Collection[str]] = (),
        *,
        known: Mapping[Columns, Sum] | None = None,
        since: str = "it was first read",
    ) -> None:
        """With sums that are `known` already, under the same key, `since` says of when they are."""
        self.source, self.label = source, source.label
        self.column_names = source.column_names
        self._digests = CellDigests(key)
        self._again = {frozenset(columns) for columns in again}
        self._known: dict[Columns, Sum] = dict(known or {})
        self._since = since

    @property
    def key(self) -> bytes:
        """Which is secret, and never printed."""
        return self._digests.key

    @property
    def known(self) -> Mapping[Columns, Sum]:
        """What was found so far, for who looks at the same rows another time."""
        return dict(self._known)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        raise TypeError("rows that must be the same are read by map_blocks")

    def map_blocks(
        self,
        f: Callable[[Block], P],
        merge: Callable[[P, P], P],
        *,
        columns: Sequence[str],
        size: int = BATCH_ROWS,
    ) -> P | None:
        wanted = frozenset(columns)
        compared = {wanted, *(known for known in self._known if known <= wanted)}
        if self._known and compared.isdisjoint(self._known):
            compared.add(min(self._known, key=lambda known: len(known | wanted)))
        compared |= {again for again in self._again if again <= wanted}
        read = list(dict.fromkeys([*columns, *sorted(frozenset().union(*compared))]))
        both = _WithDigests(f, merge, self._digests, tuple(compared))
        found = self.source.map_blocks(both.block, both.merge, columns=read, size=size)
        part, sums = found or (None, [(0, 0)] * len(both.sets))
        seen = dict(zip(both.sets, sums, strict=True))
        if any(self._known[each] != seen[each] for each in seen if each in self._known):
            raise DataError(
                f"{self.label} changed since {self._since}: its rows are not the same when "
                "read again",
                hint="leave the data alone until all is done",
            )
        self._known = seen | self._known
        return part


@dataclass(frozen=True)
class _WithDigests(Generic[P]):
    """What `f` makes of a block, and the sum of its rows' digests for each set of columns."""

    f: Callable[[Block], P]
    merging: Callable[[P, P], P]
    digests: CellDigests
    sets: tuple[Columns, ...] = field(repr=False)

    def block(self, rows: Block) -> tuple[P, list[Sum]]:
        part = self.f(rows)
        totals = [np.zeros((rows.rows, 2), np.uint64) for _ in self.sets]
        for name in frozenset().union(*self.sets):
            cells = self.digests.unchanged(rows.cells[name])  # one column's at a time stay in cache
            for total, columns in zip(totals, self.sets, strict=True):
                if name in columns:
                    total += cells
        found = [
            self.digests.rows([total]).sum(axis=0).tolist() if each else (rows.rows, 0)
            for total, each in zip(totals, self.sets, strict=True)
        ]
        return part, [(x, y) for x, y in found]

    def merge(self, one: tuple[P, list[Sum]], other: tuple[P, list[Sum]]) -> tuple[P, list[Sum]]:
        sums = [
            ((a + c) % _WORDS, (b + d) % _WORDS)
            for (a, b), (c, d) in zip(one[1], other[1], strict=True)
        ]
        return self.merging(one[0], other[0]), sums
