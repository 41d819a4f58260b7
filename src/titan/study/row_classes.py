"""Rows, or parties, grouped by the set of questions that used them: what answers can be subtracted.

An answer is a sum over rows. A linear combination Σ λ_q · answer_q counts a row with the sum of the
λ of those questions that used it: rows that the same questions used, a *class*, are counted alike
by every combination. So a class with as many rows as are needed hides each of its rows, whatever is
subtracted from what. One with fewer would be shown by those λ that are orthogonal to all others. It
is not, if its pattern of questions (a vector of zeros and ones) is a linear combination of those of
large classes: then every λ that counts it counts a large one too.

Rows are matched by their digests, each with its number among equal ones: of a row that is held
twice in one question and three times in another, two are in both and one is in one only. So rows
are compared range by range of their digests, and what was counted in each adds up.
"""

# Rule: nothing here knows of studies, columns or files.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from titan.study.digest_order import Alike, Counts, Stretch, Words

Pattern = tuple[bool, ...]
Mask = npt.NDArray[np.bool_]
NOT_TODAY = -1
_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)
_PRIME = (1 << 61) - 1  # no determinant of zeros and ones is a multiple of it but by a rare chance


@dataclass(frozen=True)
class Class:
    """So many rows that these questions, and no others, used."""

    pattern: Pattern
    size: int


# -- rows of a range of digests -----------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Rows of which today the same questions, and before the same ones, used each."""

    use: int
    """The number of the set of today's questions; NOT_TODAY where no row is left."""
    earlier: Pattern


@dataclass(frozen=True)
class Compared:
    """Today's rows beside those of earlier questions."""

    sizes: Mapping[Kind, int]
    places: Counts = field(repr=False)
    """Of today's rows; where several have one digest, of one of them."""
    kinds: Sequence[Kind] = field(repr=False)
    which: Counts = field(repr=False)
    """The number of each such row's kind."""


def compare(today: Alike, earlier: Sequence[Stretch]) -> Compared:
    """Of all rows in some range of digests; among today's equal ones the first are matched first.

    Equal rows are numbered from 1. Up to the number that a question has, each is one of its own. So
    at each digest a few heights matter, and all rows between two of them are of one kind. Which
    questions have the rows of a height is a sum of marks: what a question adds from the lowest
    height on, and takes away after its own.
    """
    digests = [today.digests, *(each.digests for each in earlier)]
    every = np.unique(np.concatenate(digests))
    at: list[Counts] = [np.searchsorted(every, each) for each in digests]
    ends = np.cumsum(today.counts)  # of all today's rows, up to those of an entry
    totals = np.bincount(at[0], today.counts, len(every)).astype(np.int64)
    before = np.cumsum(totals) - totals
    tops = [ends - before[at[0]], *(each.counts for each in earlier)]
    digest, height, places = _heights(at, tops)
    first = np.searchsorted(digest, np.arange(len(every)))
    marked = np.zeros(len(digest) + 1, np.uint64)
    for mark, its, last in zip(marks(len(earlier)), at[1:], places[1:], strict=True):
        marked[first[its]] += mark
        marked[last + 1] -= mark
    marked = np.cumsum(marked[:-1])
    there = height <= totals[digest]
    entry = np.searchsorted(ends, before[digest] + height - 1, side="right")
    use = np.full(len(digest), NOT_TODAY)
    use[there] = today.uses[entry[there]]
    sizes = np.diff(height, prepend=0)
    sizes[first] = height[first]
    firsts, which = _different(use, marked)
    held = [_holds(each, every[digest[firsts]], height[firsts]) for each in earlier]
    kinds = [
        Kind(int(use[row]), tuple(bool(each[n]) for each in held)) for n, row in enumerate(firsts)
    ]
    counted = np.bincount(which, sizes, len(kinds)).astype(np.int64).tolist()
    return Compared(
        dict(zip(kinds, counted, strict=True)),
        today.places[entry[there]],
        kinds,
        which[there],
    )


