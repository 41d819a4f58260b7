"""The lasso from the same pooled moments, in float64; its objective is scikit-learn's."""

# Rule: nothing here is proven; how well the optimality conditions are met is told.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from titan import canonical
from titan.errors import InputError
from titan.leastsquares.balls import Ball
from titan.leastsquares.bounds import Floats
from titan.leastsquares.criteria import best, checked, criterion, residual_sum
from titan.leastsquares.homotopy import minimise, violation
from titan.leastsquares.named import Named
from titan.leastsquares.pooled import PooledMoments
from titan.results.result import Result

KKT_TOLERANCE = 1e-10
"""Violation of the optimality conditions, relative to the penalty that sets all to zero."""


_LATER: dict[str, Any] = {"rss": [], "rows": 0}
"""What older files lack, both together."""


@dataclass(frozen=True, eq=False)
class LassoPath(Result, kind="lasso path"):
    """The minimisers of ‖b − Ax‖²/(2·weight) + alpha‖x‖₁ for falling alphas, in float64."""

    alphas: Floats
    names: tuple[str, ...]
    coefs: Floats
    """One row of coefficients for every alpha, the intercept's among them."""
    violation: float
    """The largest violation of the optimality conditions met, relative to the largest alpha."""
    rss: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    """‖b − Ax‖² at every alpha; none where bᵀb was not released."""
    rows: int = 0

    def params(self, at: int) -> Named:
        return Named(self.names, self.coefs[at].tolist())

    @property
    def df(self) -> list[int]:
        """How many coefficients are not zero, at every alpha."""
        return [int(n) for n in np.count_nonzero(self.coefs, axis=1)]

    @property
    def aic(self) -> Floats:
        return self._criterion("aic")

    @property
    def bic(self) -> Floats:
        return self._criterion("bic")

    def _criterion(self, which: str) -> Floats:
        name = checked(which)
        pairs = zip(self.rss.tolist(), self.df, strict=True) if len(self.rss) else ()
        found = [criterion(name, Ball(Fraction(r)), float(df), self.rows) for r, df in pairs]
        return np.array([float(each) for each in found] or [math.nan] * len(self.alphas))

    def best(self, which: str = "bic") -> LassoPoint:
        """The point with the least BIC, or AIC; nothing of it is proven (float64)."""
        values = self._criterion(which).tolist()
        at = best(range(len(values)), values, which)
        chosen = [n for n, x in self.params(at).items() if x]
        alpha, rss = float(self.alphas[at]), float(self.rss[at])
        return LassoPoint(alpha, self.params(at), tuple(chosen), self.df[at], rss, values[at], at)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        alphas, coefs = self.alphas.tolist(), self.coefs.tolist()
        found = {"alphas": alphas, "names": list(self.names), "coefs": coefs}
        found |= {"violation": self.violation, "rss": self.rss.tolist(), "rows": self.rows}
        return found

    to_state = to_dict

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> LassoPath:
        found = canonical.mapping(state)
        found = canonical.keys(found, ("alphas", "names", "coefs", "violation"), _LATER)
        names, alphas = canonical.names(found["names"]), canonical.listed(found["alphas"])
        coefs = [
            [canonical.read_float(x) for x in canonical.listed(row, len(names))]
            for row in canonical.listed(found["coefs"], len(alphas))
        ]
        return cls(
            np.array([canonical.read_float(alpha) for alpha in alphas]),
            names,
            np.array(coefs, np.float64).reshape(len(alphas), len(names)),
            canonical.read_float(found["violation"]),
            np.array([canonical.read_float(r) for r in _of_length(found["rss"], len(alphas))]),
            canonical.whole(found["rows"]),
        )


def _of_length(found: object, count: int) -> list[Any]:
    """As many as there are alphas, or none."""
    return canonical.listed(found) if found == [] else canonical.listed(found, count)


@dataclass(frozen=True, eq=False)
class LassoPoint:
    """One point of a lasso path, in float64."""

    alpha: float
    params: Named
    chosen: tuple[str, ...]
    """The columns whose coefficients are not zero."""
    df: int
    rss: float
    criterion: float
    at: int
    """Its position on the path."""


