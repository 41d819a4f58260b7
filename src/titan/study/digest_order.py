"""Rows in the order of their digests, however many there are: no more of them at once than fit.

All digests are cut into 4,096 parts. Rows are sorted in runs, each of which knows where the parts
begin in it. A range of parts is then read from all runs, and put in order by itself. Equal digests
fall into the same range, so whatever is counted by digests is counted range by range.

Rows with one digest that the same questions use are one entry with their number: a column of two
values has two digests, however many rows there are.
"""

# Rule: rows are looked at in runs and ranges of bounded size. Digests under a secret key are spread
#       evenly, and equal ones are one entry, so a range has about as many as it should.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from titan.study.spool import Array, Kept, Spool

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint32]
PARTS_BITS = 12
PARTS = 1 << PARTS_BITS
RUN_ROWS = 1 << 22
RANGE_ROWS = 1 << 20
_SHIFT = np.uint64(64 - PARTS_BITS)
_STARTS = np.arange(1, PARTS, dtype=np.uint64) << _SHIFT


class Stretch(NamedTuple):
    """Different digests, sorted, and how many rows have each."""

    digests: Words
    counts: Counts


def ranges(rows: int) -> Iterator[tuple[int, int]]:
    """All parts of the digests, as many at a time as have few enough of so many rows."""
    step = PARTS
    while step > 1 and rows > RANGE_ROWS * (PARTS // step):
        step //= 2
    return ((first, first + step) for first in range(0, PARTS, step))


@dataclass(frozen=True)
class Alike:
    """Rows by their digests: those with one digest and one use are an entry."""

    digests: Words = field(repr=False)
    uses: Numbers = field(repr=False)
    """The number of the set of questions that uses them."""
    counts: Counts = field(repr=False)
    places: Counts = field(repr=False)
    """Where one of them is."""

    @classmethod
    def single(cls, digests: Words, uses: Numbers, first: int = 0) -> Alike:
        """Rows one by one, from the first place on."""
        ones = np.broadcast_to(np.int64(1), len(digests))
        return cls(digests, uses, ones, np.arange(first, first + len(digests)))

    def __len__(self) -> int:
        return len(self.digests)

    def take(self, rows: Array) -> Alike:
        fields = self.digests, self.uses, self.counts, self.places
        return Alike(*(_taken(each, rows) for each in fields))

    def joined(self) -> Alike:
        """In the order of the digests, and of the uses where these are equal."""
        if not len(self):
            return self
        several = bool((self.uses != self.uses[0]).any())
        order = np.lexsort((self.uses, self.digests)) if several else np.argsort(self.digests)
        rows = self.take(order)
        new = np.ones(len(rows), bool)
        new[1:] = rows.digests[1:] != rows.digests[:-1]
        if several:
            new[1:] |= rows.uses[1:] != rows.uses[:-1]
        if new.all():
            return rows
        starts = np.flatnonzero(new)
        counts = np.add.reduceat(rows.counts, starts)
        first = rows.take(starts)
        return Alike(first.digests, first.uses, counts, first.places)


def _taken(array: Array, rows: Array) -> Array:
    return array[: len(rows)] if array.strides == (0,) and len(rows) <= len(array) else array[rows]


def concatenated(several: list[Alike]) -> Alike:
    if len(several) == 1:
        return several[0]
    columns = zip(*((a.digests, a.uses, a.counts, a.places) for a in several), strict=True)
    return Alike(*map(np.concatenate, columns))


class _Run(NamedTuple):
    """Entries in order; entry `starts[part]` is the first of a part of the digests."""

    digests: Kept
    uses: Kept
    counts: Kept
    places: Kept
    starts: Counts

    @classmethod
    def of(cls, rows: Alike, spool: Spool) -> _Run:
        inside = np.searchsorted(rows.digests, _STARTS)
        starts = np.concatenate([[0], inside, [len(rows)]])
        fields: tuple[Array, ...] = rows.digests, rows.uses, rows.counts, rows.places
        digests, uses, counts, places = map(spool.keep, fields)
        return cls(digests, uses, counts, places, starts)

    def between(self, first: int, last: int) -> Alike:
        start, stop = int(self.starts[first]), int(self.starts[last])
        fields = self.digests, self.uses, self.counts, self.places
        return Alike(*(each.load(start, stop) for each in fields))


class InOrder:
    """Rows that were added in any order, read in that of their digests."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._waiting: list[Alike] = []
        self._entries = 0
        self._runs: list[_Run] = []
        self.rows = 0

    def add(self, rows: Alike) -> None:
        self._waiting.append(rows)
        self._entries += len(rows)
        self.rows += int(rows.counts.sum())
        if self._entries >= RUN_ROWS:
            self._sort()

    def _sort(self) -> None:
        if self._waiting:
            self._runs.append(_Run.of(concatenated(self._waiting).joined(), self._spool))
            self._waiting, self._entries = [], 0

    def between(self, first: int, last: int) -> Alike:
        """The entries of some parts of the digests, in order."""
        self._sort()
        if not self._runs:
            return Alike.single(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
        found = [run.between(first, last) for run in self._runs]
        return found[0] if len(found) == 1 else concatenated(found).joined()

    def all(self) -> Iterator[Alike]:
        return (self.between(first, last) for first, last in ranges(self.rows))


class Reader:
    """Reads sorted stretches by ranges of parts, one after the other."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._stretches = iter(stretches)
        self._rest: list[Stretch] = []

    def until(self, last: int) -> Stretch:
        """What was not read yet, up to where this part begins; all that is left for the end."""
        found: list[Stretch] = []
        waiting, self._rest = self._rest, []
        while not self._rest:
            each = waiting.pop() if waiting else next(self._stretches, None)
            if each is None:
                break
            cut = len(each.digests)
            if last < PARTS:
                cut = int(np.searchsorted(each.digests, _STARTS[last - 1]))
            found.append(Stretch(each.digests[:cut], each.counts[:cut]))
            if cut < len(each.digests):
                self._rest = [Stretch(each.digests[cut:], each.counts[cut:])]
        return _joined(found)


def _joined(several: list[Stretch]) -> Stretch:
    if len(several) == 1:
        return several[0]
    if not several:
        return Stretch(np.zeros(0, np.uint64), np.zeros(0, np.int64))
    return Stretch(*map(np.concatenate, zip(*several, strict=True)))


def found_in(stretch: Stretch, rows: Words) -> int:
    """How many of the stretch's rows have a digest among these, which are sorted."""
    if not len(rows):
        return 0
    at = np.minimum(np.searchsorted(rows, stretch.digests), len(rows) - 1)
    return int(stretch.counts[rows[at] == stretch.digests].sum())
