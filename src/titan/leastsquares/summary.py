"""The table statsmodels prints, with the digits that are proven and no others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill as wrap
from typing import TYPE_CHECKING, Protocol

from titan.leastsquares.balls import Ball, at_most
from titan.leastsquares.named import Named, Quantity
from titan.listing import listing

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_WIDTH = 78
_CELL = 11
_LEAST_DOUBLE = math.ulp(0.0)
_ERRORS = {
    "nonrobust": "Standard errors assume that the covariance of the errors is correctly specified.",
    **{f"HC{n}": f"Standard errors are robust to heteroscedasticity (HC{n})." for n in range(4)},
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
    return framed(fit, alpha, title(fit), *header(fit), notes(fit), _test(fit))


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
    heading = " " * label + "".join(f"{cell:>{_CELL}}" for cell in labels(test, alpha))
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


def title(fit: Regression) -> str:
    return f"{'WLS' if fit.weighted else 'OLS'} Regression Results"


def headings(fit: Regression, alpha: float) -> tuple[str, ...]:
    """Of the columns of `coefficient_cells`."""
    return labels(_test(fit), alpha)


def labels(test: str, alpha: float) -> tuple[str, ...]:
    limits = f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"
    return "coef", "std err", test, f"P>|{test}|", *limits


def _test(fit: Regression) -> str:
    return "t" if fit.cov_type == "nonrobust" else "z"


def shown(quantity: Quantity, decimals: int) -> str:
    """Fixed point with at most `decimals`, fewer where fewer are proven; `?` where none is."""
    if not isinstance(quantity, Ball):
        return f"{quantity:.{decimals}f}"
    proven = min(decimals, quantity.decimals)
    if proven < decimals and not quantity.digits:
        return "?"
    if proven < 0:
        return quantity.text(6)
    return f"{float(quantity):.{proven}f}"


def significant(quantity: Quantity, digits: int) -> str:
    """General notation with at most `digits`, fewer where fewer are proven."""
    if not isinstance(quantity, Ball):
        return f"{quantity:.{digits}g}"
    if not float(quantity) and quantity.error == _LEAST_DOUBLE:
        return "0"  # as the double is, and as statsmodels prints it
    proven = min(digits, quantity.digits)
    return f"{float(quantity):.{proven}g}" if proven else "?"


def _coefficient(quantity: Quantity) -> str:
    """Four decimals, or four significant digits of numbers too small or too large for them."""
    size = abs(float(quantity))
    if math.isfinite(size) and (size >= 1e6 or 0 < size < 1e-3):
        return significant(quantity, 4)
    return shown(quantity, 4)


def header(fit: Regression) -> tuple[Pairs, Pairs]:
    """Labels with values, to stand left and right."""
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


def coefficient_cells(fit: Fitted, alpha: float) -> list[tuple[str, list[str]]]:
    """For every coefficient its name and what is printed of it."""
    columns = (each.enclosures for each in (fit.params, fit.bse, fit.tvalues, fit.pvalues))
    lines = []
    for name, x, se, t, p, limits in zip(fit.names, *columns, fit.intervals(alpha), strict=True):
        cells = [_coefficient(x), _coefficient(se), shown(t, 3), shown(p, 3)]
        lines.append((name, [*cells, *map(_coefficient, limits)]))
    return lines


def _coefficients(fit: Fitted, alpha: float, label: int) -> list[str]:
    return [
        f"{name:<{label}}" + "".join(f" {cell:>{_CELL - 1}}" for cell in cells)
        for name, cells in coefficient_cells(fit, alpha)
    ]


def notes(fit: Regression) -> list[str]:
    digits, condition = min(fit.solution.digits), f"{fit.certificate.condition:.2g}"
    found = [_ERRORS[fit.cov_type]]
    if fit.robust is not None:
        proven = min(ball.digits for ball in fit.bse.enclosures if isinstance(ball, Ball))
        found.append(f"Robust errors are proven to at least {proven} significant digits.")
    found.append(
        f"Coefficients are proven to at least {digits} significant digits; "
        f"condition of the scaled Gram matrix {condition}."
    )
    if fit.certificate.fell_back:
        found.append("Solved in high precision: the columns are too ill-conditioned for float64.")
    if fit.centres:
        means = (f"{text} {significant(Ball(mean), 6)}" for text, mean in fit.centres.items())
        found.append(f"Centred at the means over all rows: {listing(means)}.")
    if fit.dropped and any(fit.dropped.values()):
        found.append(f"{sum(fit.dropped.values())} rows were left out as incomplete.")
    if fit.exact_fit:
        bound = at_most(fit.residual_sum.upper)
        found.append(f"The fit is exact: the residual sum of squares is at most {bound}.")
    if fit.constant is None:
        found.append("R² is about zero: no constant is known to be in the model.")
    absent = "Diagnostics that need rows (Durbin-Watson, Jarque-Bera, …) are absent"
    found.append(f"{absent}: only the moments were pooled.")
    return found