def lasso_path(
    moments: PooledMoments,
    weight: float,
    alphas: Sequence[float] | None,
    count: int,
    intercept: str | None,
) -> LassoPath:
    """The path at `alphas`, or at `count` of them from the largest useful one to its 1/1000.

    `weight` is the number of rows, or the sum of their weights.
    """
    at = None if intercept is None else moments.index(intercept)
    gram, rhs, norms = centred(moments, at)
    penalised = [j for j in range(len(moments.names)) if j != at]
    weights = weight / norms
    largest = float(np.max(np.abs(rhs) / weights, initial=0.0))
    grid = _grid(alphas, largest, count)
    points = minimise(gram, rhs, weights, grid)
    pairs = zip(grid, points, strict=True)
    worst = max((violation(gram, rhs, weights, a, z) for a, z in pairs), default=0.0)
    if worst > KKT_TOLERANCE * max(largest, float(grid.max())):
        hint = "drop nearly dependent columns, or use ridge"
        raise InputError("the lasso's optimality conditions were not met in float64", hint=hint)
    coefs = np.zeros((len(grid), len(moments.names)))
    coefs[:, penalised] = points / norms
    if at is not None:
        coefs[:, at] = _intercepts(moments, at, coefs)
    sums = [residual_sum(moments, [Ball(Fraction(x)) for x in row]) for row in coefs.tolist()]
    rss = np.array([float(each) for each in sums if each is not None])
    met = worst / largest if largest else 0.0
    return LassoPath(grid, moments.names, coefs, met, rss, moments.rows)


def _grid(alphas: Sequence[float] | None, largest: float, count: int) -> Floats:
    if alphas is None:
        return np.geomspace(largest or 1.0, (largest or 1.0) / 1000, count)
    try:
        grid = np.sort(np.array(list(alphas), np.float64))[::-1]
    except (TypeError, ValueError):  # a number by itself, or words
        grid = np.zeros(1)
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all() or grid[-1] <= 0:
        raise InputError(
            "alphas must be a list of positive numbers", hint="the limit 0 is `params` itself"
        )
    return grid


def centred(moments: PooledMoments, at: int | None) -> tuple[Floats, Floats, Floats]:
    """AᵀA and Aᵀb of the penalised columns with unit diagonal, and the columns' norms.

    With an intercept both are taken about the mean: the Schur complement of the intercept, formed
    exactly, since in float64 the subtraction would cancel.
    """
    gram, rhs, unit = moments.gram, list(moments.rhs), Fraction(1, moments.denominator)
    keep = [j for j in range(len(rhs)) if j != at]
    if at is not None:
        pivot, row = int(gram[at, at]), gram[at]
        if pivot <= 0:
            raise InputError("the intercept's column is zero in all rows")
        rhs = [g - Fraction(int(row[j]), pivot) * rhs[at] for j, g in enumerate(rhs)]
        gram = gram * pivot - np.multiply.outer(row, row)
        unit = unit / pivot
    for j in keep:
        if gram[j, j] <= 0:
            hint = "leave it out of the model"
            raise InputError(f"column {moments.names[j]!r} does not vary", hint=hint)
    norms = np.sqrt(np.array([float(int(gram[j, j]) * unit) for j in keep]))
    inner = (gram[np.ix_(keep, keep)] / unit.denominator).astype(np.float64) * unit.numerator
    scaled = np.array([float(rhs[j]) for j in keep])
    scales = np.array(moments.scales)[keep]
    return inner / norms[:, None] / norms, scaled / norms, np.ldexp(norms, scales)


def _intercepts(moments: PooledMoments, at: int, coefs: Floats) -> Floats:
    """b̄ − x̄ᵀw for every row of coefficients."""
    unit = int(moments.gram[at, at]) * Fraction(2) ** moments.scales[at]
    mean = float(moments.rhs[at] * moments.denominator / unit)
    pairs = zip(moments.gram[at], moments.scales, strict=True)
    means = np.array([float(int(v) * Fraction(2) ** s / unit) for v, s in pairs])
    means[at] = 0.0
    level: Floats = mean - coefs @ means
    return level
