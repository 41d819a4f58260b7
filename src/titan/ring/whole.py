"""Whole numbers as callers give them."""

from __future__ import annotations

import numpy as np

from titan.errors import InputError


def whole_number(what: str, given: object) -> int:
    """An integer of Python's or NumPy's; anything else, True and 6.0 included, is refused."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    raise InputError(f"{what}={given!r} is no whole number", hint=f"{what} is 1, 2, 3, …")
