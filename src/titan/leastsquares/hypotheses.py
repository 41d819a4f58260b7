"""Linear hypotheses in words, as statsmodels' users write them: "age = 2*sex, bmi = 0".

    hypotheses := hypothesis {"," hypothesis}
    hypothesis := sum {"=" sum}                  without "=" the sum is 0
    sum        := product {("+" | "-") product}
    product    := signed {("*" | "/") signed}    one side of "*", and what divides, is a number
    signed     := {"-" | "+"} (number | name | "(" sum ")")

A name is that of a coefficient, as it stands in the table: `sex[T.m]`, `C(site)[T.b]`, `a:b`,
`I(x ** 2)`. The longest that fits is taken. A name that looks like a number goes in backquotes.
"""

# Rule 1: nothing here is executed; a text is read once, from left to right, to a bounded depth.
# Rule 2: numbers are the decimals they say, floats the binary numbers they are.

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from titan.decimals import UNSIGNED
from titan.errors import InputError
from titan.leastsquares.balls import nearest

_NUMBER = re.compile(UNSIGNED, re.ASCII)
_SIGNS = "+-*/=,()"
_MOST_DEPTH = 40
_MOST_CHARACTERS = 100_000
_MOST_NUMBER = 40
_MOST_EXPONENT = 308
_EXAMPLE = 'such as "age = 2*sex, bmi = 0"'


@dataclass(frozen=True)
class Hypotheses:
    """R x = q."""

    names: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    targets: tuple[Fraction, ...]

    @property
    def texts(self) -> list[str]:
        """Each in words."""
        pairs = zip(self.rows, self.targets, strict=True)
        return [f"{_in_words(row, self.names)} = {_decimal(q)}" for row, q in pairs]

    def __len__(self) -> int:
        return len(self.rows)


def read_hypotheses(given: Any, names: Sequence[str]) -> Hypotheses:
    """Text, several texts, {text: value}, a matrix R (then q = 0), or a pair (R, q)."""
    names = tuple(names)
    if isinstance(given, str):
        return _of_forms(_Reader(given, names).hypotheses(), names)
    if isinstance(given, Mapping):
        sides = [(str(text), value) for text, value in given.items()]
        forms = [_minus(_single(text, names), _number(value)) for text, value in sides]
        return _of_forms(forms, names)
    if isinstance(given, Sequence) and given and all(isinstance(each, str) for each in given):
        forms = [form for text in given for form in _Reader(text, names).hypotheses()]
        return _of_forms(forms, names)
    if isinstance(given, tuple) and len(given) == 2 and np.ndim(_array(given[0])) > 0:
        return _of_matrix(_array(given[0]), _array(given[1]), names)
    return _of_matrix(_array(given), None, names)


# -- matrices ---------------------------------------------------------------------------------


def _array(given: Any) -> Any:
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):
        raise InputError("the matrix of a test is not made of numbers", hint=_EXAMPLE) from None
    if found.dtype.kind not in "biufO":
        raise InputError("the matrix of a test is not made of numbers", hint=_EXAMPLE)
    return found


def _of_matrix(matrix: Any, targets: Any, names: tuple[str, ...]) -> Hypotheses:
    rows = matrix.reshape(1, -1) if matrix.ndim == 1 else matrix
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows):
        raise InputError(
            f"a matrix of shape {matrix.shape} for {len(names)} coefficients",
            hint=f"one column for each of {', '.join(names)}",
        )
    wanted = np.zeros(len(rows), int) if targets is None else np.ravel(targets)
    if len(wanted) == 1:
        wanted = np.repeat(wanted, len(rows))
    if len(wanted) != len(rows):
        raise InputError(f"{len(wanted)} values for {len(rows)} hypotheses", hint="one for each")
    exact = tuple(tuple(_number(value) for value in row) for row in rows.tolist())
    return Hypotheses(names, exact, tuple(_number(value) for value in wanted.tolist()))


def _number(value: Any) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(
            f"{type(value).__name__} stands where a number of a test should be, or it is not "
            "finite",
            hint=_EXAMPLE,
        ) from None


# -- words ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """Σ weights_j x_j + level."""

    weights: Mapping[str, Fraction]
    level: Fraction = Fraction(0)

    def plus(self, other: _Form, times: Fraction) -> _Form:
        weights = dict(self.weights)
        for name, weight in other.weights.items():
            weights[name] = weights.get(name, Fraction(0)) + times * weight
        return _Form(weights, self.level + times * other.level)

    def times(self, factor: Fraction) -> _Form:
        return _Form({}).plus(self, factor)


def _minus(form: _Form, value: Fraction) -> _Form:
    return _Form(form.weights, form.level - value)


def _single(text: str, names: tuple[str, ...]) -> _Form:
    found = _Reader(text, names).hypotheses()
    if len(found) != 1:
        raise InputError(f"{text!r} is not one hypothesis", hint=_EXAMPLE)
    return found[0]


def _of_forms(forms: Sequence[_Form], names: tuple[str, ...]) -> Hypotheses:
    rows = tuple(tuple(form.weights.get(name, Fraction(0)) for name in names) for form in forms)
    return Hypotheses(names, rows, tuple(-form.level for form in forms))


