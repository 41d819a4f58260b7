"""Any answer's JSON as tables: for what has no table of its own, and for kinds not known yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from titan.markup import Html, tag
from titan.report.labels import label
from titan.report.numbers import plain
from titan.report.tables import grid, pairs

_DEEPEST = 6
_FEW = 6  # values of a list in one cell


def rest(answer: Mapping[str, Any], title: str = "") -> Iterator[Html]:
    """Single values together, then a table for everything that has parts."""
    yield from _of(answer, title, _DEEPEST)


def _of(answer: Mapping[str, Any], title: str, depth: int) -> Iterator[Html]:
    single = {key: value for key, value in answer.items() if _is_single(value)}
    called = label if depth == _DEEPEST else str  # further down names may be those of users
    if single:
        yield pairs(title, [(called(key), _single(value)) for key, value in single.items()])
    for key, value in answer.items():
        if key in single:
            continue
        name = f"{title}: {called(key)}" if title else called(key)
        if depth and isinstance(value, Mapping):
            yield from _table(value, name, depth)
        elif depth and isinstance(value, list | tuple):
            yield from _list(value, name, depth)
        else:
            yield pairs(name, [("", tag("code", str(value)))])


def _table(value: Mapping[str, Any], name: str, depth: int) -> Iterator[Html]:
    """Rows of one shape are one table; all else is taken apart."""
    inner = list(value.values())
    if _same_keys(inner):
        heads = ["", *map(label, inner[0])]
        yield grid(name, heads, [[key, *map(_single, row.values())] for key, row in value.items()])
    elif _same_lengths(inner):
        yield grid(name, (), [[key, *map(_single, row)] for key, row in value.items()])
    elif all(map(_is_single, inner)):
        yield grid(name, (), [(key, _single(each)) for key, each in value.items()], kind="pairs")
    else:
        yield from _of(value, name, depth - 1)


def _list(values: Sequence[Any], name: str, depth: int) -> Iterator[Html]:
    if _same_keys(values):
        heads = ["", *map(label, values[0])]
        rows = [[str(at), *map(_single, row.values())] for at, row in enumerate(values, 1)]
        yield grid(name, heads, rows)
    elif all(map(_is_single, values)):
        yield grid(name, (), [(str(at), _single(each)) for at, each in enumerate(values, 1)])
    else:
        yield from _of({str(at): each for at, each in enumerate(values, 1)}, name, depth - 1)


def _is_single(value: Any) -> bool:
    """One value, or a few that fit into one cell."""
    if isinstance(value, list | tuple):
        return len(value) <= _FEW and all(map(_is_plain, value))
    return value == {} or _is_plain(value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _same_keys(rows: Sequence[Any]) -> bool:
    if not rows or not all(isinstance(row, Mapping) and row for row in rows):
        return False
    flat = all(_is_single(value) for row in rows for value in row.values())
    return flat and len({tuple(row) for row in rows}) == 1


def _same_lengths(rows: Sequence[Any]) -> bool:
    if not rows or not all(isinstance(row, list | tuple) and row for row in rows):
        return False
    return all(_is_plain(each) for row in rows for each in row) and len({*map(len, rows)}) == 1


def _single(value: Any) -> Html:
    if value in ([], {}, ()):
        return tag("span", "none")
    if not isinstance(value, list | tuple):
        return plain(value, 6)
    first, *others = (plain(each, 6) for each in value)
    return tag("span", first, *(part for each in others for part in (", ", each)))
