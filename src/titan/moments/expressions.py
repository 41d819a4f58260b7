"""Arithmetic of one number per row, as a formula may write it: a small tree, evaluated exactly.

    Name(x)  Number(0.5)  Negate(e)  Binary("+" | "-" | "*" | "/" | "&" | "|", e, e)  Power(e, 3)
    Compare(">", e, e)  Not(e)  Apply("log", e)  Centred(e)

There is nothing else, so there is nothing else a formula could do. Centred(e) is e less its mean
over all rows, which some rows do not know: it is never evaluated, only put into other words
(`centring`). Comparisons are of exact
numbers, and are 1 where true and 0 where not. Sums, products, powers and abs are exact. Functions
and quotients are rounded once, to the nearest double; but a quotient by a constant with no prime
but 2 and 5 is exact: x / 4 is 0.25 * x.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from titan.moments import arithmetic, functions
from titan.moments.columns import Column
from titan.moments.formula_words import NUMPY

_COMPARED, _EITHER, _BOTH, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(8)
"""How tightly an operation binds, for printing no more parentheses than needed."""

FUNCTIONS = (*functions.FUNCTIONS, "abs")

_OPERATIONS: dict[str, tuple[int, Callable[[Column, Column], Column]]] = {
    "+": (_SUM, arithmetic.add),
    "-": (_SUM, arithmetic.subtract),
    "*": (_PRODUCT, arithmetic.multiply),
    "/": (_PRODUCT, functions.divide),
    "&": (_BOTH, arithmetic.multiply),
    "|": (_EITHER, arithmetic.either),
}
_EXACT = ("+", "-", "*", "&", "|")


@dataclass(frozen=True)
class Name:
    """A column of the data."""

    name: str

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Number:
    """A finite decimal, as it was written."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Negate:
    argument: Expression

    def __str__(self) -> str:
        return f"-{_within(self.argument, _SIGN)}"


@dataclass(frozen=True)
class Not:
    """1 where the argument, a truth value, is 0."""

    argument: Expression

    def __str__(self) -> str:
        return f"~{_within(self.argument, _SIGN)}"


@dataclass(frozen=True)
class Binary:
    operation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        binding = _OPERATIONS[self.operation][0]
        left, right = _within(self.left, binding), _within(self.right, binding + 1)
        return f"{left} {self.operation} {right}"


@dataclass(frozen=True)
class Compare:
    """1 where it is true, 0 where it is not."""

    operation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        left, right = _within(self.left, _EITHER), _within(self.right, _EITHER)
        return f"{left} {self.operation} {right}"


@dataclass(frozen=True)
class Power:
    base: Expression
    exponent: int

    def __str__(self) -> str:
        return f"{_within(self.base, _ATOM)} ** {self.exponent}"


@dataclass(frozen=True)
class Apply:
    function: str
    """As it was written, np.log or log."""
    argument: Expression

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"

    @property
    def plain(self) -> str:
        return self.function.removeprefix(NUMPY)


@dataclass(frozen=True)
class Centred:
    """What it is in a row, less its mean over all rows."""

    argument: Expression

    def __str__(self) -> str:
        return f"center({self.argument})"


Expression = Name | Number | Negate | Not | Binary | Compare | Power | Apply | Centred


def is_function(name: str) -> bool:
    return name.removeprefix(NUMPY) in FUNCTIONS


def evaluate(expression: Expression, columns: Mapping[str, Column], rows: int) -> Column:
    """The value in every row; functions.DomainError where there is none."""

    def of(part: Expression) -> Column:
        return evaluate(part, columns, rows)

    match expression:
        case Name(name):
            return columns[name]
        case Number(text):
            return Column.constant(Fraction(text), rows)
        case Negate(argument):
            return arithmetic.negate(of(argument))
        case Not(argument):
            return arithmetic.subtract(Column.constant(Fraction(1), rows), of(argument))
        case Binary("/", left, right) if (inverse := exact_inverse(right)) is not None:
            return arithmetic.multiply(of(left), Column.constant(inverse, rows))
        case Binary(operation, left, right):
            return _OPERATIONS[operation][1](of(left), of(right))
        case Compare(operation, left, right):
            one, other = of(left), of(right)
            one, other = _as_read(left, one, other), _as_read(right, other, one)
            return arithmetic.compare(operation, one, other)
        case Power(base, exponent):
            return arithmetic.power(of(base), exponent)
        case Apply(_, argument):
            value = of(argument)
            if expression.plain == "abs":
                return arithmetic.absolute(value)
            return functions.apply(expression.plain, value)
        case Centred():
            raise AssertionError("what is centred is put into other words before")


def _as_read(side: Expression, values: Column, beside: Column) -> Column:
    """A constant beside binary numbers is a binary number too: 0.1 is then the double that is read.

    Else a double that was written as 0.1 would not be equal to 0.1.
    """
    if beside.numbers.dtype != float or not _is_constant(side) or not len(values):
        return values
    try:
        nearest = float(Column(values.numbers[:1], values.two, values.five).fractions()[0])
    except OverflowError:
        return values
    return Column.constant(Fraction(nearest), len(values))


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    yield expression
    for part in _operands(expression):
        yield from parts(part)


