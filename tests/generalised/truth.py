"""The maximum likelihood estimate to 60 digits: a deliberately dumb twin, in mpmath."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath

DIGITS = 60


def estimate(
    rows: Sequence[Sequence[float]],
    y: Sequence[float],
    family: str,
    *,
    weights: Sequence[float] | None = None,
    offset: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
    start: Sequence[float],
) -> tuple[list[Any], list[Any]]:
    """The coefficients and their standard errors, from a start that is near them."""
    with mpmath.workdps(DIGITS + 15):
        n, p = len(rows), len(rows[0])
        a = [[mpmath.mpf(x) for x in row] for row in rows]
        w = [mpmath.mpf(x) for x in weights or [1.0] * n]
        o = [mpmath.mpf(x) for x in offset or [0.0] * n]
        alpha = [mpmath.mpf(x) for x in penalties or [0.0] * p]
        beta = mpmath.matrix([mpmath.mpf(x) for x in start])
        for _ in range(60):
            score, hessian = mpmath.zeros(p, 1), mpmath.zeros(p, p)
            for i in range(n):
                eta = sum((a[i][j] * beta[j] for j in range(p)), o[i])
                mu = mpmath.exp(eta) if family == "poisson" else 1 / (1 + mpmath.exp(-eta))
                v = mu if family == "poisson" else mu * (1 - mu)
                for j in range(p):
                    score[j] += w[i] * (y[i] - mu) * a[i][j]
                    for k in range(p):
                        hessian[j, k] += w[i] * v * a[i][j] * a[i][k]
            for j in range(p):
                score[j] -= alpha[j] * beta[j]
                hessian[j, j] += alpha[j]
            step = mpmath.lu_solve(hessian, score)
            beta += step
            if mpmath.norm(step) < mpmath.mpf(10) ** -DIGITS * (1 + mpmath.norm(beta)):
                inverse = hessian**-1
                return list(beta), [mpmath.sqrt(inverse[j, j]) for j in range(p)]
        raise AssertionError("Newton's method does not converge: there may be no estimate")


def tests_of(params: Sequence[Any], errors: Sequence[Any]) -> dict[str, list[Any]]:
    """z, p and the ends of 95 % confidence intervals, under the names of the JSON."""
    with mpmath.workdps(DIGITS + 15):
        z = [b / e for b, e in zip(params, errors, strict=True)]
        wide = mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(0.05))
        limits = [[b - wide * e, b + wide * e] for b, e in zip(params, errors, strict=True)]
        p = [mpmath.erfc(abs(x) / mpmath.sqrt(2)) for x in z]
        return {"params": list(params), "bse": list(errors), "tvalues": z, "pvalues": p,
                "conf_int": limits}  # fmt: skip


def ratios_of(tested: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Hazard ratios and their limits."""
    with mpmath.workdps(DIGITS + 15):
        ends = [[mpmath.exp(x) for x in pair] for pair in tested["conf_int"]]
        return {"hazard_ratios": [mpmath.exp(b) for b in tested["params"]], "hazard_conf_int": ends}


def told(answer: Mapping[str, Any], truth: Mapping[str, Any]) -> list[bool]:
    """Of every number of a JSON: whether the truth is within its `_error`; null is beyond all."""
    with mpmath.workdps(DIGITS + 15):
        return [
            abs(right) > sys.float_info.max
            if value is None
            else abs(mpmath.mpf(value) - right) <= mpmath.mpf(error)
            for key, numbers in truth.items()
            for value, error, right in zip(
                _flat(answer[key]), _flat(answer[f"{key}_error"]), _flat(numbers), strict=True
            )
        ]


def _flat(numbers: Any) -> list[Any]:
    if isinstance(numbers, Mapping):
        numbers = list(numbers.values())
    if not isinstance(numbers, list):
        return [numbers]
    return [x for each in numbers for x in _flat(each)]


def inside(found: Any, truth: Sequence[Any]) -> list[bool]:
    """Of named enclosures: whether each holds the truth."""
    with mpmath.workdps(DIGITS + 15):
        return [
            abs(_mp(ball.mid) - value) <= _mp(ball.rad) + mpmath.mpf(10) ** (-DIGITS + 5)
            for ball, value in zip(found.enclosures, truth, strict=True)
        ]


def _mp(fraction: Any) -> Any:
    return mpmath.mpf(fraction.numerator) / fraction.denominator
