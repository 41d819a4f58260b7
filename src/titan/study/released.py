"""The released numbers of a transcript in lines that people read.

A transcript may come from anybody: whatever its result holds, the lines are printable and few.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST_LINES = 200
_MOST_NAME = 64


def lines(result: Mapping[str, Any]) -> list[str]:
    """Of one question: the rows and the coefficients by name, or why there is no answer.

    Of several: those of each, under its name.
    """
    several = result.get("questions")
    if isinstance(several, Mapping):
        return [
            f"{_text(name)}: {line}" if at == 0 else line
            for name, each in list(several.items())[:_MOST_LINES]
            for at, line in enumerate(lines(each if isinstance(each, Mapping) else {}))
        ][:_MOST_LINES]
    if "error" in result:
        return [f"result: no answer: {_text(result['error'])}"]
    rows = result.get("nobs", result.get("rows"))
    told = f" from {_number(rows)} rows of all parties together" if rows is not None else ""
    found = result.get("params", result.get("x"))
    if not isinstance(found, Mapping) or not found:
        return [f"result{told}: no coefficients"]
    names = [_text(name) for name in list(found)[:_MOST_LINES]]
    width = max(map(len, names))
    shown = [
        f"  {name.ljust(width)}  {_number(value)}"
        for name, value in zip(names, found.values(), strict=False)
    ]
    more = [f"  and {len(found) - len(names)} more"] if len(found) > len(names) else []
    return [f"result{told}:", *shown, *more]


def _number(value: object) -> str:
    if value is None:
        return "not defined"
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value)[:40] if known else "not a number"


def _text(value: object) -> str:
    text = str(value)
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= _MOST_NAME else shown[: _MOST_NAME - 1] + "…"
