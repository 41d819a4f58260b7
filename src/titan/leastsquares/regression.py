"""Regression from pooled moments, under statsmodels' names."""

# Rule 1: what needs rows is not here: Durbin–Watson, Jarque–Bera, leverages.
# Rule 2: every number is the middle of a proven ball, or plain where the fit is exact (0, ∞) or the
#         number is not defined (NaN).
# Rule 3: what follows from a fit beyond its table is in modules of its own (`after`).

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import DataError, InputError
from titan.leastsquares import inference, origins, regression_state
from titan.leastsquares.after import AfterFit
from titan.leastsquares.as_json import STATISTICS, as_dict
from titan.leastsquares.balls import Ball
from titan.leastsquares.bounds import Floats
from titan.leastsquares.certified import Certificate, Solution, certify, enough_rows
from titan.leastsquares.dependence import no_rows, unproven_residual
from titan.leastsquares.goodness import confidence_limits, f_test, likelihood, r_squared
from titan.leastsquares.inference import compute
from titan.leastsquares.lasso import LassoPath, lasso_path
from titan.leastsquares.named import Limits, Named, NamedTable, Quantity, error_of
from titan.leastsquares.new_rows import new_rows
from titan.leastsquares.penalised import Ridge, RidgePath, ridge, ridge_grid
from titan.leastsquares.pooled import Exact, PooledMoments, as_vector
from titan.leastsquares.robust import CovType, Robust
from titan.leastsquares.submodels import chosen_columns, shortened
from titan.leastsquares.tails import normal_two_sided
from titan.moments.centring import Centres
from titan.moments.model import Model
from titan.results.result import Recorded, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Constant = str | Mapping[str, Exact] | None

EXACT_FIT = Fraction(1, 2**64)
"""A residual sum of squares below this part of the total may be called zero, if it may be zero."""


def fit_pooled(
    moments: PooledMoments, *, constant: Constant = None, weighted: bool = False
) -> Regression:
    """Ordinary least squares of `moments.response` on `moments.names`, with inference.

    `constant` says how the columns give the constant 1: the intercept's name, or coefficients c
    with A c = 1 (all indicators of a factor: each 1), or None where they do not. Moments alone
    cannot prove A c = 1, the model does; what they can disprove, ‖Ac‖² ≠ rows, is refused.
    R² is about the mean if and only if a constant is given. `weighted` says that rows were
    multiplied by the roots of analytic weights (statsmodels' WLS).
    """
    if moments.bb is None:
        message = "inference needs bᵀb, and only the solution was released"
        raise InputError(message, hint='pool with release="inference"')
    enough_rows(moments)
    if weighted and not np.diagonal(moments.gram).any():
        hint = "a row counts if its weight is above zero"
        raise DataError("every weight is zero, or every column", hint=hint)
    if isinstance(constant, str):
        constant = {constant: 1}
    vector = as_vector(constant, moments.names)
    if constant is not None and vector is None:
        raise InputError(
            f"the constant is made of columns that are not in the model: {', '.join(constant)}"
        )
    certificate = certify(moments)
    if not weighted and vector and moments.rows not in inference.square_length(moments, vector):
        raise InputError(
            "the columns said to add up to the constant do not: "
            "the square of their sum is not the number of rows",
            hint="give the intercept's name, or None",
        )
    fit = Regression(certificate, constant, weighted)
    if fit.residual_sum.upper < 0:
        raise no_rows("a residual sum of squares below zero")
    if fit.residual_sum.lower <= 0 and not fit.exact_fit:
        x = certificate.approximation.absolute_x()
        raise unproven_residual(moments, x.tolist(), fit.residual_sum, fit.smallest_residual)
    return fit


