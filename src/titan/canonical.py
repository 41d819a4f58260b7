"""Canonical JSON: one way to write a value, strict ways to read it, exact numbers as text.

an integer    hexadecimal: 0, 2a, -ff
a fraction    an integer, or 3p-127 for 3·2^-127, or 1/3: in lowest terms
a float       a JSON number, which is the shortest text for it; "inf", "-inf" or "nan"
"""

# Rule: every complaint is a ValueError that says what is wrong in words that fit after "…: ".

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

_MOST_TEXT = 1 << 8
MOST_NAME = 1 << 16
MOST_EXPONENT = MOST_BITS = 1 << 16
"""Of powers of two and of whole numbers in files: products of centred columns that fill the range
of float64 have 15,000 bits, studies some hundreds. What reads them takes the square of it."""
MOST_DEPTH = 32
"""How deep fields may stand in each other: real files are 8 deep, and what reads them recurses."""
_INTEGER = "0|-?[1-9a-f][0-9a-f]*"
_EXACT = re.compile(
    rf"(?P<top>{_INTEGER})(?:p-(?P<power>[1-9][0-9]{{0,5}})|/(?P<under>[0-9a-f]+))?"
)
_is_integer = re.compile(_INTEGER).fullmatch
_NOT_FINITE = ("inf", "-inf", "nan")


def canonical(value: object) -> bytes:
    """Sorted keys, no spaces, ASCII; ValueError for what is not finite."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parsed(data: bytes, most: int) -> dict[str, Any]:
    """The fields in a file of at most so many bytes; whether `canonical` writes it, callers ask."""
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    try:
        found = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON, or is cut short") from None
    if not _within(found, MOST_DEPTH):
        raise ValueError(f"its fields stand more than {MOST_DEPTH} deep in each other")
    return mapping(found)


def _within(value: object, depth: int) -> bool:
    """Whether lists and fields stand in each other no deeper; nothing here calls itself."""
    level = [value]
    for _ in range(depth):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return True
    return False


def finite(value: Any) -> Any:
    """JSON knows no infinity and nothing undefined: both are None."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- one field --------------------------------------------------------------------------------


def keys(
    value: object, expected: Iterable[str], later: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Exactly these; `later` are fields, with their values, that older files lack all together."""
    found, wanted = mapping(value), {*expected, *later}
    if not later.keys() & found.keys():
        found = {**later, **found}
    if set(found) != wanted:
        raise ValueError(f"it must have exactly the fields {', '.join(sorted(wanted))} somewhere")
    return found


def mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a list or number stands where fields should be")
    return value


def listed(value: object, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or count not in (None, len(value)):
        raise ValueError("something else stands where a list should be")
    return value


def text(value: object, most: int = _MOST_TEXT) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= most:
        raise ValueError(f"a name or text is missing, or longer than {most} characters")
    return value


def whole(value: object, least: int = 0, most: int = 1 << 40) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"a number is not a whole one from {least} to {most}")
    return value


def name(value: object) -> str:
    """Of a column: any text in one line, also none."""
    found = "" if value == "" else text(value, MOST_NAME)
    if len(found.splitlines()) > 1 or found.endswith(("\n", "\r")):
        raise ValueError("a name has a line break")
    return found


def names(value: object) -> tuple[str, ...]:
    found = tuple(map(name, listed(value)))
    if not found or len(set(found)) < len(found):
        raise ValueError("names are missing, or one stands twice")
    return found


def exponents(value: object, count: int) -> tuple[int, ...]:
    return tuple(whole(s, -MOST_EXPONENT, MOST_EXPONENT) for s in listed(value, count))


def flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError("something else stands where true or false should be")
    return value


def hexadecimal(value: object, *, exactly: int | None = None, most: int = _MOST_TEXT) -> str:
    """Pairs of hexadecimal digits in lower case."""
    if (
        not isinstance(value, str)
        or not re.fullmatch(r"([0-9a-f]{2})+", value, re.ASCII)
        or len(value) > most
        or (exactly is not None and len(value) != exactly)
    ):
        raise ValueError("a digest, nonce or signature is not the right number of hex digits")
    return value


# -- numbers ----------------------------------------------------------------------------------


def float_text(number: float) -> float | str:
    return number if math.isfinite(number) else repr(number)


def read_float(value: object) -> float:
    if type(value) is float or (isinstance(value, str) and value in _NOT_FINITE):
        return float(value)
    raise ValueError("something else stands where a floating-point number should be")


def read_integer(value: object) -> int:
    if not isinstance(value, str) or not _is_integer(value):
        raise ValueError("something else stands where an integer should be")
    return _whole(value)


def _whole(digits: str) -> int:
    if 4 * len(digits) > MOST_BITS:
        raise ValueError(f"an integer has more than {MOST_BITS} bits")
    return int(digits, 16)


def exact_text(number: int | Fraction) -> str:
    top, under = Fraction(number).as_integer_ratio()
    if under & (under - 1):
        return f"{top:x}/{under:x}"
    return f"{top:x}" if under == 1 else f"{top:x}p-{under.bit_length() - 1}"


def read_exact(value: object) -> Fraction:
    found = _EXACT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("something else stands where an exact number should be")
    power = int(found["power"] or 0)
    if power > MOST_BITS:
        raise ValueError(f"a fraction has more than {MOST_BITS} bits")
    under = 1 << power if power else _whole(found["under"] or "1")
    number = Fraction(_whole(found["top"]), under) if under else Fraction(0)
    if exact_text(number) != value:
        raise ValueError("a fraction is not in lowest terms")
    return number


def read_double(value: object) -> Fraction:
    """An exact number that a double is near."""
    number = read_exact(value)
    try:
        float(number)
    except OverflowError:
        raise ValueError("a number is out of range") from None
    return number


def triangle_text(matrix: Sequence[Sequence[int]]) -> list[str]:
    """The lower triangle of a symmetric matrix, row by row."""
    return [" ".join(f"{v:x}" for v in row[: j + 1]) for j, row in enumerate(matrix)]


def read_triangle(value: object, n: int) -> list[int]:
    """Its integers in the same order."""
    rows = [str(row).split(" ") for row in listed(value, n)]
    entries = [entry for row in rows for entry in row]
    if [len(row) for row in rows] != list(range(1, n + 1)) or not all(map(_is_integer, entries)):
        raise ValueError("a matrix does not have its integers, row after row")
    return list(map(_whole, entries))


def near(one: Any, other: Any, tolerance: float) -> bool:
    """The same but for the last digits of floats."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance)
    if type(one) is not type(other):
        return False
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(
            near(one[key], other[key], tolerance) for key in other
        )
    if isinstance(other, list):
        return len(one) == len(other) and all(
            near(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    return bool(one == other)
