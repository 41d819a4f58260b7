"""The released numbers of a transcript in lines that people read.

A transcript may come from anybody: whatever its result holds, the lines are printable and few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MOST_LINES = 200
_MOST_NAME = 64


def lines(result: Mapping[str, Any]) -> list[str]:
    """Of one question: the rows and the numbers by name, or why there is no answer.

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
    tables = [(title, found) for title, found in _tables(result) if found]
    if not tables:
        return [f"result{told}: no coefficients"]
    shown = [f"result{told}:"]
    for title, found in tables:
        shown += [f"{title}:"] if title else []
        shown += _rows(found)
    return shown if len(shown) <= _MOST_LINES + 2 else [*shown[:_MOST_LINES], "  and more"]


def _tables(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Numbers by name, whatever was asked for; a title where one answer has several tables."""
    path, columns = result.get("path"), result.get("columns")
    for each in path[:_MOST_LINES] if isinstance(path, list) else ():
        if isinstance(each, Mapping):
            yield f"alpha {_number(each.get('alpha'))}", _named(each.get("params"))
    yield "", _named(result.get("params", result.get("x", result.get("value"))))
    for name, each in list(_named(columns).items())[:_MOST_LINES]:
        if isinstance(each, Mapping):
            keys = ("mean", "std", "count", "missing")
            yield _text(name), {key: each[key] for key in keys if key in each}
            yield f"{_text(name)}, rows by level", _named(each.get("levels"))


def _named(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _rows(found: Mapping[str, Any]) -> list[str]:
    names = [_text(name) for name in list(found)[:_MOST_LINES]]
    width = max(map(len, names))
    shown = [
        f"  {name.ljust(width)}  {_number(value)}"
        for name, value in zip(names, found.values(), strict=False)
    ]
    return shown + ([f"  and {len(found) - len(names)} more"] if len(found) > len(names) else [])


def _number(value: object) -> str:
    if value is None:
        return "not defined"
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value)[:40] if known else "not a number"


def _text(value: object) -> str:
    text = str(value)
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= _MOST_NAME else shown[: _MOST_NAME - 1] + "…"
