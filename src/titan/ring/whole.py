"""Numbers, whole ones above all: as callers give them, and as files of others must have them."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from operator import index
from typing import SupportsIndex

from titan.errors import InputError


def as_whole(given: object) -> int | None:
    """An integer of Python's or NumPy's; None for anything else, True and 6.0 included."""
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        return None
    try:
        return index(given)
    except TypeError:  # an array has the method even where it has no answer
        return None


def whole_number(what: str, given: object, error: type[InputError] = InputError) -> int:
    """The same, or an error that says what was to be one."""
    found = as_whole(given)
    if found is None:
        raise error(
            f"{what}={given!r} is not a whole number", hint=f"{what} is 1, 2, 3, …", choice=what
        )
    return found


def is_whole(read: object, least: int, most: int) -> bool:
    """Whether what was read from a file is an integer in this range; true and 1.0 are not."""
    return type(read) is int and least <= read <= most


def real_number(what: str, given: object) -> float:
    """A number of any kind as a float; text, None and lists are refused."""
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        raise InputError(f"{what} is {given!r}", hint="a number, as 0.05", choice=what)
    return float(given)
