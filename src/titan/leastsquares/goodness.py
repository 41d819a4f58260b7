"""How good a fit is as a whole: R², F and the likelihood, as enclosures by statsmodels' names."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression
    from titan.leastsquares.robust import Robust


def r_squared(fit: Regression) -> dict[str, Quantity]:
    r2: Quantity = math.nan
    adjusted: Quantity = math.nan
    if fit.total_sum.lower > 0:
        r2 = 1.0
        adjusted = 1.0 if fit.df_resid else math.nan
        if not fit.exact_fit:
            r2 = compute(lambda r, t: 1 - r / t, fit.residual_sum, fit.total_sum)
    if isinstance(r2, Ball):
        freedom = fit.nobs - (fit.constant is not None)
        adjusted = (
            compute(lambda r: 1 - (1 - r) * freedom / fit.df_resid, r2)
            if fit.df_resid
            else math.nan
        )
    return {"rsquared": r2, "rsquared_adj": adjusted}


def f_test(fit: Regression) -> dict[str, Quantity]:
    if fit.robust is not None:
        return _wald_test(fit, fit.robust)
    f: Quantity = math.nan
    if fit.df_model and fit.df_resid and fit.total_sum.lower > 0:
        f = math.inf
        if not fit.exact_fit:
            ratio = Fraction(fit.df_resid, fit.df_model)
            f = compute(
                lambda r, t, q: (t - r) / r * q, fit.residual_sum, fit.total_sum, Ball(ratio)
            )
    return {
        "fvalue": f,
        "f_pvalue": inference.upper_tail(f, fit.df_model, fit.df_resid),
    }


def _wald_test(fit: Regression, errors: Robust) -> dict[str, Quantity]:
    """As statsmodels, which leaves F open where several columns make up the constant."""
    f = math.nan
    if fit.constant is None or fit.intercept is not None:
        at = None if fit.intercept is None else fit.names.index(fit.intercept)
        f = errors.fvalue(at)
    return {"fvalue": f, "f_pvalue": errors.f_pvalue(f, fit.df_model, fit.df_resid)}


def likelihood(fit: Regression) -> dict[str, Quantity]:
    """Of Gaussian errors; with weights it would need the sum of their logarithms."""
    if fit.weighted or fit.exact_fit:
        llf = math.nan if fit.weighted else math.inf
        return {"llf": llf, "aic": -llf, "bic": -llf}
    import flint

    n, k = fit.nobs, len(fit.names)

    def log_likelihood(r: flint.arb) -> flint.arb:
        return -(r / n * 2 * flint.arb.pi()).log() * n / 2 - flint.arb(n) / 2

    ball = compute(log_likelihood, fit.residual_sum)
    return {
        "llf": ball,
        "aic": compute(lambda v: 2 * k - 2 * v, ball),
        "bic": compute(lambda v: k * flint.arb(n).log() - 2 * v, ball),
    }
