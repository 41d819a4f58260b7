"""Ridge and lasso from the same pooled moments; objectives as scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np

from titan import canonical
from titan.errors import InputError
from titan.leastsquares.balls import Ball
from titan.leastsquares.bounds import Floats
from titan.leastsquares.certified import certify
from titan.leastsquares.homotopy import minimise, violation
from titan.leastsquares.named import Named, error_of
from titan.leastsquares.pooled import Exact, PooledMoments
from titan.listing import aligned
from titan.results.result import Recorded, Result
from titan.ring.whole import real_number

KKT_TOLERANCE = 1e-10
"""Violation of the optimality conditions, relative to the penalty that sets all to zero."""


@dataclass(frozen=True, eq=False)
class Ridge(Result, kind="ridge"):
    """The minimiser of ‖b − Ax‖² + alpha‖x‖², certified like an ordinary solution."""

    alpha: float
    params: Named
    error_bound: Named = field(init=False)
    rows: int
    cost: Any = None
    record: Recorded | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        bounds = Named(self.names, list(map(error_of, self.params.enclosures)))
        object.__setattr__(self, "error_bound", bounds)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.params)

    @property
    def nobs(self) -> int:
        return self.rows

    def summary(self) -> str:
        """Every coefficient with how far it may be off."""
        cells = [("", f"ridge, alpha {self.alpha:g}", "proven within")]
        cells += [(n, repr(x), f"{self.error_bound[n]:.1e}") for n, x in self.params.items()]
        return "\n".join(aligned(cells))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "alpha": self.alpha,
            "params": dict(self.params),
            "error_bound": dict(self.error_bound),
            "nobs": self.rows,
        }

    def to_state(self) -> dict[str, Any]:
        balls = [ball.to_state() for ball in self.params.enclosures if isinstance(ball, Ball)]
        alpha = canonical.float_text(self.alpha)
        return {"alpha": alpha, "names": list(self.names), "enclosures": balls, "rows": self.rows}

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Ridge:
        found = canonical.keys(state, ("alpha", "names", "enclosures", "rows"))
        names = canonical.names(found["names"])
        balls = list(map(Ball.from_state, canonical.listed(found["enclosures"], len(names))))
        rows = canonical.whole(found["rows"])
        return cls(canonical.read_float(found["alpha"]), Named(names, balls), rows, cost)


@dataclass(frozen=True, eq=False)
class RidgePath(Result, Sequence[Ridge], kind="ridge path"):
    """The ridge solutions of one model for several alphas, in the order asked for."""

    path: Sequence[Ridge] = field(repr=False)
    cost: Any = None
    record: Recorded | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.path:
            raise InputError("there is no alpha", hint="give at least one, as [0.1, 1, 10]")
        object.__setattr__(self, "path", tuple(self.path))

    def __repr__(self) -> str:
        return f"RidgePath(alphas={self.alphas.tolist()}, nobs={self.nobs})"

    @overload
    def __getitem__(self, at: int) -> Ridge: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Ridge]: ...

    def __getitem__(self, at: int | slice) -> Ridge | Sequence[Ridge]:
        return self.path[at]

    def __len__(self) -> int:
        return len(self.path)

    @property
    def alphas(self) -> Floats:
        return np.array([each.alpha for each in self.path])

    @property
    def coefs(self) -> Floats:
        """One row of coefficients for every alpha, as a LassoPath has them."""
        return np.array([np.asarray(each.params) for each in self.path])

    @property
    def names(self) -> tuple[str, ...]:
        return self.path[0].names

    @property
    def nobs(self) -> int:
        return self.path[0].nobs

    def summary(self) -> str:
        return "\n\n".join(each.summary() for each in self.path)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        path = [each.to_dict() for each in self.path]
        return {"alphas": self.alphas.tolist(), "path": path, "nobs": self.nobs}

    def to_state(self) -> dict[str, Any]:
        return {"path": [each.to_state() for each in self.path]}

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> RidgePath:
        states = canonical.listed(canonical.keys(state, ("path",))["path"])
        return cls([Ridge.from_state(each) for each in states], cost)


@dataclass(frozen=True, eq=False)
class LassoPath(Result, kind="lasso path"):
    """The minimisers of ‖b − Ax‖²/(2·weight) + alpha‖x‖₁ for falling alphas, in float64."""

    alphas: Floats
    names: tuple[str, ...]
    coefs: Floats
    """One row of coefficients for every alpha, the intercept's among them."""
    violation: float
    """The largest violation of the optimality conditions met, relative to the largest alpha."""

    def params(self, at: int) -> Named:
        return Named(self.names, self.coefs[at].tolist())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        alphas, coefs = self.alphas.tolist(), self.coefs.tolist()
        found = {"alphas": alphas, "names": list(self.names), "coefs": coefs}
        return found | {"violation": self.violation}

    to_state = to_dict

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> LassoPath:
        found = canonical.keys(state, ("alphas", "names", "coefs", "violation"))
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
        )


def ridge(moments: PooledMoments, alpha: float | Exact, intercept: str | None) -> Ridge:
    """(AᵀA + alpha·P) x = Aᵀb, P the identity but for the intercept; exact in alpha."""
    if not 0 <= real_number("alpha", alpha) < math.inf:
        raise InputError(f"alpha is {alpha!r}", hint="a number that is not negative")
    exact = Fraction(alpha)
    penalties = [Fraction(0) if name == intercept else exact for name in moments.names]
    balls = certify(moments.penalised(penalties)).enclosures
    return Ridge(float(alpha), Named(moments.names, balls), moments.rows)


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
    gram, rhs, norms = _centred(moments, at)
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
    return LassoPath(grid, moments.names, coefs, worst / largest if largest else 0.0)


def _grid(alphas: Sequence[float] | None, largest: float, count: int) -> Floats:
    if alphas is None:
        return np.geomspace(largest or 1.0, (largest or 1.0) / 1000, count)
    grid = np.array(sorted(alphas, reverse=True), np.float64)
    if not len(grid) or not np.isfinite(grid).all() or grid[-1] <= 0:
        raise InputError("alphas must be positive numbers", hint="the limit 0 is `params` itself")
    return grid


def _centred(moments: PooledMoments, at: int | None) -> tuple[Floats, Floats, Floats]:
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
