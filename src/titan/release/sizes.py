"""How large the columns of a model can be, and of what they are multiples, before any row is read.

Interval arithmetic over the dictionary's ranges, and the powers of 2 and 5 that divide every value:
age from 0 to 120 by 1 makes I(age ** 2) whole numbers up to 14,400. Functions such as log make
numbers of no such kind, and so does a column without range or step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from titan.moments import expressions
from titan.moments.expressions import Apply, Binary, Expression, Name, Negate, Power
from titan.moments.model import Model
from titan.moments.terms import Category as Levels
from titan.moments.terms import DesignColumn, Polynomial
from titan.release.dictionary import Column, Flag, Number


@dataclass(frozen=True)
class Size:
    """Whole multiples of 2^two · 5^five, from `low` to `high`."""

    two: int
    five: int
    low: Fraction
    high: Fraction

    @property
    def unit(self) -> Fraction:
        return Fraction(2) ** self.two * Fraction(5) ** self.five

    @property
    def most(self) -> int:
        """The largest magnitude, in units."""
        return max(1, int(max(-self.low, self.high) / self.unit))

    def __add__(self, other: Size) -> Size:
        two, five = min(self.two, other.two), min(self.five, other.five)
        return Size(two, five, self.low + other.low, self.high + other.high)

    def __neg__(self) -> Size:
        return Size(self.two, self.five, -self.high, -self.low)

    def __mul__(self, other: Size) -> Size:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Size(self.two + other.two, self.five + other.five, min(ends), max(ends))


INDICATOR = Size(0, 0, Fraction(0), Fraction(1))
_ONE = Size(0, 0, Fraction(1), Fraction(1))


def sizes(model: Model, columns: Mapping[str, Column]) -> tuple[Size, ...] | None:
    """Those of the model's columns, the response last; None where one is not known."""
    try:
        found = [_product(column, columns) for column in model.design]
        return (*found, _of(model.response.expression, columns))
    except LookupError:
        return None


def size_of(name: str, columns: Mapping[str, Column]) -> Size | None:
    """That of one column of the data."""
    try:
        return _of(Name(name), columns)
    except LookupError:
        return None


def _product(column: DesignColumn, columns: Mapping[str, Column]) -> Size:
    found = _ONE
    for piece in column:
        factor = piece.factor
        if isinstance(factor, Levels):
            found *= INDICATOR
        else:
            power = piece.index + 1 if isinstance(factor, Polynomial) else 1
            found *= _power(_of(factor.expression, columns), power)
    return found


def _of(expression: Expression, columns: Mapping[str, Column]) -> Size:
    """LookupError where a size is not known."""
    match expression:
        case Name(name):
            return _column(columns[name])
        case expressions.Number(text):
            return _multiple(Fraction(text), Fraction(text), Fraction(text))
        case Negate(argument):
            return -_of(argument, columns)
        case Binary("*", left, right):
            return _of(left, columns) * _of(right, columns)
        case Binary("-", left, right):
            return _of(left, columns) + -_of(right, columns)
        case Binary(_, left, right):
            return _of(left, columns) + _of(right, columns)
        case Power(base, exponent):
            return _power(_of(base, columns), exponent)
        case Apply():
            raise LookupError
    raise AssertionError("an expression of unknown kind")


def _column(column: Column) -> Size:
    if isinstance(column, Flag):
        return INDICATOR
    if not isinstance(column, Number) or column.step is None:
        raise LookupError
    return _multiple(column.step, column.low, column.high)


def _multiple(step: Fraction, low: Fraction, high: Fraction) -> Size:
    """The largest 2^a · 5^b of which the step and the lower end are whole multiples."""
    given = [x for x in (step, low) if x] if step else [Fraction(1)]
    two, five = (min(_valuation(x, prime) for x in given) for prime in (2, 5))
    return Size(two, five, low, high)


def _valuation(x: Fraction, prime: int) -> int:
    """How often a prime divides a number that is not 0."""
    count, above, below = 0, x.numerator, x.denominator
    while above % prime == 0:
        above, count = above // prime, count + 1
    while below % prime == 0:
        below, count = below // prime, count - 1
    return count


def _power(base: Size, exponent: int) -> Size:
    """An even power of an interval around 0 begins at 0."""
    if exponent == 0:
        return _ONE
    ends = [base.low**exponent, base.high**exponent]
    if exponent % 2 == 0 and base.low < 0 < base.high:
        ends.append(Fraction(0))
    return Size(base.two * exponent, base.five * exponent, min(ends), max(ends))
