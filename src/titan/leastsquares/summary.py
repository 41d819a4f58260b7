"""The table statsmodels prints, with the digits that are proven and no others."""

from __future__ import annotations

import math
from textwrap import fill as wrap
from typing import TYPE_CHECKING

from titan.leastsquares.balls import Ball, at_most
from titan.leastsquares.named import Quantity

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_WIDTH = 78
_COLUMNS = (11, 11, 11, 11, 11, 11)
_ERRORS = {
    "nonrobust": "Standard errors assume that the covariance of the errors is correctly specified.",
    "HC0": "Standard errors are robust to heteroscedasticity (HC0).",
    "cluster": "Standard errors are robust to correlation inside clusters, the parties (CRV1).",
}


def summary(fit: Regression, alpha: float) -> str:
    """Header, coefficients, notes."""
    title = f"{'WLS' if fit.weighted else 'OLS'} Regression Results"
    width = _width(fit)
    heavy, light = "=" * width, "-" * width
    lines = [title.center(width).rstrip(), heavy, *_header(fit, width), heavy]
    lines += [_heading(fit, alpha), light, *_coefficients(fit, alpha), heavy]
    return "\n".join([*lines, "Notes:", *_notes(fit, width)])


def _width(fit: Regression) -> int:
    """As wide as the names of the columns need."""
    return _label_width(fit) + sum(_COLUMNS)


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
    proven = min(digits, quantity.digits)
    return f"{float(quantity):.{proven}g}" if proven else "?"


def _coefficient(quantity: Quantity) -> str:
    """Four decimals, or four significant digits of numbers too small or too large for them."""
    size = abs(float(quantity))
    if math.isfinite(size) and (size >= 1e6 or 0 < size < 1e-3):
        return significant(quantity, 4)
    return shown(quantity, 4)


def _header(fit: Regression, width: int) -> list[str]:
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
    half = width // 2
    return [
        _pair(*one, half - 1) + "  " + _pair(*other, width - half - 1)
        for one, other in zip(left, right, strict=True)
    ]


def _pair(label: str, value: str, width: int) -> str:
    room = max(width - len(label) - 1, 1)
    return f"{label} {value[:room]:>{room}}"


def _heading(fit: Regression, alpha: float) -> str:
    test = "t" if fit.cov_type == "nonrobust" else "z"
    labels = ("coef", "std err", test, f"P>|{test}|", f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]")
    return " " * _label_width(fit) + "".join(
        label.rjust(width) for label, width in zip(labels, _COLUMNS, strict=True)
    )


def _coefficients(fit: Regression, alpha: float) -> list[str]:
    width = _label_width(fit)
    lines = []
    for j, (name, (low, high)) in enumerate(zip(fit.names, fit.intervals(alpha), strict=True)):
        cells = (
            _coefficient(fit.params.enclosures[j]),
            _coefficient(fit.bse.enclosures[j]),
            shown(fit.tvalues.enclosures[j], 3),
            shown(fit.pvalues.enclosures[j], 3),
            _coefficient(low),
            _coefficient(high),
        )
        row = "".join(f" {cell:>{size - 1}}" for cell, size in zip(cells, _COLUMNS, strict=True))
        lines.append(f"{name:<{width}}{row}")
    return lines


def _label_width(fit: Regression) -> int:
    return max(_WIDTH - sum(_COLUMNS), *(len(name) for name in fit.names))


def _notes(fit: Regression, width: int) -> list[str]:
    notes = [_ERRORS[fit.cov_type]]
    if fit.robust is not None:
        notes.append("No digits of robust errors, z, F and what follows from them are proven.")
    digits = min(fit.solution.digits)
    notes.append(
        f"Coefficients are proven to at least {digits} significant digits; "
        f"condition of the scaled Gram matrix {fit.certificate.condition:.2g}."
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
    notes.append(
        "Diagnostics that need rows (Durbin-Watson, Jarque-Bera, …) are absent: only the "
        "moments were pooled."
    )
    return [
        wrap(f"[{i}] {note}", width, subsequent_indent="    ", break_on_hyphens=False)
        for i, note in enumerate(notes, 1)
    ]
