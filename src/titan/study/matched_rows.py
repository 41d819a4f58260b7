"""Today's rows beside those of earlier questions: how many there are of each kind.

Rows over some columns, a *frame*, are read in the order of their digests, today's and every earlier
question's at once, range by range (`titan.study.digest_order`). Each is read once, however many
questions there are, and in memory is one range of them.

Where all rows of a frame differ, each of today's is known by its place, and what several frames say
of the same place is put together in the same way: by ranges of places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from titan.study.digest_order import Alike, Counts, InOrder, Reader, Stretch, found_in, ranges
from titan.study.row_classes import Compared, Kind, Pattern, compare, spread
from titan.study.row_digests import Mask, Names, OwnRows
from titan.study.spool import Spool


@dataclass(frozen=True)
class Before:
    """The rows of an earlier question, which are read when they are needed."""

    row_set: int
    rows: int
    stretches: Callable[[], Iterator[Stretch]] = field(repr=False)
    parts: Callable[[], Mapping[str, Counts]] = field(repr=False)
    """Of every column, how many cells fall into each part of all digests."""


@dataclass(frozen=True)
class Matched:
    """The rows of one frame."""

    sizes: Mapping[Kind, int]
    before: Mapping[int, int]
    """At which place of a kind's pattern each set of earlier rows is."""
    equal_today: bool
    equal_before: Sequence[bool]

    def certain(self, row_sets: Collection[int]) -> bool:
        """Whether no two rows are equal, of today's and of these."""
        return not self.equal_today and not any(self.equal_before[self.before[i]] for i in row_sets)


def match(
    own: OwnRows,
    questions: Collection[str],
    names: Names,
    before: Sequence[Before],
    several: SeveralFrames | None = None,
) -> Matched:
    """Rows that today's questions use, and those of earlier ones, over the columns of a frame."""
    order, wanted, rank = own.in_order(names), own.using(questions), _rank(own, questions)
    readers = [Reader(each.stretches()) for each in before]
    sizes: Counter[Kind] = Counter()
    equal_today, equal_before = False, [False] * len(before)
    for first, last in ranges(own.rows + sum(each.rows for each in before)):
        today = _most_used_first(order.between(first, last), wanted, rank)
        there = [reader.until(last) for reader in readers]
        equal_today = equal_today or _has_equals(today)
        equal_before = [
            known or bool((each.counts > 1).any())
            for known, each in zip(equal_before, there, strict=True)
        ]
        found = compare(today, there)
        sizes.update(found.sizes)
        if several is not None and not equal_today:
            several.add(names, found)
    at = {each.row_set: n for n, each in enumerate(before)}
    return Matched(sizes, at, equal_today, equal_before)


def _rank(own: OwnRows, questions: Collection[str]) -> Counts:
    """Of each set of questions, the most first; which is which does not depend on the pieces."""
    at, patterns = [own.questions.index(name) for name in questions], own.uses.patterns
    keys = [(-sum(each[n] for n in at), each) for each in patterns]
    order = {key: n for n, key in enumerate(sorted(keys))}
    return np.array([order[key] for key in keys], np.int64)


def _most_used_first(rows: Alike, wanted: Mask, rank: Counts) -> Alike:
    """Those that are used; of equal ones the most used come first."""
    if not wanted.all():
        rows = rows.take(np.flatnonzero(wanted[rows.uses]))
    if len(wanted) == 1 or (rows.digests[1:] != rows.digests[:-1]).all():
        return rows
    return rows.take(np.lexsort((rank[rows.uses], rows.digests)))


def _has_equals(rows: Alike) -> bool:
    again = rows.digests[1:] == rows.digests[:-1]
    return bool(again.any() or (rows.counts > 1).any())


def common(own: OwnRows, names: Names, before: Before) -> int:
    """How many of the earlier rows are among today's, used or not."""
    order, reader = own.in_order(names), Reader(before.stretches())
    return sum(
        found_in(reader.until(last), order.between(first, last).digests)
        for first, last in ranges(own.rows + before.rows)
    )


class SeveralFrames:
    """What several frames say of today's rows, each known by its place."""

    def __init__(self, own: OwnRows) -> None:
        self._shift = np.uint64(64 - max(own.rows - 1, 1).bit_length())
        self._order = InOrder(Spool())
        self._known: dict[tuple[Names, Kind], int] = {}

    def add(self, names: Names, found: Compared) -> None:
        """Rows of which each has its place."""
        if not len(found.places):
            return
        known = [self._known.setdefault((names, each), len(self._known)) for each in found.kinds]
        numbers = np.array(known, np.uint32)[found.which]
        places = found.places.astype(np.uint64) << self._shift
        self._order.add(Alike.single(places, numbers))

    def sizes(self) -> Mapping[tuple[int, tuple[tuple[Names, Pattern], ...]], int]:
        """How many rows there are of each use, and in each frame of each pattern."""
        known = list(self._known)
        words = spread(np.arange(1, len(known) + 1, dtype=np.uint64))
        sizes: Counter[tuple[int, tuple[tuple[Names, Pattern], ...]]] = Counter()
        for rows in self._order.all():
            if not len(rows):
                continue
            new = np.append([True], rows.digests[1:] != rows.digests[:-1])
            starts = np.flatnonzero(new)
            ends = np.append(starts[1:], len(rows))
            totals = np.add.reduceat(words[rows.uses], starts)
            _, firsts, counts = np.unique(totals, return_index=True, return_counts=True)
            for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
                said = [known[n] for n in rows.uses[starts[first] : ends[first]].tolist()]
                use = said[0][1].use
                sizes[use, tuple((names, kind.earlier) for names, kind in said)] += count
        return sizes
