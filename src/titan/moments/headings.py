"""Names of columns in messages: shown where they are names, never where they may be a row.

A file whose first line is not a header has a row in the place of the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from titan.listing import listing

_MOST_CHARACTERS = 64
_LIKE_DATA = re.compile(r"[+-]?[.,]?[0-9]|-----BEGIN ")  # numbers, dates; the files of keys
NO_HEADER = (
    "line 1 looks like data, not like names of columns, and is not shown here: "
    "a file needs a first line that names its columns"
)


def may_be_shown(names: Iterable[str]) -> bool:
    """Whether all of these read as names: a row of people's data nearly always has a number."""
    return all(
        len(name) <= _MOST_CHARACTERS and name.isprintable() and not _LIKE_DATA.match(name.strip())
        for name in names
    )


def instead(missing: Iterable[str], names: Sequence[str]) -> str:
    """The same, and which of them may have been meant."""
    close = [each for name in missing for each in get_close_matches(name, names, 1)]
    if not close or not may_be_shown(names):
        return listed(names)
    meant = " and ".join(f'"{name}"' for name in dict.fromkeys(close))
    return f"{listed(names)}; did you mean {meant}?"


def listed(names: Sequence[str], most: int = 20) -> str:
    """For a hint: what the columns are called, or that they have no names."""
    if not may_be_shown(names):
        return NO_HEADER
    return "there are " + listing((f'"{name}"' for name in names), most)
