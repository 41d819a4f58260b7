"""A dictionary made up from rows that one holds oneself: what their columns seem to be.

Numbers get the range and the decimals that occur, text becomes a category of the levels that occur,
truth values become a flag. This tells of the rows: it is for one process and for rehearsals, where
nothing is hidden from anybody. A study takes kinds, decimals and levels of it, which its owner is
shown, and never a range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from titan.decimals import decimal
from titan.errors import DataError, InputError
from titan.moments import Source, decimal_text
from titan.moments.arithmetic import as_integers
from titan.moments.cells import ArrowCells, Cells
from titan.moments.reading import Reading, read
from titan.moments.sources import Block
from titan.release.dictionary import Category, Column, Dictionary, Flag, Number


def draft(
    sources: Iterable[Source],
    names: Sequence[str] | None = None,
    *,
    categories: Collection[str] = (),
    lenient: bool = False,
) -> Dictionary:
    """What these columns are in all sources together; those of the first, if none is named.

    `categories` are such whatever their values look like. One that cannot be described is an error,
    or with `lenient` left out.
    """
    tables = list(sources)
    wanted = tuple(tables[0].column_names if names is None else names)
    if not wanted:
        return Dictionary()
    look = _Look(wanted, frozenset(categories))
    found = reduce(look.merge, (read(source, look) for source in tables))
    described: dict[str, Column] = {}
    for name, seen in zip(wanted, found, strict=True):
        try:
            described[name] = _column(name, seen)
        except DataError:
            if not lenient:
                raise
    return Dictionary.of(described)


def rows_by_level(source: Source, names: Sequence[str]) -> dict[str, Counter[str]]:
    """How many rows have each text, in each of these columns."""
    counts = read(source, _Levels(tuple(names))) if names else ()
    return dict(zip(names, counts, strict=True))


@dataclass(frozen=True)
class _Levels(Reading[tuple[Counter[str], ...], tuple[Counter[str], ...]]):
    names: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        return self.names

    def block(self, rows: Block) -> tuple[Counter[str], ...]:
        return tuple(Counter(_present(rows.cells[name]).to_pylist()) for name in self.names)

    def merge(
        self, one: tuple[Counter[str], ...], other: tuple[Counter[str], ...]
    ) -> tuple[Counter[str], ...]:
        return tuple(map(add, one, other))


@dataclass(frozen=True)
class _Seen:
    """What the values of one column were."""

    low: Fraction | None = None
    high: Fraction | None = None
    decimals: int = 0
    levels: frozenset[str] = frozenset()
    flags: bool = False
    problem: DataError | None = None

    def __add__(self, other: _Seen) -> _Seen:
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return _Seen(
            min(lows, default=None),
            max(highs, default=None),
            max(self.decimals, other.decimals),
            self.levels | other.levels,
            self.flags and other.flags,
            self.problem or other.problem,
        )


@dataclass(frozen=True)
class _Look(Reading[tuple[_Seen, ...], tuple[_Seen, ...]]):
    names: tuple[str, ...]
    categories: frozenset[str]

    @property
    def columns(self) -> Sequence[str]:
        return self.names

    def block(self, rows: Block) -> tuple[_Seen, ...]:
        read = [_words if name in self.categories else _seen for name in self.names]
        return tuple(each(rows.cells[name]) for each, name in zip(read, self.names, strict=True))

    def merge(self, one: tuple[_Seen, ...], other: tuple[_Seen, ...]) -> tuple[_Seen, ...]:
        return tuple(map(add, one, other))


def _seen(cells: Cells) -> _Seen:
    try:
        column, gaps = replace(cells, decimal=True).numbers()
    except DataError as not_numbers:
        return _levels(cells, not_numbers)
    column = as_integers(column.take(np.flatnonzero(~gaps)))
    flags = isinstance(cells, ArrowCells) and str(cells.array.type) == "bool"
    if not len(column):
        return _Seen(flags=flags)
    low, high = (int(end) * column.unit for end in (column.numbers.min(), column.numbers.max()))
    return _Seen(low, high, max(-column.two, -column.five, 0), flags=flags)


def _levels(cells: Cells, not_numbers: DataError) -> _Seen:
    """Of text; but a word among numbers is a mistake, not a level."""
    try:
        found = _words(cells)
    except DataError:  # floats, one of them infinite: not text either
        return _Seen(problem=not_numbers)
    return _Seen(problem=not_numbers) if any(map(_is_number, found.levels)) else found


def _words(cells: Cells) -> _Seen:
    return _Seen(levels=frozenset(_present(cells).unique().to_pylist()))


def _present(cells: Cells) -> Any:
    """The texts that are there."""
    text = cells.text()
    return text.filter(~decimal_text.is_missing(text))


def _in_order(levels: Collection[str]) -> list[str]:
    """By size where all are numbers."""
    return sorted(levels, key=decimal) if all(map(_is_number, levels)) else sorted(levels)


def _is_number(text: str) -> bool:
    try:
        decimal(text)
    except ValueError:
        return False
    return True


def _column(name: str, seen: _Seen) -> Column:
    if seen.problem is not None:
        raise seen.problem
    if seen.levels and seen.low is not None:
        raise DataError(f"column {name!r} has numbers in one table and words in another")
    try:
        if seen.levels:
            return Category(tuple(_in_order(seen.levels)))
        if seen.flags:
            return Flag()
        if seen.low is None or seen.high is None:  # no value at all
            return Number(Fraction(0), Fraction(0), Fraction(1))
        return Number(seen.low, seen.high, Fraction(1, 10**seen.decimals))
    except InputError as error:
        hint = "name the columns, without this one, or say what it is"
        raise DataError(f"column {name!r}: {error.message}", hint=hint) from None
