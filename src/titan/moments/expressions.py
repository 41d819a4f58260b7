"""Arithmetic of one number per row, as a formula may write it: a small tree, evaluated exactly.

    Name(x)  Number(0.5)  Negate(e)  Binary("+" | "-" | "*", e, e)  Power(e, 3)  Apply("log", e)

There is nothing else, so there is nothing else a formula could do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from titan.moments import arithmetic, functions
from titan.moments.columns import Column

_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
"""How tightly an operation binds, for printing no more parentheses than needed."""

_OPERATIONS: dict[str, tuple[int, Callable[[Column, Column], Column]]] = {
    "+": (_SUM, arithmetic.add),
    "-": (_SUM, arithmetic.subtract),
    "*": (_PRODUCT, arithmetic.multiply),
}


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
class Binary:
    operation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        binding = _OPERATIONS[self.operation][0]
        left, right = _within(self.left, binding), _within(self.right, binding + 1)
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
    argument: Expression

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"


Expression = Name | Number | Negate | Binary | Power | Apply


def evaluate(expression: Expression, columns: Mapping[str, Column], rows: int) -> Column:
    """The exact value in every row; functions.DomainError where a function has none."""

    def of(part: Expression) -> Column:
        return evaluate(part, columns, rows)

    match expression:
        case Name(name):
            return columns[name]
        case Number(text):
            return Column.constant(Fraction(text), rows)
        case Negate(argument):
            return arithmetic.negate(of(argument))
        case Binary(operation, left, right):
            return _OPERATIONS[operation][1](of(left), of(right))
        case Power(base, exponent):
            return arithmetic.power(of(base), exponent)
        case Apply(function, argument):
            return functions.apply(function, of(argument))


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    yield expression
    match expression:
        case Negate(argument) | Apply(_, argument):
            yield from parts(argument)
        case Binary(_, left, right):
            yield from parts(left)
            yield from parts(right)
        case Power(base, _):
            yield from parts(base)


def names(expression: Expression) -> Iterator[str]:
    """The columns it speaks of, in order, with repetitions."""
    return (part.name for part in parts(expression) if isinstance(part, Name))


def degree(expression: Expression) -> int:
    """A bound on how many times longer than its inputs the result can be: x * x ** 2 has 3."""
    match expression:
        case Name() | Number() | Apply():
            return 1
        case Negate(argument):
            return degree(argument)
        case Binary("*", left, right):
            return degree(left) + degree(right)
        case Binary(_, left, right):
            return max(degree(left), degree(right))
        case Power(base, exponent):
            return degree(base) * max(exponent, 1)


def digits(expression: Expression) -> int:
    """A bound on how many decimal digits the constants add to the result: 2.5 * x has 2."""
    return sum(_digits(expression))


def _digits(expression: Expression) -> tuple[int, int]:
    """Those before the decimal point and those after it."""
    match expression:
        case Name() | Apply():
            return 0, 0
        case Number(text):
            mantissa, _, exponent = text.lower().partition("e")
            whole, _, fraction = mantissa.partition(".")
            shift = int(exponent or 0)
            return max(len(whole) + shift, 0), max(len(fraction) - shift, 0)
        case Negate(argument):
            return _digits(argument)
        case Power(base, exponent):
            before, after = _digits(base)
            return before * max(exponent, 1), after * max(exponent, 1)
        case Binary(operation, left, right):
            (a, b), (c, d) = _digits(left), _digits(right)
            return (a + c, b + d) if operation == "*" else (max(a, c), max(b, d))


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
    return {Negate: _SIGN, Power: _POWER}.get(type(expression), _ATOM)
