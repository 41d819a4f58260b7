"""The table statsmodels prints of a GLM, with the digits that are proven and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from titan.generalised.goodness import OF_OFFSET, OF_ONE_ROW, OF_OUTCOMES
from titan.leastsquares.summary import framed, significant

if TYPE_CHECKING:
    from titan.generalised.result import GLM


def summary(fit: GLM, alpha: float) -> str:
    """Header, coefficients, notes."""
    stats = fit.statistics
    left = [
        ("Dep. Variable:", fit.response),
        ("Model:", "GLM"),
        ("Model Family:", fit.family.capitalize()),
        ("Link Function:", fit.link.capitalize()),
        ("No. Observations:", str(fit.nobs)),
        ("Df Residuals:", str(fit.df_resid)),
        ("Df Model:", str(fit.df_model)),
        ("No. Iterations:", str(fit.iterations)),
    ]
    right = [
        ("Log-Likelihood:", significant(stats["llf"], 5)),
        ("Deviance:", significant(stats["deviance"], 5)),
        ("Null Deviance:", significant(stats["null_deviance"], 5)),
        ("Pearson chi2:", significant(stats["pearson_chi2"], 3)),
        ("Pseudo R-squ. (CS):", significant(fit.goodness.pseudo_rsquared("cs"), 4)),
        ("AIC:", significant(stats["aic"], 4)),
        ("BIC:", significant(stats["bic"], 4)),
        ("Scale:", "1.0000"),
    ]
    title = "Generalized Linear Model Regression Results"
    return framed(fit, alpha, title, left, right, _notes(fit), "z")


def _notes(fit: GLM) -> list[str]:
    bits, parties = fit.opened.problem.bits, fit.opened.problem.parties
    notes = [
        "It is proven that the estimate exists, is the only one, and that coefficients are right "
        f"to at least {fit.digits} significant digits.",
        f"Sums were rounded to {bits} bits of their range"
        + (f" by each of {parties} parties." if parties > 1 else "."),
    ]
    if fit.alpha:
        penalty = f"The estimate is penalised by {float(fit.alpha):g}/2 times the sum of squares"
        notes.append(f"{penalty}; standard errors of such estimates are not defined.")
    if fit.offset:
        notes.append(f"The linear predictor has the offset {fit.offset}.")
    if fit.weights:
        notes.append(f"Rows are weighted by {fit.weights}.")
    notes += [f"{what} not told: {why}." for what, why in _not_told(fit)]
    if fit.dropped:
        notes.append(f"{sum(fit.dropped.values())} rows were left out as incomplete.")
    notes.append("What needs rows (residuals, influence, …) is absent: only sums were pooled.")
    return notes


def _not_told(fit: GLM) -> Iterator[tuple[str, str]]:
    reasons = fit.not_told
    if OF_OUTCOMES in reasons.values():
        yield "Likelihood, deviance, AIC and BIC are", OF_OUTCOMES
    if OF_OFFSET in reasons.values():
        yield "What compares with the model of a constant alone is", OF_OFFSET
    if OF_ONE_ROW in reasons.values():
        yield "Pearson's chi2 is", OF_ONE_ROW
