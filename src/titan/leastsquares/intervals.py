"""Confidence limits of a fit's coefficients."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute, quantile
from titan.leastsquares.named import Quantity
from titan.leastsquares.robust import normal_quantile

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


def confidence_limits(fit: Regression, alpha: float) -> list[tuple[Quantity, Quantity]]:
    """Each coefficient's, at level 1 − alpha, as enclosures."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}", hint="between 0 and 1, as 0.05")
    if alpha / 2 < sys.float_info.min:
        raise InputError(f"alpha is {alpha}: half of it is no double", hint="as 0.05")
    if fit.df_resid == 0:
        return [(math.nan, math.nan)] * len(fit.names)
    balls = fit.certificate.enclosures
    if fit.exact_fit:
        return [(ball, ball) for ball in balls]
    if fit.robust is not None:
        z = normal_quantile(alpha)
        pairs = zip(fit.params.values(), fit.bse.values(), strict=True)
        return [(x - z * se, x + z * se) for x, se in pairs]
    limit = quantile(alpha, fit.df_resid)
    limits: list[tuple[Quantity, Quantity]] = []
    for ball, se in zip(balls, fit.bse.enclosures, strict=True):
        if not isinstance(se, Ball):
            raise AssertionError("a fit that is not exact has standard errors in balls")
        low = compute(lambda b, s, q: b - s * q, ball, se, limit)
        limits.append((low, compute(lambda b, s, q: b + s * q, ball, se, limit)))
    return limits
