"""All that is wrong with the cells of a file, where reading it has stopped at the first of them."""

# Rule: no cell is shown, nor kept: columns, places and how many.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titan.errors import DataError
from titan.joint.describe import Describing
from titan.moments.cells import Mask
from titan.moments.columns import Column
from titan.moments.reading import Reading
from titan.moments.rows import Count, Missing, ModelRows
from titan.moments.sources import Block
from titan.moments.terms import Level
from titan.release import Dictionary


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
class Seen:
    """Of some rows: gaps, the first cell of a column that cannot be read, values outside."""

    count: Count
    unreadable: Mapping[str, DataError] = field(repr=False)
    outside: Mapping[str, tuple[int, str]]
    """How many, and where the first of them is."""

    def __add__(self, other: Seen) -> Seen:
        outside = dict(self.outside)
        for name, (count, first) in other.outside.items():
            before, place = outside.get(name, (0, first))
            outside[name] = before + count, place
        unreadable = {**other.unreadable, **self.unreadable}
        return Seen(_with_all(self.count, other.count), unreadable, outside)


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
        numbers: dict[str, Column] = {}
        gaps: dict[str, Mask] = {name: np.zeros(rows.rows, bool) for name in self.columns}
        unreadable: dict[str, DataError] = {}
        for name in filter(gaps.__contains__, self.wanted.numbers):
            try:
                numbers[name], gaps[name] = rows.cells[name].numbers()
            except DataError as error:
                unreadable[name] = error
        for name, levels in self.wanted.levels:
            if name in gaps:
                try:
                    gaps[name] = gaps[name] | rows.cells[name].codes(levels)[1]
                except DataError as error:
                    unreadable[name] = error
        incomplete = np.logical_or.reduce([np.zeros(rows.rows, bool), *gaps.values()])
        outside: dict[str, tuple[int, str]] = {}
        for name, column in numbers.items():
            wrong = self.known.outside(name, column)
            if wrong is not None:
                wrong = wrong & ~(gaps[name] if self.wanted.missing is None else incomplete)
                if wrong.any():
                    outside[name] = int(wrong.sum()), rows.place(int(wrong.argmax()))
        used = rows.rows if self.wanted.missing is None else int((~incomplete).sum())
        count = Count(rows.rows, used, {name: int(mask.sum()) for name, mask in gaps.items()})
        return Seen(count, unreadable, outside)

    def mistakes(self, seen: Seen, label: str) -> Iterator[DataError]:
        """What stops its owner at home."""
        yield from seen.unreadable.values()
        if self.wanted.missing is not None:
            try:
                seen.count.check(label, self.wanted.missing)
            except DataError as error:
                yield error
