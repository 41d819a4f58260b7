"""The table statsmodels prints, with the digits that are proven and no others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill as wrap
from typing import TYPE_CHECKING, Protocol

from titan.leastsquares.balls import Ball, at_most
from titan.leastsquares.named import Named, Quantity

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_WIDTH = 78
_CELL = 11
_LEAST_DOUBLE = math.ulp(0.0)
_ERRORS = {
    "nonrobust": "Standard errors assume that the covariance of the errors is correctly specified.",
    "HC0": "Standard errors are robust to heteroscedasticity (HC0).",
    "cluster": "Standard errors are robust to correlation inside clusters, the parties (CRV1).",
}


class Fitted(Protocol):
    """What the table of coefficients is made of."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def params(self) -> Named: ...
    @property
    def bse(self) -> Named: ...
    @property
    def tvalues(self) -> Named: ...
    @property
    def pvalues(self) -> Named: ...
    def intervals(self, alpha: float) -> list[tuple[Quantity, Quantity]]: ...


Pairs = Sequence[tuple[str, str]]


def summary(fit: Regression, alpha: float) -> str:
    """Header, coefficients, notes."""
    title = f"{'WLS' if fit.weighted else 'OLS'} Regression Results"
    test = "t" if fit.cov_type == "nonrobust" else "z"
    return framed(fit, alpha, title, *_header(fit), _notes(fit), test)


def framed(
    fit: Fitted,
    alpha: float,
    title: str,
    left: Pairs,
    right: Pairs,
    notes: Sequence[str],
    test: str,
) -> str:
    """Pairs of labels and values in two columns, the coefficients with a test, numbered notes."""
    label = max(_WIDTH - 6 * _CELL, *map(len, fit.names))  # as wide as the names need
    width = label + 6 * _CELL
    heavy, light = "=" * width, "-" * width
    limits = f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"
    labels = "coef", "std err", test, f"P>|{test}|", *limits
    heading = " " * label + "".join(f"{cell:>{_CELL}}" for cell in labels)
    half = width // 2
    header = [
        _pair(*one, half - 1) + "  " + _pair(*other, width - half - 1)
        for one, other in zip(left, right, strict=True)
    ]
    lines = [title.center(width).rstrip(), heavy, *header, heavy]
    lines += [heading, light, *_coefficients(fit, alpha, label), heavy]
    numbered = (f"[{i}] {note}" for i, note in enumerate(notes, 1))
    wrapped = [wrap(n, width, subsequent_indent="    ", break_on_hyphens=False) for n in numbered]
    return "\n".join([*lines, "Notes:", *wrapped])


def shown(quantity: Quantity, decimals: int) -> str:
    """Fixed point with at most `decimals`, fewer where fewer are proven; `?` where none is."""
    if not isinstance(quantity, Ball):
        return f"{quantity:.{decimals}f}"
    proven = min(decimals, quantity.decimals)
    if proven < 0:
        return quantity.text(6) if quantity.digits else "?"
    return f"{float(quantity):.{proven}f}"


def significant(quantity: Quantity, digits: int) -> str:
    """General notation with at most `digits`, fewer where fewer are proven."""
    if not isinstance(quantity, Ball):
        return f"{quantity:.{digits}g}"
    if 0 in quantity and quantity.error == _LEAST_DOUBLE:
        return "0"  # as the double is, and as statsmodels prints it
    proven = min(digits, quantity.digits)
    return f"{float(quantity):.{proven}g}" if proven else "?"


def _coefficient(quantity: Quantity) -> str:
    """Four decimals, or four significant digits of numbers too small or too large for them."""
    size = abs(float(quantity))
    if math.isfinite(size) and (size >= 1e6 or 0 < size < 1e-3):
        return significant(quantity, 4)
    return shown(quantity, 4)


def _header(fit: Regression) -> tuple[Pairs, Pairs]:
    stats = fit.statistics
    kind = "" if fit.constant is not None else " (uncentered)"
    left = [
        ("Dep. Variable:", fit.moments.response),
        ("Model:", "WLS" if fit.weighted else "OLS"),
        ("Method:", "Least Squares"),
        ("No. Observations:", str(fit.nobs)),
        ("Df Residuals:", str(fit.df_resid)),
        ("Df Model:", str(fit.df_model)),
        ("Covariance Type:", fit.cov_type),
    ]
    right = [
        (f"R-squared{kind}:", shown(stats["rsquared"], 3)),
        (f"Adj. R-squared{kind}:", shown(stats["rsquared_adj"], 3)),
        ("F-statistic:", significant(stats["fvalue"], 4)),
        ("Prob (F-statistic):", significant(stats["f_pvalue"], 3)),
        ("Log-Likelihood:", significant(stats["llf"], 5)),
        ("AIC:", significant(stats["aic"], 4)),
        ("BIC:", significant(stats["bic"], 4)),
    ]
    return left, right


def _pair(label: str, value: str, width: int) -> str:
    room = max(width - len(label) - 1, 1)
    return f"{label} {value[:room]:>{room}}"


def _coefficients(fit: Fitted, alpha: float, label: int) -> list[str]:
    columns = (each.enclosures for each in (fit.params, fit.bse, fit.tvalues, fit.pvalues))
    lines = []
    for name, x, se, t, p, limits in zip(fit.names, *columns, fit.intervals(alpha), strict=True):
        cells = [_coefficient(x), _coefficient(se), shown(t, 3), shown(p, 3)]
        row = "".join(f" {cell:>{_CELL - 1}}" for cell in (*cells, *map(_coefficient, limits)))
        lines.append(f"{name:<{label}}{row}")
    return lines


def _notes(fit: Regression) -> list[str]:
    digits, condition = min(fit.solution.digits), f"{fit.certificate.condition:.2g}"
    notes = [_ERRORS[fit.cov_type]]
    if fit.robust is not None:
        proven = min(ball.digits for ball in fit.bse.enclosures if isinstance(ball, Ball))
        notes.append(f"Robust errors are proven to at least {proven} significant digits.")
        notes.append("No digits of robust errors' F, p-values and confidence limits are proven.")
    notes.append(
        f"Coefficients are proven to at least {digits} significant digits; "
        f"condition of the scaled Gram matrix {condition}."
    )
    if fit.certificate.fell_back:
        notes.append("Solved in high precision: the columns are too ill-conditioned for float64.")
    if fit.dropped:
        notes.append(f"{sum(fit.dropped.values())} rows were left out as incomplete.")
    if fit.exact_fit:
        bound = at_most(fit.residual_sum.upper)
        notes.append(f"The fit is exact: the residual sum of squares is at most {bound}.")
    if fit.constant is None:
        notes.append("R² is about zero: no constant is known to be in the model.")
    absent = "Diagnostics that need rows (Durbin-Watson, Jarque-Bera, …) are absent"
    notes.append(f"{absent}: only the moments were pooled.")
    return notes
