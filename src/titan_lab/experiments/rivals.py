"""Ordinary least squares as other programs do it, in their default and most favourable settings.

Every program gets the design matrix X in float64. *Default* is what a user types. *Most favourable*
is, for each figure and with hindsight, the best of these treatments, each undone afterwards:

    as it is
    scaled     every column divided by its length
    centred    the mean of every column subtracted (where there is an intercept), then scaled
    shifted    of a polynomial: powers of (x − mean)/spread instead of powers of x

and for numpy.linalg.lstsq each of them also without its cut-off for small singular values, with
standard errors from the QR decomposition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Problem:
    """X without the constant column, y, whether there is an intercept, and X is x, x², x³, …"""

    X: Floats
    y: Floats
    intercept: bool
    polynomial: bool = False

    def design(self) -> Floats:
        """With the constant column first."""
        return np.column_stack([np.ones(len(self.y)), self.X]) if self.intercept else self.X


@dataclass(frozen=True)
class Estimate:
    """What a program answers; `covariance` is None where it gives no standard errors."""

    params: Floats
    covariance: Floats | None
    rsquared: float
    treatment: str = "as it is"

    @property
    def bse(self) -> Floats | None:
        return None if self.covariance is None else np.sqrt(np.diagonal(self.covariance))

    def undone(self, back: Floats, treatment: str) -> Estimate:
        """In the original columns: β = T γ for the design X T that was fitted."""
        covariance = None if self.covariance is None else back @ self.covariance @ back.T
        return Estimate(back @ self.params, covariance, self.rsquared, treatment)


Program = Callable[[Problem], Estimate]


def treatments(problem: Problem, program: Program) -> Iterator[Estimate]:
    """The estimate as it is, then with every treatment; not a number where the program fails."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # ill-conditioning, on which they remark: it is the point
        for treat in (_as_it_is, _scaled, _centred, _shifted):
            treated, back, name = treat(problem)
            try:
                estimate = program(treated)
            except np.linalg.LinAlgError:
                nothing = np.full(len(back), np.nan)
                estimate = Estimate(nothing, np.diag(nothing), np.nan)
            yield estimate.undone(back, name)


def _as_it_is(problem: Problem) -> tuple[Problem, Floats, str]:
    return problem, np.eye(problem.design().shape[1]), "as it is"


def _scaled(problem: Problem) -> tuple[Problem, Floats, str]:
    lengths = np.linalg.norm(problem.X, axis=0)
    factors = np.concatenate([np.ones(int(problem.intercept)), 1 / lengths])
    treated = Problem(problem.X / lengths, problem.y, problem.intercept)
    return treated, np.diag(factors), "scaled"


def _centred(problem: Problem) -> tuple[Problem, Floats, str]:
    if not problem.intercept:
        return _scaled(problem)
    means = problem.X.mean(axis=0)
    treated, back, _ = _scaled(Problem(problem.X - means, problem.y, intercept=True))
    back[0, 1:] = -means * np.diagonal(back)[1:]
    return treated, back, "centred and scaled"


def _shifted(problem: Problem) -> tuple[Problem, Floats, str]:
    """z = (x − c)/h, and z^k = Σ_j C(k, j) (−c)^(k−j) x^j / h^k."""
    if not (problem.polynomial and problem.intercept):
        return _scaled(problem)
    x, degree = problem.X[:, 0], problem.X.shape[1]
    c, h = x.mean(), np.ptp(x) / 2
    back = np.array(
        [
            [comb(k, j) * (-c) ** max(k - j, 0) / h**k for k in range(degree + 1)]
            for j in range(degree + 1)
        ]
    )
    powers = ((x - c) / h)[:, None] ** np.arange(1, degree + 1)
    return Problem(powers, problem.y, intercept=True), back, "shifted"


# -- programs ---------------------------------------------------------------------------------


def lstsq(problem: Problem) -> Estimate:
    """numpy.linalg.lstsq; it gives no standard errors, so s² (XᵀX)⁻¹ is formed as people do."""
    X = problem.design()
    return _lstsq(problem, None, lambda: np.linalg.inv(X.T @ X))


def lstsq_without_cut_off(problem: Problem) -> Estimate:
    """numpy.linalg.lstsq with rcond 0; (XᵀX)⁻¹ = R⁻¹R⁻ᵀ."""

    def inverse() -> Floats:
        root: Floats = np.linalg.inv(np.linalg.qr(problem.design(), mode="r"))
        return root @ root.T

    return _lstsq(problem, 0.0, inverse)


def _lstsq(problem: Problem, rcond: float | None, inverse: Callable[[], Floats]) -> Estimate:
    X = problem.design()
    params, *_ = np.linalg.lstsq(X, problem.y, rcond=rcond)
    residual = problem.y - X @ params
    try:
        covariance = inverse() * (residual @ residual / (len(X) - X.shape[1]))
    except np.linalg.LinAlgError:
        covariance = np.full((X.shape[1],) * 2, np.nan)
    return Estimate(params, covariance, _r_squared(problem, residual))


def statsmodels(method: str) -> Program:
    """statsmodels.OLS by "pinv" (its default) or "qr"."""
    import statsmodels.api as sm

    def fit(problem: Problem) -> Estimate:
        result: Any = sm.OLS(problem.y, problem.design()).fit(method=method)
        return Estimate(
            np.asarray(result.params), np.asarray(result.cov_params()), float(result.rsquared)
        )

    return fit


def scikit_learn() -> Program:
    """sklearn.linear_model.LinearRegression; it gives no standard errors."""
    from sklearn.linear_model import LinearRegression

    def fit(problem: Problem) -> Estimate:
        model = LinearRegression(fit_intercept=problem.intercept).fit(problem.X, problem.y)
        params = [model.intercept_, *model.coef_] if problem.intercept else model.coef_
        residual = problem.y - model.predict(problem.X)
        return Estimate(np.array(params), None, _r_squared(problem, residual))

    return fit


def _r_squared(problem: Problem, residual: Floats) -> float:
    """About the mean where there is an intercept, about zero otherwise, as NIST has it."""
    about = problem.y - problem.y.mean() if problem.intercept else problem.y
    return float(1 - residual @ residual / (about @ about))
