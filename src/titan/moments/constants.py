"""Which columns of a model add up to 1 in every row: proven from the model, whatever the rows.

Every column is a polynomial in the names of the data, in functions of them (each a name of its own)
and in the indicators of a category's levels but the first: that of the first is 1 less all others.
Coefficients c with Σ c_j column_j = 1 as polynomials hold in every row. They are found exactly.
"""

# Rule 1: no row is looked at. What only the rows know, such as a column of ones, is not found here.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from titan.moments.expressions import Binary, Expression, Name, Negate, Number, Power
from titan.moments.terms import Category, DesignColumn, Piece, Polynomial, name_of

_Monomial = frozenset[tuple[Any, int]]
_Sum = Mapping[_Monomial, Fraction]

_ONE: _Monomial = frozenset()
_MOST_COLUMNS = 300
_MOST_MONOMIALS = 1000
"""Beyond either, nothing is claimed: a formula comes from another party."""


class _TooLongError(Exception):
    """Of polynomials with more monomials than are worth it."""


def constant(design: Sequence[DesignColumn]) -> dict[str, Fraction] | None:
    """Coefficients by column, without zeros; None where none are found."""
    if () in design:
        return {"Intercept": Fraction(1)}
    for category in dict.fromkeys(p.factor for column in design for p in column):
        if isinstance(category, Category):
            levels = [c for c in design if len(c) == 1 and c[0].factor == category]
            if len(levels) == len(category.levels):
                ones = [c for c in levels if all(weight == 1 for _, weight in c[0].levels)]
                return {name_of(column): Fraction(1) for column in ones}
    return dict(found) if (found := _solved(tuple(design))) else None


@lru_cache(maxsize=64)
def _solved(design: tuple[DesignColumn, ...]) -> dict[str, Fraction] | None:
    if len(design) > _MOST_COLUMNS:
        return None
    try:
        columns = [_product(column) for column in design]
    except _TooLongError:
        return None
    places = {each: at for at, each in enumerate(dict.fromkeys(m for c in columns for m in c))}
    if _ONE not in places:
        return None
    found = _solution(columns, places)
    if found is None:
        return None
    return {name_of(c): value for c, value in zip(design, found, strict=True) if value}


def _solution(
    columns: Sequence[_Sum], places: Mapping[_Monomial, int]
) -> tuple[Fraction, ...] | None:
    """One solution of Σ c_j column_j = 1, monomial by monomial; None where there is none."""
    from flint import fmpq, fmpq_mat

    width = len(columns) + 1
    entries = [fmpq(0)] * (len(places) * width)
    for j, column in enumerate(columns):
        for monomial, value in column.items():
            entries[places[monomial] * width + j] = fmpq(value.numerator, value.denominator)
    entries[places[_ONE] * width + width - 1] = fmpq(1)
    reduced, rank = fmpq_mat(len(places), width, entries).rref()
    found = [Fraction(0)] * width
    for row in range(rank):
        pivot = next(j for j in range(width) if reduced[row, j] != 0)
        entry = reduced[row, width - 1]
        found[pivot] = Fraction(int(entry.p), int(entry.q))
    return None if found.pop() else tuple(found)


def _product(column: DesignColumn) -> _Sum:
    found: _Sum = {_ONE: Fraction(1)}
    for piece in column:
        found = _times(found, _piece(piece))
    return found


def _piece(piece: Piece) -> _Sum:
    factor = piece.factor
    if isinstance(factor, Category):
        found: _Sum = {}
        for level, weight in piece.levels:
            found = _plus(found, _scaled(_indicator(factor, level), weight))
        return found
    value = _of(factor.expression)
    return _power(value, piece.index + 1) if isinstance(factor, Polynomial) else value


def _indicator(category: Category, level: int) -> _Sum:
    if level:
        return _atom((category, level))
    others = {frozenset([((category, k), 1)]): Fraction(-1) for k in range(1, len(category.levels))}
    return {_ONE: Fraction(1), **others}


def _of(expression: Expression) -> _Sum:
    """What is not a sum, a product or a power stands for itself."""
    match expression:
        case Name(name):
            return _atom(name)
        case Number(text):
            return {_ONE: Fraction(text)}
        case Negate(argument):
            return _scaled(_of(argument), -1)
        case Binary("*", left, right):
            return _times(_of(left), _of(right))
        case Binary("+", left, right):
            return _plus(_of(left), _of(right))
        case Binary("-", left, right):
            return _plus(_of(left), _scaled(_of(right), -1))
        case Power(base, exponent):
            return _power(_of(base), exponent)
    return _atom(expression)


def _atom(name: object) -> _Sum:
    return {frozenset([(name, 1)]): Fraction(1)}


def _scaled(one: _Sum, by: int) -> _Sum:
    return {monomial: by * value for monomial, value in one.items()}


def _plus(one: _Sum, other: _Sum) -> _Sum:
    found = dict(one)
    for monomial, value in other.items():
        found[monomial] = found.get(monomial, Fraction(0)) + value
    return {monomial: value for monomial, value in found.items() if value}


def _times(one: _Sum, other: _Sum) -> _Sum:
    if len(one) * len(other) > _MOST_MONOMIALS:
        raise _TooLongError
    found: dict[_Monomial, Fraction] = {}
    for first, a in one.items():
        for second, b in other.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            monomial = frozenset(powers.items())
            found[monomial] = found.get(monomial, Fraction(0)) + a * b
    return {monomial: value for monomial, value in found.items() if value}


def _power(base: _Sum, exponent: int) -> _Sum:
    found: _Sum = {_ONE: Fraction(1)}
    for _ in range(exponent):
        found = _times(found, base)
    return found
