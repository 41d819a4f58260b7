"""Survival by group: medians, the test, the curves, and the table behind each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from titan.markup import Html, tag
from titan.report.curve_picture import curve_picture
from titan.report.generic_tables import rest
from titan.report.labels import label
from titan.report.numbers import bound, fixed, named, number, p_value, plain
from titan.report.tables import grid, scrolled

_LISTS = ("time", "at_risk", "events", "censored", "survival", "se", "lower", "upper")
_HEADS = ("to", "at risk", "events", "censored", "survival", "standard error", "95 % from", "to")
_TOLD = ("groups", "logrank", "alpha", "scale")


def survived(answer: Mapping[str, Any]) -> Iterator[Html]:
    groups = answer["groups"]
    yield grid(
        f"{answer['time']} to {answer['event']}, by group",
        ("", "rows", "events", "median", "95 % from", "to"),
        ([name, *_group(group)] for name, group in groups.items()),
    )
    if "logrank" in answer:
        yield _test(answer["logrank"])
    yield tag(
        "figure",
        scrolled(curve_picture(answer), "survival curves"),
        tag(
            "figcaption",
            "Kaplan-Meier curves with 95 % limits (thin lines; Greenwood, log-log scale). A curve "
            "falls where an interval of the grid ends. Below: how many are at risk.",
        ),
    )
    for name, group in groups.items():
        yield _life_table(name, group)
    known = {key: value for key, value in answer.items() if key not in _TOLD}
    yield from rest(known)


def _group(group: Mapping[str, Any]) -> Iterator[Html]:
    yield number(group["nobs"])
    yield number(group["events_total"])
    for end in (group["median"], *group["median_ci"]):
        yield plain(end)


def _test(test: Mapping[str, Any]) -> Html:
    """The log-rank test, in a sentence that papers have."""
    errors = test.get("error_bound", {})
    statistic = number(test["statistic"], named(errors, "statistic"), 5)
    p = p_value(test["p_value"], named(errors, "p_value"), before="= ")
    freedom = "degree of freedom" if test["df"] == 1 else "degrees of freedom"
    said = tag("p", "Log-rank test: χ² = ", statistic, " on ", number(test["df"]),
               f" {freedom}, p ", p, ".")  # fmt: skip
    rows = (
        [name, number(n), number(test["expected"][name], digits=6)]
        for name, n in test["observed"].items()
    )
    return tag("div", said, _proven(errors), grid("Events", ("", "observed", "expected"), rows))


def _proven(errors: Mapping[str, Any], then: str = "") -> Html:
    """How far what is shown is off at most."""
    told = [tag("span", f"{label(key)} proven within ", bound(e)) for key, e in errors.items()]
    parts = [part for each in told for part in ("; ", each)][1:]
    return tag("p", *parts, then, kind="quiet")


def _life_table(name: str, group: Mapping[str, Any]) -> Html:
    """The intervals in which somebody leaves."""
    errors = group.get("error_bound", {})
    rows = []
    for each in zip(*(group[key] for key in _LISTS), strict=True):
        row = dict(zip(_LISTS, each, strict=True))
        if row["events"] or row["censored"]:
            cells = [number(row[key]) for key in ("at_risk", "events", "censored")]
            cells += [fixed(row[key], named(errors, key)) for key in _LISTS[4:]]
            rows.append([plain(row["time"]), *cells])
    said = _proven(errors, "; limits follow from these")
    return tag("div", grid(f"Life table: {name}", _HEADS, rows), said)
