"""Every sum that a model opens, as a function of numbers within cells.

Functions are compared at points spread over the grids of the columns that the dictionary
describes, as whole numbers without a common factor: equal ones tell the same thing twice.
"""

# Rule 1: nothing here knows a row: models and dictionary are public.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from hashlib import sha256
from itertools import combinations_with_replacement
from itertools import product as combined
from math import gcd, lcm, prod
from operator import mul
from typing import NamedTuple

from titan.moments import columns as exact
from titan.moments import expressions
from titan.moments.arithmetic import as_integers, multiply, power
from titan.moments.model import Model
from titan.moments.terms import Category as Levels
from titan.moments.terms import Condition, DesignColumn
from titan.release.dictionary import Column, Number, points
from titan.release.made import Rounding, factors, is_raw, rounded
from titan.release.sizes import products

POINTS = 1024
Values = tuple[int, ...]


class Part(NamedTuple):
    """One column of a model: a function of numbers, within cells."""

    names: frozenset[str]
    raw: bool
    values: Values
    cells: Mapping[str, int]
    levels: Mapping[str, int]


class OpenedSum(NamedTuple):
    """One sum that is opened: over the rows of a cell, of a product of parts."""

    parts: tuple[Part, ...]
    cells: frozenset[str]
    levels: int
    """How many cells there are by these columns."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(part.names for part in self.parts))

    def over(self, raw: frozenset[str], linear: str | None) -> Values | None:
        """As a function of these numbers, times one more; None if it is not."""
        rest = list(self.parts)
        if linear is not None:
            with_it = [part for part in rest if linear in part.names]
            if len(with_it) != 1 or not with_it[0].raw:
                return None
            rest.remove(with_it[0])
        if not all(part.names <= raw for part in rest):
            return None
        return reduce(_times, (part.values for part in rest), (1,) * POINTS)


def opened(
    model: Model, rounding: Rounding, columns: Mapping[str, Column], *, inference: bool
) -> list[OpenedSum]:
    """The entries of AᵀA and Aᵀb, and of bᵀb where there is inference."""
    parts = [
        part
        for product, two in zip(products(model), rounding.twos, strict=True)
        for part in _parts(product, two, columns)
    ]
    weights = [_raw(model.weights, columns)] if model.weights else []
    return list(_entries(parts, weights, inference))


def _parts(product: DesignColumn, two: int | None, columns: Mapping[str, Column]) -> Iterator[Part]:
    for chosen in single_levels(product):
        yield _part(chosen, two, columns)


def single_levels(product: DesignColumn) -> Iterator[DesignColumn]:
    """Of a column that sums over several levels (Sum) one for each: they tell no less."""
    choices = [
        [replace(piece, levels=(level,)) for level in piece.levels] or [piece] for piece in product
    ]
    return combined(*choices)


def _part(product: DesignColumn, two: int | None, columns: Mapping[str, Column]) -> Part:
    found = at_points(product, two, columns)
    return Part(found.names, is_raw(product, columns), _plain(found.column), *found.within)


class AtPoints(NamedTuple):
    """One column of a model at the points, within cells: which level, and of how many."""

    column: exact.Column
    names: frozenset[str]
    within: tuple[Mapping[str, int], Mapping[str, int]]


def at_points(product: DesignColumn, two: int | None, columns: Mapping[str, Column]) -> AtPoints:
    cells: dict[str, int] = {}
    levels: dict[str, int] = {}
    for piece in product:
        if isinstance(piece.factor, Levels) and not isinstance(piece.factor, Condition):
            cells[piece.factor.column] = piece.levels[0][0]
            levels[piece.factor.column] = len(piece.factor.levels)
    value, names = exact.Column.constant(Fraction(1), POINTS), set[str]()
    for expression, times in factors(product):
        found = set(expressions.names(expression))
        flag = next(iter(found)) if len(found) == 1 else None
        if flag is not None and points(columns[flag]) <= 2:
            cells[flag], levels[flag] = 1, 2
            continue
        names |= found
        sample = {name: points_of(name, columns[name]) for name in found}
        value = multiply(value, power(expressions.evaluate(expression, sample, POINTS), times))
    if two is not None:
        value = rounded(value, two)
    return AtPoints(value, frozenset(names), (cells, levels))


def _raw(name: str, columns: Mapping[str, Column]) -> Part:
    return Part(frozenset([name]), True, _plain(points_of(name, columns[name])), {}, {})


def _entries(parts: list[Part], weights: list[Part], inference: bool) -> Iterator[OpenedSum]:
    response = len(parts) - 1  # which has one part: it is a number
    for i, j in combinations_with_replacement(range(len(parts)), 2):
        one, other = parts[i], parts[j]
        apart = any(other.cells.get(name, level) != level for name, level in one.cells.items())
        if not apart and (inference or i != response):
            both = [part for part in (one, other, *weights) if part.names]
            levels = {**one.levels, **other.levels}
            yield OpenedSum(tuple(both), frozenset(levels), prod(levels.values()))


@cache
def points_of(name: str, column: Column) -> exact.Column:
    """Values spread evenly over the grid, in an order that is as if independent of others'."""
    digests = [sha256(f"{k}:{name}".encode()).digest() for k in range(POINTS)]
    order = sorted(range(POINTS), key=digests.__getitem__)
    shift = [int.from_bytes(digest[:4], "big") for digest in digests]
    count = points(column)
    at = [((k << 32) + shift[k]) * count // (POINTS << 32) for k in order]
    ends = (column.low, column.step or 1) if isinstance(column, Number) else (0, 1)
    low, step = map(Fraction, ends)
    common = lcm(low.denominator, step.denominator)
    first, by = int(low * common), int(step * common)
    unit = exact.Column.of_fractions([Fraction(1, common)])[0]
    return exact.Column.of_integers([first + n * by for n in at], unit.two, unit.five)


def _plain(column: exact.Column) -> Values:
    """As whole numbers without a common factor."""
    return _reduced([int(x) for x in as_integers(column).numbers])


def _times(one: Values, other: Values) -> Values:
    return _reduced(list(map(mul, one, other)))


def _reduced(numbers: list[int]) -> Values:
    common = gcd(*numbers) or 1
    return tuple(x // common for x in numbers)
