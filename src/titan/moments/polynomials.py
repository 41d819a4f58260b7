"""Columns as polynomials in the names of the data: what holds of these holds in every row.

Every column is a polynomial in the names of the data, in functions of them (each a name of its own)
and in the indicators of a category's levels but the first: that of the first is 1 less all others.
What is centred is less its mean, which is a name too, the same in all rows.
"""

# Rule 1: no row is looked at, and nothing is rounded.
# Rule 2: a formula comes from another party: beyond a bound on its monomials nothing is claimed.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from titan.moments.expressions import (
    Binary,
    Centred,
    Expression,
    Name,
    Negate,
    Number,
    Power,
    exact_inverse,
)
from titan.moments.terms import Category, DesignColumn, Piece, Polynomial

Monomial = frozenset[tuple[Any, int]]
Sum = Mapping[Monomial, Fraction]

ONE: Monomial = frozenset()
MOST_COLUMNS = 300
_MOST_MONOMIALS = 1000


class TooLongError(Exception):
    """Of polynomials with more monomials than are worth it."""


@dataclass(frozen=True)
class Mean:
    """That of an expression over all rows."""

    of: str


def of_column(column: DesignColumn) -> Sum:
    found: Sum = {ONE: Fraction(1)}
    for piece in column:
        found = _times(found, _piece(piece))
    return found


def _piece(piece: Piece) -> Sum:
    factor = piece.factor
    if isinstance(factor, Category):
        found: Sum = {}
        for level, weight in piece.levels:
            found = _plus(found, _scaled(_indicator(factor, level), weight))
        return found
    value = of_expression(factor.expression)
    return _power(value, piece.index + 1) if isinstance(factor, Polynomial) else value


def _indicator(category: Category, level: int) -> Sum:
    if level:
        return _atom((category, level))
    others = {frozenset([((category, k), 1)]): Fraction(-1) for k in range(1, len(category.levels))}
    return {ONE: Fraction(1), **others}


def of_expression(expression: Expression) -> Sum:
    """What is not a sum, a product or a power stands for itself."""
    match expression:
        case Name(name):
            return _atom(name)
        case Number(text):
            return {ONE: Fraction(text)}
        case Negate(argument):
            return _scaled(of_expression(argument), -1)
        case Centred(argument):
            mean = _scaled(_atom(Mean(str(argument))), -1)
            return _plus(of_expression(argument), mean)
        case Binary("*", left, right):
            return _times(of_expression(left), of_expression(right))
        case Binary("+", left, right):
            return _plus(of_expression(left), of_expression(right))
        case Binary("-", left, right):
            return _plus(of_expression(left), _scaled(of_expression(right), -1))
        case Binary("/", left, right) if (inverse := exact_inverse(right)) is not None:
            return _scaled(of_expression(left), inverse)
        case Power(base, exponent):
            return _power(of_expression(base), exponent)
    return _atom(expression)


def combinations(
    columns: Sequence[Sum], targets: Sequence[Sum]
) -> list[tuple[Fraction, ...] | None]:
    """For each target coefficients with Σ c_j column_j = target; None where there are none."""
    from flint import fmpq, fmpq_mat

    every = [*columns, *targets]
    places = {each: at for at, each in enumerate(dict.fromkeys(m for s in every for m in s))}
    width, n = len(every), len(columns)
    entries = [fmpq(0)] * (len(places) * width)
    for j, column in enumerate(every):
        for monomial, value in column.items():
            entries[places[monomial] * width + j] = fmpq(value.numerator, value.denominator)
    reduced, rank = fmpq_mat(len(places), width, entries).rref()
    pivots = [next(j for j in range(width) if reduced[row, j] != 0) for row in range(rank)]
    inside = [(row, pivot) for row, pivot in enumerate(pivots) if pivot < n]
    outside = range(len(inside), rank)
    found: list[tuple[Fraction, ...] | None] = []
    for j in range(n, width):
        if any(reduced[row, j] != 0 for row in outside):
            found.append(None)
            continue
        values = [Fraction(0)] * n
        for row, pivot in inside:
            entry = reduced[row, j]
            values[pivot] = Fraction(int(entry.p), int(entry.q))
        found.append(tuple(values))
    return found


def _atom(name: object) -> Sum:
    return {frozenset([(name, 1)]): Fraction(1)}


def _scaled(one: Sum, by: int | Fraction) -> Sum:
    return {monomial: by * value for monomial, value in one.items()}


def _plus(one: Sum, other: Sum) -> Sum:
    found = dict(one)
    for monomial, value in other.items():
        found[monomial] = found.get(monomial, Fraction(0)) + value
    return {monomial: value for monomial, value in found.items() if value}


def _times(one: Sum, other: Sum) -> Sum:
    if len(one) * len(other) > _MOST_MONOMIALS:
        raise TooLongError
    found: dict[Monomial, Fraction] = {}
    for first, a in one.items():
        for second, b in other.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            monomial = frozenset(powers.items())
            found[monomial] = found.get(monomial, Fraction(0)) + a * b
    return {monomial: value for monomial, value in found.items() if value}


def _power(base: Sum, exponent: int) -> Sum:
    found: Sum = {ONE: Fraction(1)}
    for _ in range(exponent):
        found = _times(found, base)
    return found
