"""Columns that a formula makes are rounded to a few bits of the range that they can have.

Raw is what the dictionary has: a number, a flag, a multiple of one or one shifted (I(age - 50)), a
category's indicator, an indicator times a number. Raw columns enter sums exactly, on their grid.
All else is made: functions, quotients, powers, products and sums of several numbers, and what is
compared: 0 or 1, but made of numbers all the same. Exact sums of enough made
columns hold a whole table of the raw ones, which lattice reduction finds; so a made column becomes
a whole multiple of the power of two at which its largest magnitude has `precision` bits. Where its
exact grid is coarser than that, nothing is rounded.

Rounding is to the nearest, the even one of two, of what the formula's evaluator gives exactly: it
is the same at all parties. `precision = "exact"` rounds nothing that is exact: sums, products and
powers. Functions and quotients, which are doubles, then keep 64 bits.
"""

# Rule 1: what is made of which columns is public: it follows from formula and dictionary alone.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from titan.moments import columns as exact
from titan.moments.arithmetic import as_integers
from titan.moments.expressions import (
    Binary,
    Expression,
    Name,
    Negate,
    Not,
    Number,
    Power,
    exact_inverse,
    is_exact,
    names,
)
from titan.moments.model import Model
from titan.moments.terms import TRUE, Category, Condition, DesignColumn, Polynomial
from titan.release.dictionary import Column, Dictionary, Flag
from titan.release.grid import Grid
from titan.release.sizes import Size, products, sizes

_FUNCTION_BITS = 64  # finer than a double at all but the smallest of its values


@dataclass(frozen=True)
class Rounding:
    """Of the columns of a model, in order: to multiples of 2^two, or not at all where None."""

    twos: tuple[int | None, ...]

    def __call__(self, columns: Sequence[exact.Column]) -> list[exact.Column]:
        return [
            column if two is None else rounded(column, two)
            for column, two in zip(columns, self.twos, strict=True)
        ]


def rounded(column: exact.Column, two: int) -> exact.Column:
    return Grid(Fraction(0), Fraction(2) ** two, 1 << _FUNCTION_BITS).place(as_integers(column))[0]


@dataclass(frozen=True)
class MadeColumns:
    """The columns of a model over a dictionary, the response last, as they enter sums."""

    sizes: tuple[Size, ...]
    rounding: Rounding
    raw: tuple[bool, ...]

    @classmethod
    def of(cls, model: Model, columns: Dictionary, precision: int | None) -> MadeColumns:
        """With so many bits, None being exact. InputError as of `sizes`."""
        found, twos, raw = [], [], []
        for product, size in zip(products(model), sizes(model, columns), strict=True):
            raw.append(is_raw(product, columns))
            two = None if raw[-1] else _power_of_two(product, size, precision)
            found.append(size if two is None else _rounded_size(size, two))
            twos.append(two)
        return cls(tuple(found), Rounding(tuple(twos)), tuple(raw))


def is_raw(product: DesignColumn, columns: Mapping[str, Column]) -> bool:
    """Whether it is at most one number, unchanged but for scale and origin, times indicators."""
    numbers = 0
    for expression, power in factors(product):
        if len(set(names(expression))) > 1 or _degree(expression) is None:
            return False
        if not all(isinstance(columns[name], Flag) for name in names(expression)):
            numbers += (_degree(expression) or 0) * power
    return numbers <= 1


def factors(product: DesignColumn) -> Iterator[tuple[Expression, int]]:
    """The expressions that are multiplied, each with its power; levels of the data are not."""
    for piece in product:
        if isinstance(piece.factor, Condition):
            truth = piece.factor.expression
            yield truth if piece.levels == TRUE else Not(truth), 1
        elif not isinstance(piece.factor, Category):
            polynomial = isinstance(piece.factor, Polynomial)
            yield piece.factor.expression, piece.index + 1 if polynomial else 1


def _degree(expression: Expression) -> int | None:
    """As a polynomial in the columns; None for what is not one."""
    match expression:
        case Name():
            return 1
        case Negate(argument):
            return _degree(argument)
        case Power(base, exponent):
            below = _degree(base)
            return None if below is None else below * exponent
        case Binary("/", left, right) if exact_inverse(right) is not None:
            return _degree(left)
        case Binary("+" | "-" | "*" as operation, left, right):
            a, b = _degree(left), _degree(right)
            if a is None or b is None:
                return None
            return a + b if operation == "*" else max(a, b)
        case Number():
            return 0
    return None


def _power_of_two(product: DesignColumn, size: Size, precision: int | None) -> int | None:
    """The least 2^two in which the largest magnitude has so many bits; None if exact values do."""
    if precision is None:
        if all(is_exact(expression) for expression, _ in factors(product)):
            return None
        precision = _FUNCTION_BITS
    most = (1 << precision) - 1
    if size.most <= most:
        return None
    largest = max(-size.low, size.high) / most
    two = largest.numerator.bit_length() - largest.denominator.bit_length() - 1
    while Fraction(2) ** two < largest:
        two += 1
    return two


def _rounded_size(size: Size, two: int) -> Size:
    unit = Fraction(2) ** two
    return Size(two, 0, round(size.low / unit) * unit, round(size.high / unit) * unit)
