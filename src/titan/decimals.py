"""Decimal text as the number it is: 0.1 is 1/10; and exact numbers as such text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import Any

from titan.errors import InputError

UNSIGNED = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
MOST_DIGITS = 400
_MOST_EXPONENT = 308  # of a number in a study
_SIGNED = re.compile(f"[+-]?{UNSIGNED}")


def decimal(text: str, most_exponent: int = MOST_DIGITS) -> Fraction:
    """ValueError says in words what is wrong with the text."""
    if not _SIGNED.fullmatch(text):
        raise ValueError("not a decimal number")
    _, _, exponent = text.lower().partition("e")
    if len(text) > MOST_DIGITS or abs(int(exponent or 0)) > most_exponent:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return Fraction(text)


def read_decimal(given: Any) -> Fraction:
    """A number of a study: text, a whole number, a Decimal, a Fraction whose text can be read back.

    A float is none of these.
    """
    whole = type(given) is int and abs(given) < 10**MOST_DIGITS
    text = str(given) if whole or type(given) in (str, Decimal) else ""
    try:
        number = given if isinstance(given, Fraction) else decimal(text, _MOST_EXPONENT)
        if len(decimal_text(number)) <= MOST_DIGITS:
            return number
    except ValueError:
        pass
    raise InputError(
        "not a decimal number, or a very long one", hint='such as "0", "-1.5" or "1e6"'
    )


def decimal_text(number: Fraction) -> str:
    """A decimal fraction in its one form: no exponent, no zeros that say nothing."""
    places, rest = 0, number.denominator
    while rest > 1 and places <= MOST_DIGITS:  # forever, for what is not a decimal fraction
        rest //= gcd(rest, 10)
        places += 1
    digits = str(abs(number.numerator) * 10**places // number.denominator).zfill(places + 1)
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if number < 0 else text
