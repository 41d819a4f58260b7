"""A Table 1 (what the rows are like), and averages over parties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from titan.markup import Html, tag
from titan.report.generic_tables import rest
from titan.report.numbers import bound, in_full, named, number, plain, share
from titan.report.tables import grid

_AVERAGED = ("value", "total", "error_bound")
_NOTHING = tag("span")


def described(answer: Mapping[str, Any]) -> Iterator[Html]:
    """Numbers with mean and standard deviation, categories with the rows at each level."""
    heads = ("", "values", "missing", "mean or share", "standard deviation")
    rows = [row for name, column in answer["columns"].items() for row in _column(name, column)]
    caption = tag("span", "Table 1: what the ", number(answer["nobs"]), " rows are like")
    yield grid(caption, heads, rows, label="Table 1")
    numbers = {name: c for name, c in answer["columns"].items() if c.get("mean") is not None}
    if numbers:
        yield grid(
            "In full: the numbers of the JSON, with their largest possible error",
            ("", "mean", "proven within", "standard deviation", "proven within"),
            ([name, *_in_full(column)] for name, column in numbers.items()),
            kind="full",
        )


def _column(name: str, column: Mapping[str, Any]) -> Iterator[list[str]]:
    unit, errors = column.get("unit"), column.get("error_bound")
    numbers = [number(column.get(key), named(errors, key), 6) if key in column else _NOTHING
               for key in ("mean", "std")]  # fmt: skip
    named_so = f"{name}, {unit}" if unit else name
    yield [named_so, number(column["count"]), number(column["missing"]), *numbers]
    shares = column.get("shares", {})
    for level, rows in column.get("levels", {}).items():
        yield [_inner(level), number(rows), _NOTHING, share(shares.get(level)), _NOTHING]
    yield from _histogram(column.get("histogram", {}))


def _histogram(histogram: Mapping[str, Any]) -> Iterator[list[str]]:
    cells = zip(pairwise(histogram.get("edges", ())), histogram.get("counts", ()), strict=True)
    for (low, high), rows in cells:
        name = tag("span", plain(low), " to ", plain(high), kind="inner")
        yield [name, number(rows), *[_NOTHING] * 3]
    if "outside" in histogram:
        yield [_inner("outside"), number(histogram["outside"]), *[_NOTHING] * 3]


def _inner(name: str) -> Html:
    return tag("span", name, kind="inner")


def _in_full(column: Mapping[str, Any]) -> Iterator[Html]:
    for key in ("mean", "std"):
        yield in_full(column.get(key))
        yield bound(named(column.get("error_bound"), key))


def averaged(answer: Mapping[str, Any]) -> Iterator[Html]:
    """One number, several by name, or a vector or matrix of them."""
    value, total, error = (answer[key] for key in _AVERAGED)
    names = list(value) if isinstance(value, Mapping) else _places(value)
    averages, totals, errors = (
        dict(zip(names, _flat(each), strict=True)) for each in (value, total, error)
    )
    heads = ("", "average", "in full", "proven within", "sum")
    rows = (
        [n, number(averages[n], errors[n], 6), in_full(averages[n]), bound(errors[n]),
         in_full(totals[n])]
        for n in names
    )  # fmt: skip
    yield grid("Averages over the parties", heads, rows)
    left_out = {*_AVERAGED, "parties", "cost"}
    yield from rest({key: each for key, each in answer.items() if key not in left_out})


def _places(value: Any) -> list[str]:
    """What entries are called that have no name."""
    if not isinstance(value, list):
        return ["average"]
    return [
        f"{at}, {place}" if isinstance(each, list) else str(at)
        for at, each in enumerate(value, 1)
        for place in _places(each)
    ]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield value
