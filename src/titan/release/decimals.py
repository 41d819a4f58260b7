"""Decimal numbers as a study writes them, exactly: text in, the same text out."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import Any

from titan.decimals import MOST_DIGITS, decimal
from titan.errors import InputError

_MOST_EXPONENT = 308


def read_decimal(given: Any) -> Fraction:
    """A decimal number as text, or a whole number or Decimal; a float is none of these."""
    whole = type(given) is int and abs(given) < 10**MOST_DIGITS
    text = str(given) if whole or type(given) in (str, Decimal) else ""
    try:
        return check_decimal(decimal(text, _MOST_EXPONENT))
    except ValueError:
        raise _refused() from None


def check_decimal(number: Fraction) -> Fraction:
    """The number, if its text can be read back."""
    if len(decimal_text(number)) > MOST_DIGITS:
        raise _refused()
    return number


def _refused() -> InputError:
    return InputError(
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