def _statistic(name: str) -> float:
    """A property; its type is what readers of the attribute get."""
    return property(lambda fit: float(fit.statistics[name]))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Regression(AfterFit, Result, kind="regression"):
    """A fitted linear model, with the names that statsmodels gives to things.

    All of it follows from the pooled sums, so nothing here sends a message.
    """

    certificate: Certificate = field(repr=False)
    constant: Mapping[str, Exact] | None = None
    weighted: bool = False
    cost: Any = None
    cov_type: CovType = "nonrobust"
    robust: Robust | None = field(default=None, repr=False)
    """The errors that `cov_type` asks for; None where they are not robust, or the fit is exact."""
    dropped: Mapping[str, int] | None = None
    """How many rows of each table were left out as incomplete; None where nobody here knows."""
    record: Recorded | None = field(default=None, repr=False)
    formula: str | None = None
    """In canonical form, with the levels of categories; None where columns came as they are."""
    log_weights: Ball | None = field(default=None, repr=False)
    """Σ log w over all rows; None without weights, or where it was not pooled."""
    centres: Centres = field(default_factory=dict)
    """The means over all rows that center(…) took away, by what is centred."""
    weights: str | None = None
    """The column of weights, where there is one and it is known."""

    # -- counts -------------------------------------------------------------------------------

    @property
    def moments(self) -> PooledMoments:
        return self.certificate.moments

    @property
    def names(self) -> tuple[str, ...]:
        return self.moments.names

    @property
    def nobs(self) -> int:
        return self.moments.rows

    @property
    def df_model(self) -> int:
        return len(self.names) - (self.constant is not None)

    @property
    def df_resid(self) -> int:
        return self.nobs - len(self.names)

    @cached_property
    def model(self) -> Model | None:
        """What makes its columns of raw rows; None where columns came as they are."""
        return origins.model_of(self)

    # -- coefficients -------------------------------------------------------------------------

    @cached_property
    def solution(self) -> Solution:
        return self.certificate.solution()

    @cached_property
    def params(self) -> Named:
        return self._named(self.certificate.enclosures)

    @property
    def error_bound(self) -> Named:
        """How far each of `params` may be from the truth."""
        return self._named([error_of(ball) for ball in self.certificate.enclosures])

    @cached_property
    def bse(self) -> Named:
        return self._named([self._standard_error(j) for j in range(len(self.names))])

    def _standard_error(self, j: int) -> Quantity:
        if self.robust is not None:
            return self.robust.standard_error(j)
        if not isinstance(self.scale_ball, Ball):
            return self.scale_ball
        square = compute(lambda s, r: s * r, self.scale_ball, self.certificate.inverse(j, j))
        return inference.root(square)

    @cached_property
    def tvalues(self) -> Named:
        """Coefficients over standard errors; with robust errors these are statsmodels' z."""
        pairs = zip(self.certificate.enclosures, self.bse.enclosures, strict=True)
        return self._named([inference.ratio(ball, se) for ball, se in pairs])

    @cached_property
    def pvalues(self) -> Named:
        if self.robust is not None:
            return self._named([normal_two_sided(z) for z in self.tvalues.enclosures])
        return self._named([inference.two_sided(t, self.df_resid) for t in self.tvalues.enclosures])

    def conf_int(self, alpha: float = 0.05) -> NamedTable:
        """Name → (lower, upper) at level 1 − alpha."""
        limits = zip(self.names, self.intervals(alpha), strict=True)
        rows = {name: Limits(float(low), float(high)) for name, (low, high) in limits}
        return NamedTable(rows, Limits._fields)

    def intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """The confidence limits as enclosures."""
        return confidence_limits(self, alpha)

    def cov_params(self) -> NamedTable:
        """The covariance matrix of the coefficients, by name and in the order of `names`."""
        if self.robust is not None:
            covariance = self.robust.covariance()
        else:
            covariance = self.certificate.scaled_inverse(self.scale_ball)
        rows = {n: self._named(row) for n, row in zip(self.names, covariance.tolist(), strict=True)}
        return NamedTable(rows, self.names)

    # -- the fit as a whole -------------------------------------------------------------------

    @cached_property
    def residual_sum(self) -> Ball:
        """The residual sum of squares in a ball."""
        return inference.residual_sum(self.certificate)

    @property
    def exact_fit(self) -> bool:
        """Whether the residuals may all be zero, and are next to nothing if they are not.

        Their sum of squares is not provably positive, and provably below `smallest_residual`: a
        large ball around zero says nothing. As many coefficients as rows leave no residual.
        """
        tiny = self.df_resid == 0 or self.residual_sum.upper <= self.smallest_residual
        return tiny and self.residual_sum.lower <= 0

    @property
    def smallest_residual(self) -> Fraction:
        """What counts as zero: 2^-64 of the total sum of squares, so 2^-32 of its root.

        Of bᵀb where the response does not provably vary about its mean.
        """
        total = self.total_sum.lower
        return EXACT_FIT * (total if total > 0 else self.moments.bb or Fraction(0))

    @property
    def ssr_ball(self) -> Quantity:
        return 0.0 if self.exact_fit else self.residual_sum

    @property
    def ssr(self) -> float:
        return float(self.ssr_ball)

    @cached_property
    def scale_ball(self) -> Quantity:
        """`scale` in a ball; 0 where the fit is exact."""
        if self.df_resid == 0:
            return math.nan
        if self.exact_fit:
            return 0.0
        return compute(lambda s: s / self.df_resid, self.residual_sum)

    @property
    def scale(self) -> float:
        """The residual variance; its root is the residual standard error."""
        return float(self.scale_ball)

    @cached_property
    def total_sum(self) -> Ball:
        """The total sum of squares, about the mean where the model has a constant."""
        return inference.total_sum(self.moments, self._constant, self.weighted)

    @property
    def _constant(self) -> list[Fraction] | None:
        return as_vector(self.constant, self.names)

    @cached_property
    def statistics(self) -> dict[str, Quantity]:
        """R², adjusted R², F and the rest as enclosures, by statsmodels' names."""
        return {**r_squared(self), **f_test(self), **likelihood(self)}

    rsquared, rsquared_adj, fvalue, f_pvalue, llf, aic, bic = map(_statistic, STATISTICS)

    # -- other models from the same moments ---------------------------------------------------

    def submodel(self, names: str | Sequence[str], *, intercept: bool | None = None) -> Regression:
        """The regression on some of the columns; no further communication.

        `names` are columns, or a formula such as "y ~ age". The intercept stays unless the formula
        leaves it out (y ~ 0 + age), or intercept=False. Errors are nonrobust: robust ones would
        need a sum of the smaller model's residuals.
        """
        known = self.names, self.moments.response, self.intercept, self.model
        chosen = chosen_columns(names, *known, intercept)
        constant = None if as_vector(self.constant, chosen) is None else self.constant
        fit = fit_pooled(self.moments.subset(chosen), constant=constant, weighted=self.weighted)
        return replace(
            fit,
            dropped=self.dropped,
            formula=shortened(self.model, chosen),
            log_weights=self.log_weights,
            centres=self.centres,
            weights=self.weights,
        )

    def ridge(self, alpha: float | Exact) -> Ridge:
        """‖b − Ax‖² + alpha‖x‖², the intercept unpenalised: scikit-learn's `Ridge`."""
        found = ridge(self.moments, alpha, self.intercept)
        made: Any = {key: getattr(self, key) for key in ("formula", "centres", "weights")}
        return replace(found, **made)

    def ridge_path(
        self, alphas: Sequence[float | Exact] | None = None, count: int = 50
    ) -> RidgePath:
        """At `alphas`, or at `count` of them that range from all to none of the penalty's effect.

        `ridge_path().best("bic")` is the one with the least BIC.
        """
        chosen = ridge_grid(self.moments, self.intercept, count) if alphas is None else alphas
        if not isinstance(chosen, Iterable):
            raise InputError(f"alphas={chosen!r} is not a list", hint="such as [0.1, 1, 10]")
        return RidgePath([self.ridge(alpha) for alpha in chosen])

    def lasso_path(self, alphas: Sequence[float] | None = None, count: int = 100) -> LassoPath:
        """‖b − Ax‖²/(2·rows) + alpha‖x‖₁, the intercept unpenalised: scikit-learn's `Lasso`.

        With weights their sum takes the place of the number of rows. `lasso_path().best("bic")` is
        the point with the least BIC.
        """
        if self.weight is None:
            raise InputError(
                "the sum of the weights is not known: no constant is in the model",
                hint="a weighted lasso needs an intercept",
            )
        weight = float(self.weight)
        return lasso_path(self.moments, weight, alphas, count, self.intercept)

    @property
    def intercept(self) -> str | None:
        """The column that is the constant by itself."""
        constant = dict(self.constant or {})
        return next(iter(constant)) if list(constant.values()) == [1] else None

    @cached_property
    def weight(self) -> Fraction | None:
        """The number of rows, or the sum of their weights, ‖Ac‖² for the c with A c = 1."""
        if not self.weighted:
            return Fraction(self.nobs)
        constant = self._constant
        return None if constant is None else inference.square_length(self.moments, constant).mid

    # -- use ----------------------------------------------------------------------------------

    def predict(self, rows: Any = None) -> Floats:
        """The fitted values of rows, which a fit does not keep.

        A table, mapping or file with the columns of the data: the formula is evaluated on it, and
        a row with a gap gives NaN. Or the model's own columns by name, or a matrix in the order of
        `names`. An intercept that is missing is taken as 1. A Series is one column.
        """
        fitted: Floats = new_rows(rows, self) @ np.asarray(self.params)
        return fitted

    def summary(self, alpha: float = 0.05) -> str:
        """The table that statsmodels prints, with the digits that are proven."""
        from titan.leastsquares.summary import summary

        return summary(self, alpha)

    def as_html(self, alpha: float = 0.05) -> str:
        """The summary as an HTML fragment that loads nothing and runs nothing."""
        from titan.leastsquares.html import as_html

        return as_html(self, alpha)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.as_html()

    def plot(self, alpha: float = 0.05, **choices: Any) -> Axes:
        """The coefficients with their confidence intervals; see `picture.coefficient_plot`."""
        from titan.leastsquares.picture import coefficient_plot

        return coefficient_plot(self, alpha, **choices)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is infinite or not defined is None. Errors as in `as_json`."""
        return as_dict(self)

    def to_state(self) -> dict[str, Any]:
        return regression_state.to_state(self)

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Regression:
        return regression_state.from_state(state, cost, fit_pooled)

    def __repr__(self) -> str:
        return f"Regression({self.moments.response} ~ {' + '.join(self.names)}, nobs={self.nobs})"

    def _named(self, quantities: Sequence[Quantity]) -> Named:
        return Named(self.names, quantities)
