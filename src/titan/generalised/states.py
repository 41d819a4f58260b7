"""One step of Newton's method as JSON, exactly, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from titan import canonical
from titan.canonical import exact_text, read_double, read_exact, read_integer
from titan.generalised.families import LIKELIHOODS, Likelihood
from titan.generalised.rows import Layout
from titan.generalised.steps import Opened, Point, Problem

_KEYS = (
    "family", "offset", "weighted", "parties", "bits", "scales", "transform", "weight", "box",
    "alphas", "beta", "null", "grid", "step_bits", "size", "residual", "totals",
)  # fmt: skip
_LATER: dict[str, Any] = {"untold": []}  # files from before have all statistics
_MOST = 1 << 12


def to_state(opened: Opened) -> dict[str, Any]:
    problem, point = opened.problem, opened.point
    layout = problem.layout
    return {
        "family": layout.family,
        "offset": layout.offset,
        "weighted": layout.weighted,
        "untold": list(layout.untold),
        "parties": problem.parties,
        "bits": problem.bits,
        "scales": list(problem.scales),
        "transform": [list(map(exact_text, row)) for row in problem.transform],
        "weight": exact_text(problem.weight),
        "box": [list(map(exact_text, ends)) for ends in problem.box],
        "alphas": list(map(exact_text, problem.alphas)),
        "beta": list(map(exact_text, point.beta)),
        "null": exact_text(point.null),
        "grid": point.grid,
        "step_bits": point.bits,
        "size": point.size,
        "residual": point.residual,
        "totals": list(map(exact_text, opened.totals)),
    }


def from_state(state: object) -> Opened:
    """ValueError, in words, for anything else."""
    found = canonical.keys(state, _KEYS, _LATER)
    n = len(canonical.listed(found["scales"]))
    family: Likelihood | None = next((f for f in LIKELIHOODS if f == found["family"]), None)
    if family is None:
        raise ValueError("its family is not known")
    flags = canonical.flag(found["offset"]), canonical.flag(found["weighted"])
    layout = Layout(n, *flags, family, canonical.names(found["untold"]) if found["untold"] else ())
    problem = Problem(
        layout,
        canonical.whole(found["parties"], 1),
        canonical.whole(found["bits"], 1, _MOST),
        canonical.exponents(found["scales"], n),
        tuple(_fractions(row, n) for row in canonical.listed(found["transform"], n)),
        read_double(found["weight"]),
        tuple(_ends(ends) for ends in canonical.listed(found["box"], n)),
        alphas=_fractions(found["alphas"], n) if found["alphas"] else (),
    )
    size, residual = (canonical.exponents([found[k]], 1)[0] for k in ("size", "residual"))
    point = Point(
        tuple(map(read_integer, canonical.listed(found["beta"], n))),
        read_integer(found["null"]),
        canonical.whole(found["grid"], 0, _MOST),
        canonical.whole(found["step_bits"], 1, _MOST),
        last=True,
        size=size,
        residual=residual,
        near=True,
    )
    totals = tuple(map(read_integer, canonical.listed(found["totals"], layout.entries)))
    return Opened(problem, point, totals)


def _fractions(values: object, count: int) -> tuple[Fraction, ...]:
    return tuple(map(read_exact, canonical.listed(values, count)))


def _ends(value: object) -> tuple[Fraction, Fraction]:
    low, high = _fractions(value, 2)
    if low > high:
        raise ValueError("a range is empty")
    return low, high
