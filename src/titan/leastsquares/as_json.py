"""A fit as JSON: every number with how far it may be off, under its name and `_error`.

What is infinite or not defined is null, and so is its error; an error that is null beside a number
says that nothing is proven of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from titan import canonical
from titan.leastsquares.balls import Ball, nearest
from titan.leastsquares.named import Named, Quantity

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

STATISTICS = ("rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "aic", "bic")
_COEFFICIENTS = ("bse", "tvalues", "pvalues")
_COUNTS = ("nobs", "df_model", "df_resid", "exact_fit", "cov_type", "formula")


def as_dict(fit: Regression) -> dict[str, Any]:
    limits = dict(zip(fit.names, fit.intervals(), strict=True))
    proven = fit.robust is None
    whole = {
        "params": fit.params,
        "error_bound": fit.error_bound,
        "params_error": fit.error_bound,
        **{key: getattr(fit, key) for key in _COUNTS},
        **with_errors({key: enclosures(getattr(fit, key)) for key in _COEFFICIENTS}, proven),
        **with_errors(fit.statistics | {"scale": fit.scale_ball, "ssr": fit.ssr_ball}, proven),
        **with_errors({"conf_int": limits}, proven),
        "condition": fit.certificate.condition,
        "method": fit.certificate.approximation.method,
        "response": fit.moments.response,
        "dropped": None if fit.dropped is None else sum(fit.dropped.values()),
        "centres": {text: nearest(mean) for text, mean in fit.centres.items()},
    }
    return dict(canonical.finite(whole))


def enclosures(numbers: Named) -> dict[str, Quantity]:
    """By name."""
    return dict(zip(numbers, numbers.enclosures, strict=True))


def with_errors(numbers: Mapping[str, Any], proven: bool = True) -> dict[str, Any]:
    """Quantities, quantities by name, or pairs of them by name: as floats, and their errors."""
    found: dict[str, Any] = {}
    for name, quantity in numbers.items():
        found[name] = _each(quantity, float)
        found[f"{name}_error"] = _each(quantity, lambda q: _error(q, proven))
    return found


def _each(quantity: Any, of: Any) -> Any:
    """Of a number, of numbers by name, or of pairs by name."""
    if isinstance(quantity, Mapping):
        return {name: _each(one, of) for name, one in quantity.items()}
    return [_each(one, of) for one in quantity] if isinstance(quantity, tuple) else of(quantity)


def _error(quantity: Quantity, proven: bool) -> float:
    """A plain number is exact (0, 1), unless it is a test of robust errors."""
    if isinstance(quantity, Ball):
        return quantity.error
    return 0.0 if proven and math.isfinite(quantity) else math.nan
