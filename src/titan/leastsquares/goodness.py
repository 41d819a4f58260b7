"""R², F and the likelihood as enclosures by statsmodels' names, and confidence limits."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute, quantile, upper_tail
from titan.leastsquares.named import Quantity
from titan.leastsquares.tails import normal_quantile
from titan.ring.whole import real_number

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


def r_squared(fit: Regression) -> dict[str, Quantity]:
    if fit.total_sum.lower <= 0:
        return {"rsquared": math.nan, "rsquared_adj": math.nan}
    r2: Quantity = 1.0
    adjusted: Quantity = 1.0
    if not fit.exact_fit:
        freedom = fit.nobs - (fit.constant is not None)
        r2 = compute(lambda r, t: 1 - r / t, fit.residual_sum, fit.total_sum)
        if fit.df_resid:
            adjusted = compute(lambda r: 1 - (1 - r) * freedom / fit.df_resid, r2)
    return {"rsquared": r2, "rsquared_adj": adjusted if fit.df_resid else math.nan}


SQUARES = ("ess", "centered_tss", "uncentered_tss", "mse_model", "mse_resid", "mse_total")


def sums_of_squares(fit: Regression) -> dict[str, Quantity]:
    """By statsmodels' names; without a constant the mean of the response is not known."""
    whole = Ball(fit.moments.bb or Fraction(0), fit.moments.bb_error)
    residual = Ball(Fraction(0)) if fit.exact_fit else fit.residual_sum
    explained = compute(lambda t, r: t - r, fit.total_sum, residual)
    return {
        "ess": explained,
        "centered_tss": math.nan if fit.constant is None else fit.total_sum,
        "uncentered_tss": whole,
        "mse_model": _mean(explained, fit.df_model),
        "mse_resid": fit.scale_ball,
        "mse_total": _mean(fit.total_sum, fit.df_resid + fit.df_model),
    }


def _mean(square: Ball, freedom: int) -> Quantity:
    return compute(lambda s: s / freedom, square) if freedom else math.nan


def f_test(fit: Regression) -> dict[str, Quantity]:
    if fit.robust is not None:
        return _wald_test(fit)
    f: Quantity = math.nan
    if fit.df_model and fit.df_resid and fit.total_sum.lower > 0:
        f = math.inf
        if not fit.exact_fit:
            sums, ratio = (fit.residual_sum, fit.total_sum), Fraction(fit.df_resid, fit.df_model)
            f = compute(lambda r, t, q: (t - r) / r * q, *sums, Ball(ratio))
    return {"fvalue": f, "f_pvalue": upper_tail(f, fit.df_model, fit.df_resid)}


def _wald_test(fit: Regression) -> dict[str, Quantity]:
    """As statsmodels, which leaves F open where several columns make up the constant."""
    from titan.leastsquares.tested import all_zero

    found = None
    if fit.constant is None or fit.intercept is not None:
        found = all_zero(fit, [j for j, n in enumerate(fit.names) if n != fit.intercept])
    if found is None:
        return {"fvalue": math.nan, "f_pvalue": math.nan}
    return {"fvalue": found.statistic_enclosure, "f_pvalue": found.pvalue_enclosure}


def likelihood(fit: Regression) -> dict[str, Quantity]:
    """Of Gaussian errors of variance σ²/w: with weights, half the sum of their logarithms more."""
    unknown = fit.weighted and fit.log_weights is None
    if unknown or fit.exact_fit:
        llf = math.nan if unknown else math.inf
        return {"llf": llf, "aic": -llf, "bic": -llf}
    import flint

    n, k = fit.nobs, len(fit.names)

    def log_likelihood(r: flint.arb, logs: flint.arb) -> flint.arb:
        return (logs - (r / n * 2 * flint.arb.pi()).log() * n - n) / 2

    ball = compute(log_likelihood, fit.residual_sum, fit.log_weights or Ball(Fraction(0)))
    return {
        "llf": ball,
        "aic": compute(lambda v: 2 * k - 2 * v, ball),
        "bic": compute(lambda v: k * flint.arb(n).log() - 2 * v, ball),
    }


def confidence_limits(fit: Regression, alpha: float) -> list[tuple[Quantity, Quantity]]:
    """Each coefficient's, at level 1 − alpha, as enclosures."""
    return limits(fit, alpha, fit.certificate.enclosures, fit.bse.enclosures)


def limits(
    fit: Regression, alpha: float, balls: Sequence[Quantity], errors: Sequence[Quantity]
) -> list[tuple[Quantity, Quantity]]:
    """Those of any estimates with their standard errors."""
    if not 0 < real_number("alpha", alpha) < 1:
        raise InputError(f"alpha is {alpha!r}", hint="between 0 and 1, as 0.05")
    if alpha / 2 < sys.float_info.min:
        raise InputError(f"alpha is {alpha}, too small for a double", hint="as 0.05")
    if fit.df_resid == 0:
        return [(math.nan, math.nan)] * len(balls)
    if fit.exact_fit:
        return [(ball, ball) for ball in balls]
    limit = quantile(alpha, fit.df_resid) if fit.robust is None else normal_quantile(alpha)
    found: list[tuple[Quantity, Quantity]] = []
    for ball, se in zip(balls, errors, strict=True):
        if not (isinstance(ball, Ball) and isinstance(se, Ball)):  # not defined
            found.append((math.nan, math.nan))
            continue
        low = compute(lambda b, s, q: b - s * q, ball, se, limit)
        found.append((low, compute(lambda b, s, q: b + s * q, ball, se, limit)))
    return found
