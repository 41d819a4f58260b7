"""How large the columns of a model can be, and of what they are multiples, before any row is read.

Interval arithmetic over the dictionary's ranges, and the powers of 2 and 5 that divide every value:
age from 0 to 120 by 1 makes I(age ** 2) whole numbers up to 14,400. All functions rise (but abs,
which is exact), and so does rounding to the nearest double: at the two ends they take the least and
the largest of the values that `titan.moments.functions` can give in between. A quotient is least
and largest where its parts are, as long as the divisor cannot be 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import frexp

from titan.errors import InputError
from titan.listing import listing
from titan.moments import expressions, functions
from titan.moments.expressions import (
    Apply,
    Binary,
    Compare,
    Expression,
    Name,
    Negate,
    Not,
    Power,
)
from titan.moments.model import Model
from titan.moments.terms import Category as Levels
from titan.moments.terms import Condition, DesignColumn, Piece, Polynomial
from titan.release.dictionary import Column, Dictionary, Flag, Number


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
    def whole(self) -> bool:
        return self.two >= 0 and self.five >= 0

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

    def __pow__(self, exponent: int) -> Size:
        """An even power of an interval around 0 begins at 0."""
        if exponent == 0:
            return _ONE
        ends = [self.low**exponent, self.high**exponent]
        if exponent % 2 == 0 and self.low < 0 < self.high:
            ends.append(Fraction(0))
        return Size(self.two * exponent, self.five * exponent, min(ends), max(ends))

    def __abs__(self) -> Size:
        ends = abs(self.low), abs(self.high)
        least = Fraction(0) if self.low < 0 < self.high else min(ends)
        return Size(self.two, self.five, least, max(ends))

    def __truediv__(self, other: Size) -> Size:
        """Rounded to doubles; ArithmeticError where there is no quotient."""
        if other.low <= 0 <= other.high:
            raise ArithmeticError("a division by zero")
        ends = [
            Fraction(functions.quotient(a, b))
            for a in (self.low, self.high)
            for b in (other.low, other.high)
        ]
        least = self.unit if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
        least = abs(Fraction(functions.quotient(least, max(-other.low, other.high))))
        return Size(_least_bit(float(least)), 0, min(ends), max(ends))

    def bits(self, rows: int) -> int:
        """⌈log₂ of the number of values⌉ that a sum over so many rows can have."""
        return int(rows * (self.high - self.low) / self.unit).bit_length()


INDICATOR = Size(0, 0, Fraction(0), Fraction(1))
_ONE = Size(0, 0, Fraction(1), Fraction(1))
_DOUBLE_BITS = 53
_LEAST_TWO = -1074  # every double is a whole multiple of this power of two


def sizes(model: Model, columns: Dictionary) -> tuple[Size, ...]:
    """Those of the model's columns, the response last, exactly as they are evaluated.

    InputError where a column is not described, or where a function has no value in the range that
    its argument can have.
    """
    columns.check_described(model.number_columns)
    found = []
    for name, product in zip(model.names, products(model), strict=True):
        try:
            found.append(_product(product, columns))
        except _DomainError as error:
            raise error.of_column(name) from None
    return tuple(found)


def expression_size(expression: Expression, columns: Dictionary, name: str) -> Size:
    """That of an expression by itself, such as an offset."""
    columns.check_described(list(expressions.names(expression)))
    try:
        return _of(expression, columns)
    except _DomainError as error:
        raise error.of_column(name) from None


def products(model: Model) -> list[DesignColumn]:
    """Every column of a model as a product of pieces, the response last."""
    return [*model.design, (Piece(model.response, 0, model.names[-1]),)]


def size_of(name: str, columns: Mapping[str, Column]) -> Size | None:
    """That of one column of the data; None where its dictionary does not tell."""
    column = columns.get(name)
    if isinstance(column, Flag):
        return INDICATOR
    if not isinstance(column, Number) or column.step is None:
        return None
    return _multiple(column.step, column.low, column.high)


def _product(column: DesignColumn, columns: Mapping[str, Column]) -> Size:
    found = _ONE
    for piece in column:
        factor = piece.factor
        if isinstance(factor, Condition):
            found *= _of(factor.expression, columns)
        elif isinstance(factor, Levels):
            signs = {weight for _, weight in piece.levels}
            found *= INDICATOR + -INDICATOR if -1 in signs else INDICATOR
        else:
            power = piece.index + 1 if isinstance(factor, Polynomial) else 1
            found *= _of(factor.expression, columns) ** power
    return found


def _of(expression: Expression, columns: Mapping[str, Column]) -> Size:
    match expression:
        case Name(name):
            found = size_of(name, columns)
            assert found is not None  # noqa: S101 - looked for before
            return found
        case expressions.Number(text):
            return _multiple(Fraction(text), Fraction(text), Fraction(text))
        case Negate(argument):
            return -_of(argument, columns)
        case Binary("*", left, right):
            if left == right:
                return _of(left, columns) ** 2
            return _of(left, columns) * _of(right, columns)
        case Binary("-", left, right):
            return _of(left, columns) + -_of(right, columns)
        case Binary("+", left, right):
            return _of(left, columns) + _of(right, columns)
        case Binary("/", left, right):
            inverse = expressions.exact_inverse(right)
            if inverse is not None:
                return _of(left, columns) * _multiple(inverse, inverse, inverse)
            return _divided(expression, _of(left, columns), _of(right, columns))
        case Binary(_, left, right) | Compare(_, left, right):
            _of(left, columns), _of(right, columns)  # which refuse what has no value
            return INDICATOR
        case Not(argument):
            return _of(argument, columns)
        case Power(base, exponent):
            return _of(base, columns) ** exponent
        case Apply():
            return _applied(expression, _of(expression.argument, columns))
    raise AssertionError("an expression of unknown kind")


def _applied(expression: Apply, argument: Size) -> Size:
    if expression.plain == "abs":
        return abs(argument)
    try:
        low, high = (functions.value(expression.plain, x) for x in (argument.low, argument.high))
    except ArithmeticError as error:
        raise _DomainError(expression, argument, str(error)) from None
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Size(_least_bit(least), 0, Fraction(low), Fraction(high))


def _divided(expression: Binary, above: Size, below: Size) -> Size:
    try:
        return above / below
    except ArithmeticError as error:
        raise _DomainError(expression, below, str(error)) from None


def _least_bit(least: float) -> int:
    """Of which power of two all doubles from this magnitude on are multiples."""
    return max(frexp(least)[1] - _DOUBLE_BITS, _LEAST_TWO) if least else _LEAST_TWO


class _DomainError(Exception):
    """A function of an argument that it may not have, or a quotient by what can be 0."""

    def __init__(self, expression: Apply | Binary, argument: Size, why: str) -> None:
        super().__init__(why)
        self.expression, self.argument = expression, argument

    def of_column(self, name: str) -> InputError:
        divided = isinstance(self.expression, Binary)
        what, instead = ("divisor", "I(x / (1 + z))") if divided else ("argument", "log(1 + x)")
        part = self.expression.right if isinstance(self.expression, Binary) else self.expression
        ends = " to ".join(map(_shown, (self.argument.low, self.argument.high)))
        of = listing(map(repr, dict.fromkeys(expressions.names(part))))
        return InputError(
            f'column "{name}": by the dictionary the {what} of {self.expression} can be from '
            f"{ends}, and {self} does not exist",
            hint=f"give {of} a narrower range, or change the formula, such as {instead}",
        )


def _shown(number: Fraction) -> str:
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a number beyond 1e308" if number > 0 else "a number below -1e308"


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