def _heights(at: Sequence[Counts], tops: Sequence[Counts]) -> tuple[Counts, Counts, list[Counts]]:
    """The heights that matter, by digests and sorted; and where each that was given is there."""
    digest, height = np.concatenate(at), np.concatenate(tops)
    if not len(height) or height.max() == 1:
        different = np.arange(int(digest.max(initial=-1)) + 1)  # one of each
        return different, np.ones(len(different), np.int64), list(at)
    order = np.lexsort((height, digest))
    digest, height = digest[order], height[order]
    new = np.append([True], (np.diff(digest) != 0) | (np.diff(height) != 0))
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(new) - 1
    cuts = np.cumsum([len(each) for each in at])[:-1]
    return digest[new], height[new], np.split(place, cuts)


def _different(use: Counts, marked: Words) -> tuple[Counts, Counts]:
    """Where each different pair comes first, and the number of every row's pair."""
    if not len(use):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if (use == use[0]).all() and (marked == marked[0]).all():  # as most often
        return np.zeros(1, np.int64), np.zeros(len(use), np.int64)
    _, number = np.unique(marked, return_inverse=True)
    pairs = number * (int(use.max()) + 2) + use + 1
    _, firsts, which = np.unique(pairs, return_index=True, return_inverse=True)
    return firsts, which


def _holds(held: Stretch, digests: Words, heights: Counts) -> Mask:
    """Whether a question has so many rows of each of these digests."""
    if not len(held.digests):
        return np.zeros(len(digests), bool)
    at = np.minimum(np.searchsorted(held.digests, digests), len(held.digests) - 1)
    return np.asarray((held.digests[at] == digests) & (held.counts[at] >= heights))


def marks(count: int) -> Words:
    """One for each question, whose sums tell sets of them apart."""
    if count <= 64:
        return np.uint64(1) << np.arange(count, dtype=np.uint64)
    return spread(np.arange(1, count + 1, dtype=np.uint64))


def spread(numbers: Words) -> Words:
    """Words whose sums differ but by a rare chance."""
    words = numbers * _ODD
    for shift in (30, 27, 31):
        words = (words ^ (words >> np.uint64(shift))) * _ODD
    return words


# -- what is exposed --------------------------------------------------------------------------


def exposed_rows(
    classes: Sequence[Class], needed: int, today: int, *, certain: bool
) -> list[Class]:
    """Classes that are too small; `today` is how many questions, the first of patterns, are new.

    Rows that all questions used are among other parties' rows in every combination. Where equal
    rows show that the columns do not identify people (not `certain`), a few rows that agree with
    those of another question may be other people's: they count only if answers could show them.
    """
    small = [c for c in classes if c.size < needed and not all(c.pattern)]
    if certain or not small:
        return small
    large = Span(c.pattern for c in classes if c.size >= needed)
    large.add((True,) * len(small[0].pattern))
    agree = {c: any(c.pattern[:today]) + sum(c.pattern[today:]) > 1 for c in small}
    return [c for c in small if not agree[c] or c.pattern not in large]


def exposed_parties(classes: Sequence[Class], needed: int) -> list[Class]:
    """The same of parties; who took part in all is hidden by large classes or by none."""
    small = [c for c in classes if c.size < needed]
    if len(classes) < 2 or not small:
        return []
    large = Span(c.pattern for c in classes if c.size >= needed)
    return [c for c in small if not all(c.pattern) or c.pattern not in large]


class Span:
    """All linear combinations of some patterns."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._rows: dict[int, list[int]] = {}  # by the place of their leading 1
        for pattern in patterns:
            self.add(pattern)

    def add(self, pattern: Pattern) -> None:
        rest = self._reduced(pattern)
        lead = next((at for at, x in enumerate(rest) if x), None)
        if lead is not None:
            inverse = pow(rest[lead], -1, _PRIME)
            self._rows[lead] = [x * inverse % _PRIME for x in rest]

    def __contains__(self, pattern: Pattern) -> bool:
        return not any(self._reduced(pattern))

    def _reduced(self, pattern: Pattern) -> list[int]:
        rest = [int(x) for x in pattern]
        for lead in sorted(self._rows):
            if factor := rest[lead]:
                row = self._rows[lead]
                rest = [(x - factor * y) % _PRIME for x, y in zip(rest, row, strict=True)]
        return rest
