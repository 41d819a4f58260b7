"""All that is wrong with the cells of a file, where reading it has stopped at the first of them.

A finding is one kind of mistake in one column: how many cells have it, and where the first is.
"""

# Rule: no cell is shown, nor kept: columns, places and how many.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from titan.errors import DataError
from titan.joint.describe import Describing
from titan.moments.cells import Cells, Mask, Rows
from titan.moments.reading import Reading
from titan.moments.rows import Count, Missing, ModelRows
from titan.moments.sources import Block
from titan.moments.terms import Level
from titan.release import Dictionary

K = TypeVar("K")


@dataclass(frozen=True)
class Wanted:
    """What a question reads of rows."""

    numbers: tuple[str, ...]
    levels: tuple[tuple[str, tuple[Level, ...]], ...]
    missing: Missing | None
    """How it takes rows with gaps; None where it looks at every column by itself."""

    @classmethod
    def by(cls, computation: Any) -> Wanted | None:
        """None where nothing is known but what went wrong first."""
        rows = getattr(computation, "rows", None)
        if isinstance(rows, ModelRows):
            levels = tuple((each.column, each.levels) for each in rows.model.categories)
            return cls(rows.model.number_columns, levels, rows.missing)
        if isinstance(computation, Describing):
            asked = computation.asked
            levels = tuple((each.name, each.levels) for each in asked if each.numbers is None)
            return cls(tuple(each.name for each in asked if each.numbers), levels, None)
        return None


@dataclass(frozen=True)
class Finding:
    """How many cells, the number of the first one's row, and what is said of that."""

    count: int
    at: int
    first: str
    hint: str = ""

    def and_later(self, other: Finding) -> Finding:
        return replace(self, count=self.count + other.count)


@dataclass(frozen=True)
class Seen:
    """Of some rows: gaps, cells that cannot be read, values outside."""

    count: Count
    unreadable: Mapping[tuple[str, str], Finding]
    """By column and what is wrong; `first` is the error's message."""
    outside: Mapping[str, Finding]
    """By column; `first` is the place."""

    def __add__(self, other: Seen) -> Seen:
        rows = self.count.rows
        return Seen(
            _with_all(self.count, other.count),
            _joined(self.unreadable, other.unreadable, rows),
            _joined(self.outside, other.outside, rows),
        )


def _joined(one: Mapping[K, Finding], other: Mapping[K, Finding], rows: int) -> dict[K, Finding]:
    """`other` is of later rows, after so many."""
    found = dict(one)
    for key, each in other.items():
        later = replace(each, at=each.at + rows)
        found[key] = found[key].and_later(later) if key in found else later
    return found


def _with_all(one: Count, other: Count) -> Count:
    """Their sum, though a column could be read in one of them only."""
    names = dict.fromkeys([*one.gaps, *other.gaps])
    gaps = {name: one.gaps.get(name, 0) + other.gaps.get(name, 0) for name in names}
    return Count(one.rows + other.rows, one.used + other.used, gaps)


@dataclass(frozen=True)
class LookAtCells(Reading[Seen, Seen]):
    """As far as the columns are there."""

    wanted: Wanted
    known: Dictionary
    there: frozenset[str]

    @property
    def columns(self) -> Sequence[str]:
        names = [*self.wanted.numbers, *(name for name, _ in self.wanted.levels)]
        return [name for name in dict.fromkeys(names) if name in self.there]

    def block(self, rows: Block) -> Seen:
        outside_range: dict[str, Mask] = {}
        gaps: dict[str, Mask] = {name: np.zeros(rows.rows, bool) for name in self.columns}
        wrong: dict[str, list[DataError]] = {}
        for name in filter(gaps.__contains__, self.wanted.numbers):
            cells, kept, wrong[name] = _readable(rows.cells[name], rows.rows)
            if len(kept):
                column, missing = cells.numbers()
                gaps[name][kept] = missing
                outside = self.known.outside(name, column)
                if outside is not None:
                    outside_range[name] = np.zeros(rows.rows, bool)
                    outside_range[name][kept] = outside
        for name, levels in self.wanted.levels:
            if name in gaps:
                missing, found = _levels(rows.cells[name], rows.rows, levels)
                gaps[name] |= missing
                wrong.setdefault(name, found)
        incomplete = np.logical_or.reduce([np.zeros(rows.rows, bool), *gaps.values()])
        outside_: dict[str, Finding] = {}
        for name, mask in outside_range.items():
            there = mask & ~(gaps[name] if self.wanted.missing is None else incomplete)
            if there.any():
                at = int(there.argmax())
                outside_[name] = Finding(int(there.sum()), at, rows.place(at))
        used = rows.rows if self.wanted.missing is None else int((~incomplete).sum())
        count = Count(rows.rows, used, {name: int(mask.sum()) for name, mask in gaps.items()})
        unreadable = {
            (name, kind): each for name, errors in wrong.items() for kind, each in _kinds(errors)
        }
        return Seen(count, unreadable, outside_)

    def gaps(self, seen: Seen, label: str) -> Iterator[DataError]:
        """Values that are not there, where that stops its owner at home."""
        if self.wanted.missing is not None:
            try:
                seen.count.check(label, self.wanted.missing)
            except DataError as error:
                yield error


def _readable(cells: Cells, rows: int) -> tuple[Cells, Rows, list[DataError]]:
    """The cells that are numbers, their rows, and what is wrong with the others."""
    try:
        cells.numbers()
    except DataError as error:
        wrong = cells.wrong_numbers()
        if not wrong:  # the whole column
            return cells, np.arange(0), [error]
        kept = np.setdiff1d(np.arange(rows), [each.row for each in wrong])
        return cells.take(kept), kept, wrong
    return cells, np.arange(rows), []


def _levels(cells: Cells, rows: int, levels: Sequence[Level]) -> tuple[Mask, list[DataError]]:
    """Which are missing, and the cells that are none of the levels."""
    missing, kept, wrong = np.zeros(rows, bool), np.arange(rows), list[DataError]()
    readable = cells
    if not isinstance(levels[0].value, str):
        readable, kept, wrong = _readable(cells, rows)
    if len(kept):
        try:
            codes, missing[kept] = readable.codes_or_none(levels)
        except DataError as error:  # the whole column
            return missing, [error]
        unknown = kept[(codes < 0) & ~missing[kept]]
        wrong = [*wrong, *(cells.unknown_level(int(row)) for row in unknown)]
    return missing, wrong


def _kinds(errors: Iterable[DataError]) -> Iterator[tuple[str, Finding]]:
    """One finding for each kind of mistake."""
    found: dict[str, Finding] = {}
    for error in errors:
        each = Finding(1, max(error.row, 0), error.message, error.hint)
        found[error.found] = found[error.found].and_later(each) if error.found in found else each
    return iter(found.items())


def mistake(column: str, found: Finding) -> DataError:
    """What stops its owner at home: the first such cell, and how many there are."""
    several = f" ({found.count} such cells; this is the first)" if found.count > 1 else ""
    error = DataError(found.first + several, hint=found.hint)
    error.column = column
    return error