class _Reader:
    """Recursive descent, one method for each rule of the grammar."""

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise InputError(f"a hypothesis of {len(text)} characters", hint=_EXAMPLE)
        self.names = names
        self.words = list(_words(text, names))
        self.position = self.depth = 0

    @property
    def next(self) -> tuple[str, str, int]:
        return self.words[self.position]

    def take(self, signs: str) -> str:
        kind, text, _ = self.next
        found = text if kind == "sign" and text in signs else ""
        self.position += bool(found)
        return found

    def error(self, expected: str) -> InputError:
        kind, text, at = self.next
        found = "it ends here" if kind == "end" else f"found {text[:40]!r}"
        return InputError(f"hypothesis, character {at + 1}: {found}, {expected}", hint=_EXAMPLE)

    def hypotheses(self) -> list[_Form]:
        found = [*self.hypothesis()]
        while self.take(","):
            found += self.hypothesis()
        if self.next[0] != "end":
            raise self.error('"," or "=" was expected')
        return found

    def hypothesis(self) -> list[_Form]:
        sides = [self.sum()]
        while self.take("="):
            sides.append(self.sum())
        if len(sides) == 1:
            return sides
        return [one.plus(two, Fraction(-1)) for one, two in pairwise(sides)]

    def sum(self) -> _Form:
        found = self.product()
        while sign := self.take("+-"):
            found = found.plus(self.product(), Fraction(1 if sign == "+" else -1))
        return found

    def product(self) -> _Form:
        found = self.signed()
        while sign := self.take("*/"):
            other = self.signed()
            if any(found.weights.values()) and any(other.weights.values()):
                raise self.error("after coefficients multiplied with each other")
            if sign == "/":
                if any(other.weights.values()) or not other.level:
                    raise self.error("after what is not divided by a number")
                found = found.times(1 / other.level)
            elif any(other.weights.values()):
                found = other.times(found.level)
            else:
                found = found.times(other.level)
        return found

    def signed(self) -> _Form:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise self.error(f"nested deeper than {_MOST_DEPTH} levels")
        found = self.signed_once()
        self.depth -= 1
        return found

    def signed_once(self) -> _Form:
        if sign := self.take("+-"):
            return self.signed().times(Fraction(1 if sign == "+" else -1))
        if self.take("("):
            found = self.sum()
            if not self.take(")"):
                raise self.error('")" was expected')
            return found
        kind, text, _ = self.next
        if kind not in ("name", "number"):
            raise self.error(f"one of {', '.join(self.names)} or a number was expected")
        self.position += 1
        return _Form({text: Fraction(1)}) if kind == "name" else _Form({}, Fraction(text))


def _words(text: str, names: tuple[str, ...]) -> list[tuple[str, str, int]]:
    """(kind, text, where) of every word, and one that says that it ends."""
    longest = sorted((name for name in names if name), key=len, reverse=True)
    found, at = [], 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        kind, word, length = _word(text, at, longest)
        found.append((kind, word, at))
        at += length
    return [*found, ("end", "", len(text))]


def _word(text: str, at: int, names: list[str]) -> tuple[str, str, int]:
    if text[at] == "`":
        closing = text.find("`", at + 1)
        name = text[at + 1 : closing] if closing > 0 else ""
        if name in names:
            return "name", name, len(name) + 2
    number = _NUMBER.match(text, at)
    if number is not None and not _goes_on(text, number.end()):
        return "number", _short(number[0]), len(number[0])
    for name in names:
        if text.startswith(name, at) and not (
            _is_word(name[-1]) and _goes_on(text, at + len(name))
        ):
            return "name", name, len(name)
    if text[at] in _SIGNS:
        return "sign", text[at], 1
    raise InputError(
        f"hypothesis, character {at + 1}: {text[at : at + 40]!r} is not a coefficient",
        hint=f"there are {', '.join(sorted(names))}",
    )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _goes_on(text: str, at: int) -> bool:
    return at < len(text) and _is_word(text[at])


def _short(number: str) -> str:
    exponent = re.split("[eE]", number)[1:] or ["0"]
    if len(number) > _MOST_NUMBER or abs(int(exponent[0])) > _MOST_EXPONENT:
        raise InputError(f"hypothesis: the number {number[:40]} is too long", hint=_EXAMPLE)
    return number


# -- back to words ----------------------------------------------------------------------------


def _in_words(row: Sequence[Fraction], names: Sequence[str]) -> str:
    words = ""
    for weight, name in zip(row, names, strict=True):
        if weight:
            sign = ("-" if weight < 0 else "") if not words else (" - " if weight < 0 else " + ")
            size = "" if abs(weight) == 1 else f"{_decimal(abs(weight))}*"
            plain = not _NUMBER.fullmatch(name)
            words += f"{sign}{size}{name}" if plain else f"{sign}{size}`{name}`"
    return words or "0"


def _decimal(number: Fraction) -> str:
    return f"{nearest(number):.6g}"
