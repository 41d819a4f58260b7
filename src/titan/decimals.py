"""Decimal text as the number it is: 0.1 is 1/10."""

from __future__ import annotations

import re
from fractions import Fraction

UNSIGNED = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
MOST_DIGITS = 400
_SIGNED = re.compile(f"[+-]?{UNSIGNED}")


def decimal(text: str, most_exponent: int = MOST_DIGITS) -> Fraction:
    """ValueError says in words what is wrong with the text."""
    if not _SIGNED.fullmatch(text):
        raise ValueError("not a decimal number")
    _, _, exponent = text.lower().partition("e")
    if len(text) > MOST_DIGITS or abs(int(exponent or 0)) > most_exponent:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return Fraction(text)
