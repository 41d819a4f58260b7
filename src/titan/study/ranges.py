"""Ranges that values must lie in, exact: decimal text in, the same decimal text out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from titan.errors import DataError, InputError
from titan.moments.model import Readings

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_MOST_CHARACTERS = 400
_MOST_EXPONENT = 308


@dataclass(frozen=True, order=True)
class Range:
    """What a column's values may be, both ends included."""

    column: str
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if len(decimal_text(end)) > _MOST_CHARACTERS:  # then it would not read back
                raise _refused(self.column)
        if self.low > self.high:
            raise InputError(
                f'the range of "{self.column}" is empty: '
                f"{decimal_text(self.low)} is above {decimal_text(self.high)}"
            )

    @classmethod
    def read(cls, column: str, low: Any, high: Any) -> Range:
        """Ends as decimal text, or as whole numbers and decimals."""
        return cls(column, _number(column, low), _number(column, high))

    def as_list(self) -> list[str]:
        return [decimal_text(self.low), decimal_text(self.high)]

    def __contains__(self, value: Fraction | int) -> bool:
        return self.low <= value <= self.high


def refuse_outside(ranges: Iterable[Range], readings: Readings) -> None:
    """Refuse a party's own rows where a value is outside its range; the error does not show it."""
    for item in ranges:
        column = readings.numbers[item.column]
        if not len(column):
            continue
        for at in (column.numbers.argmin(), column.numbers.argmax()):  # units are positive
            (value,) = column.take(np.array([at], np.intp)).fractions()
            if value not in item:
                raise DataError(
                    f'{readings.place(int(at))}, column "{item.column}": a value outside the '
                    f"study's range, {' to '.join(item.as_list())}",
                    hint="correct it, or leave the row out",
                )


def _number(column: str, given: Any) -> Fraction:
    whole = type(given) is int and abs(given) < 10**_MOST_CHARACTERS
    text = str(given) if whole or type(given) in (str, Decimal) else ""
    exponent = re.split("[eE]", text)[1:] or ["0"]
    fits = len(text) <= _MOST_CHARACTERS and _DECIMAL.fullmatch(text)
    if not fits or abs(int(exponent[0])) > _MOST_EXPONENT:
        raise _refused(column)
    return Fraction(text)


def _refused(column: str) -> InputError:
    return InputError(
        f'the range of "{column}" has an end that is no decimal number, or a very long one',
        hint='such as "0", "-1.5" or "1e6"',
    )


def decimal_text(number: Fraction) -> str:
    """A decimal fraction in its one form: no exponent, no zeros that say nothing."""
    places, rest = 0, number.denominator
    while rest > 1 and places <= _MOST_CHARACTERS:  # forever, for what is no decimal fraction
        rest //= gcd(rest, 10)
        places += 1
    digits = str(abs(number.numerator) * 10**places // number.denominator).zfill(places + 1)
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if number < 0 else text
