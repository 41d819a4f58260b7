"""Rows, or parties, grouped by the set of questions that used them: what answers can be subtracted.

An answer is a sum over rows. A linear combination Σ λ_q · answer_q counts a row with the sum of the
λ of those questions that used it: rows that the same questions used, a *class*, are counted alike
by every combination. So a class with as many rows as are needed hides each of its rows, whatever is
subtracted from what. One with fewer would be shown by those λ that are orthogonal to all others. It
is not, if its pattern of questions (a vector of zeros and ones) is a linear combination of those of
large classes: then every λ that counts it counts a large one too.

Rows are matched by their digests, each with its number among equal ones: of a row that is held
twice in one question and three times in another, two are in both and one is in one only.
"""

# Rule: nothing here knows of studies, columns or files.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from titan.study.row_digests import Mask, Words

Pattern = tuple[bool, ...]
Places = npt.NDArray[np.intp]
_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)
_PRIME = (1 << 61) - 1  # no determinant of zeros and ones is a multiple of it but by a rare chance


@dataclass(frozen=True)
class Class:
    """So many rows that these questions, and no others, used."""

    pattern: Pattern
    size: int


def keys_of(digests: Words) -> tuple[Words, Places, bool]:
    """Different keys, sorted, of digests in any order; where each was; whether any were equal.

    Of equal digests the first ones have the same keys as in any other collection that holds them.
    """
    order = np.argsort(digests, kind="stable")
    keys = digests[order]
    new = np.append([True], keys[1:] != keys[:-1])[: len(keys)]
    if new.all():
        return keys, order, False
    at = np.arange(len(keys))
    again = at - np.maximum.accumulate(np.where(new, at, 0))
    keys = keys + again.astype(np.uint64) * _ODD
    sort = np.argsort(keys)
    return keys[sort], order[sort], True


def found_at(keys: Words, places: Places, wanted: Words) -> Places:
    """The place of each of the wanted keys among sorted `keys`, or -1."""
    if np.array_equal(keys, wanted):  # as most often
        return places
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, places[at], -1)


@dataclass
class Rows:
    """Rows of one's own, by their places in a file, and earlier ones that are not there."""

    used: Sequence[Mask] = field(repr=False)
    """By each of today's questions."""
    earlier: Sequence[Places] = field(default=(), repr=False)
    """Where the rows of each earlier question are among today's; -1 where they are not."""
    keys: Sequence[Words] = field(default=(), repr=False)
    """Of the same, to find those among each other that are not there today."""

    def classes(self) -> list[Class]:
        """Patterns are of today's questions, then of the earlier ones."""
        members = list(self.used)
        for places in self.earlier:
            member = np.zeros(len(self.used[0]), bool)
            member[places[places >= 0]] = True
            members.append(member)
        today = np.logical_or.reduce(self.used)
        marks = _weights(len(members))
        total = np.zeros(len(today), np.uint64)
        for member, mark in zip(members, marks, strict=True):
            total += member * mark
        rows = np.flatnonzero(today)
        found = []
        for first, size in _runs(total[rows]):
            pattern = tuple(bool(member[rows[first]]) for member in members)
            found.append(Class(pattern, size))
        return found + self._gone(today)

    def _gone(self, today: Mask) -> list[Class]:
        """Classes of earlier rows that no question of today uses."""
        used = np.append(today, [False])  # the last is that of -1, nowhere
        pairs = zip(self.keys, self.earlier, strict=len(self.keys) > 0)
        left = [keys[~used[places]] for keys, places in pairs]
        if not sum(map(len, left)):
            return []
        whole = np.concatenate(left)
        which = np.repeat(np.arange(len(left)), [len(each) for each in left])
        order = np.argsort(whole, kind="stable")  # runs that are sorted are merged
        whole, which = whole[order], which[order]
        starts = np.flatnonzero(np.append([True], whole[1:] != whole[:-1]))
        totals = np.add.reduceat(_weights(len(left))[which], starts)
        ends, found = np.append(starts[1:], len(whole)), []
        for first, size in _runs(totals):
            there = set(which[starts[first] : ends[first]].tolist())
            pattern = tuple(at in there for at in range(len(left)))
            found.append(Class((False,) * len(self.used) + pattern, size))
        return found


def _weights(count: int) -> Words:
    """One for each question, whose sums tell sets of them apart."""
    if count <= 64:
        return np.uint64(1) << np.arange(count, dtype=np.uint64)
    at = np.arange(1, count + 1, dtype=np.uint64) * _ODD
    for shift in (30, 27, 31):
        at = (at ^ (at >> np.uint64(shift))) * _ODD
    return at


def _runs(totals: Words) -> Iterable[tuple[int, int]]:
    """Of each different total, where it comes first and how many there are."""
    if not len(totals):
        return []
    if (totals == totals[0]).all():  # as most often
        return [(0, len(totals))]
    _, first, sizes = np.unique(totals, return_index=True, return_counts=True)
    return [(int(at), int(size)) for at, size in zip(first, sizes, strict=True)]


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
