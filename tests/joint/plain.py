"""A deliberately dumb twin of `describe`: all rows in one place, Python's fractions, loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from titan.joint.description import ColumnSummary, Description
from titan.release import Category, Column, Flag, Number

Table = Mapping[str, Sequence[Any]]


def description(
    tables: Sequence[Table],
    dictionary: Mapping[str, Column],
    bins: Mapping[str, tuple[Fraction, Fraction, Fraction]],
) -> Description:
    rows = sum(len(next(iter(table.values()))) for table in tables)
    columns = [
        column(name, kind, [cell for table in tables for cell in table[name]], bins.get(name))
        for name, kind in dictionary.items()
    ]
    return Description(rows, tuple(columns))


def column(
    name: str, kind: Column, cells: list[Any], bins: tuple[Fraction, Fraction, Fraction] | None
) -> ColumnSummary:
    there = [cell for cell in cells if cell is not None]
    missing, count = len(cells) - len(there), len(there)
    if isinstance(kind, Category | Flag):
        levels = kind.levels if isinstance(kind, Category) else ("0", "1")
        counted = Counter(str(cell) for cell in there)
        found = tuple((level, counted[level]) for level in levels)
        return ColumnSummary(name, kind.kind, missing, count, levels=found)
    values = [Fraction(cell) for cell in there]
    total, squares = sum(values, Fraction(0)), sum((x * x for x in values), Fraction(0))
    edges, histogram = ((), ()) if bins is None else cells_of(values, *bins)
    return ColumnSummary(
        name, kind.kind, missing, count, kind.unit, total, squares, (), edges, histogram
    )


def cells_of(
    values: list[Fraction], low: Fraction, high: Fraction, width: Fraction
) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    edges = [low]
    while edges[-1] < high:
        edges.append(edges[-1] + width)
    counts = [sum(a <= x < b or x == b == high for x in values) for a, b in pairwise(edges)]
    return tuple(edges), tuple(counts)


def number(low: str, high: str, step: str, unit: str = "") -> Number:
    return Number(Fraction(low), Fraction(high), Fraction(step), unit)