def _operands(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Negate(argument) | Not(argument) | Apply(_, argument) | Centred(argument):
            return (argument,)
        case Binary(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Power(base, _):
            return (base,)
    return ()


def names(expression: Expression) -> Iterator[str]:
    """The columns it speaks of, in order, with repetitions."""
    return (part.name for part in parts(expression) if isinstance(part, Name))


# -- truth values -----------------------------------------------------------------------------


def is_truth(expression: Expression) -> bool:
    """Whether it is true or false in every row, as NumPy has it."""
    match expression:
        case Compare() | Not() | Binary("&" | "|", _, _):
            return True
        case Binary("*", left, right):
            return is_truth(left) and is_truth(right)
    return False


def truths(expression: Expression) -> Iterator[Expression]:
    """The truth values in it, the largest ones alone: they divide the rows."""
    if is_truth(expression):
        yield expression
        return
    for part in _operands(expression):
        yield from truths(part)


def is_exact(expression: Expression) -> bool:
    """Whether nothing in it is rounded: neither a function but abs nor most quotients are there."""
    match expression:
        case Apply() if expression.plain != "abs":
            return False
        case Binary("/", _, right) if exact_inverse(right) is None:
            return False
        case Compare():
            return True
    return all(map(is_exact, _operands(expression)))


# -- constants --------------------------------------------------------------------------------


def exact_inverse(expression: Expression) -> Fraction | None:
    """1 divided by a constant, where that is a finite decimal; None of all else.

    The powers in it are to be bounded before.
    """
    if not _is_constant(expression):
        return None
    column = evaluate(expression, {}, 1)
    found = column.fractions()[0]
    if not found:
        return None
    inverse = 1 / found
    return inverse if Column.of_fractions([inverse])[1] == 1 else None


def divides_by_zero(expression: Expression) -> bool:
    """Whether this very operation is a division by the constant 0."""
    match expression:
        case Binary("/", _, right) if _is_constant(right):
            return not evaluate(right, {}, 1).fractions()[0]
    return False


def _is_constant(expression: Expression) -> bool:
    """Without columns, functions and quotients."""
    match expression:
        case Number():
            return True
        case Binary("/", _, _) | Name() | Apply() | Compare() | Not() | Centred():
            return False
    return all(map(_is_constant, _operands(expression)))


# -- bounds -----------------------------------------------------------------------------------


def degree(expression: Expression) -> int:
    """A bound on how many times longer than its inputs numbers become: x * x ** 2 has 3.

    Arguments of functions were bounded by themselves, and their results are doubles.
    """
    match expression:
        case Name() | Number() | Apply():
            return 1
        case Negate(argument) | Not(argument) | Centred(argument):
            return degree(argument)
        case Binary("*" | "&" | "|", left, right):
            return degree(left) + degree(right)
        case Binary(_, left, right) | Compare(_, left, right):
            return max(degree(left), degree(right))
        case Power(base, exponent):
            return degree(base) * max(exponent, 1)


def digits(expression: Expression) -> int:
    """A bound on how many decimal digits the constants add to the result: 2.5 * x has 2."""
    return sum(_digits(expression))


def digits_inside(expression: Expression) -> int:
    """The most that they add to what is compared or divided in it, whatever comes of that."""
    compared = (p for p in parts(expression) if isinstance(p, Compare | Binary))
    sides = (side for p in compared if p.operation not in _EXACT for side in (p.left, p.right))
    return max(map(digits, sides), default=0)


def _digits(expression: Expression) -> tuple[int, int]:
    """Those before the decimal point and those after it."""
    match expression:
        case Name() | Compare() | Not() | Binary("&" | "|", _, _):
            return 0, 0
        case Apply(_, argument):
            return _digits(argument) if expression.plain == "abs" else (0, 0)
        case Number(text):
            mantissa, _, exponent = text.lower().partition("e")
            whole, _, fraction = mantissa.partition(".")
            shift = int(exponent or 0)
            return max(len(whole) + shift, 0), max(len(fraction) - shift, 0)
        case Negate(argument) | Centred(argument):
            return _digits(argument)
        case Power(base, exponent):
            before, after = _digits(base)
            return before * max(exponent, 1), after * max(exponent, 1)
        case Binary("/", left, right):
            inverse = exact_inverse(right)
            if inverse is None:
                return 0, 0
            (a, b), (c, d) = _digits(left), _decimal_places(inverse)
            return a + c, b + d
        case Binary(operation, left, right):
            (a, b), (c, d) = _digits(left), _digits(right)
            return (a + c, b + d) if operation == "*" else (max(a, c), max(b, d))


def _decimal_places(number: Fraction) -> tuple[int, int]:
    column = Column.of_fractions([number])[0]
    return len(str(abs(int(number)))), max(-column.two, -column.five, 0)


# -- text -------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """The name as a formula writes it: bare where that can be read back, else Q("…")."""
    return name if is_plain(name) else f"Q({text_literal(name)})"


def is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("__")


def text_literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _within(part: Expression, binding: int) -> str:
    return str(part) if _binding(part) >= binding else f"({part})"


def _binding(expression: Expression) -> int:
    if isinstance(expression, Binary):
        return _OPERATIONS[expression.operation][0]
    kinds = {Negate: _SIGN, Not: _SIGN, Power: _POWER, Compare: _COMPARED}
    return kinds.get(type(expression), _ATOM)
