"""The maximum likelihood estimate to 60 digits: a deliberately dumb twin, in mpmath."""

from __future__ import annotations

from collections.abc import Sequence
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


def inside(found: Any, truth: Sequence[Any]) -> list[bool]:
    """Of named enclosures: whether each holds the truth."""
    with mpmath.workdps(DIGITS + 15):
        return [
            abs(_mp(ball.mid) - value) <= _mp(ball.rad) + mpmath.mpf(10) ** (-DIGITS + 5)
            for ball, value in zip(found.enclosures, truth, strict=True)
        ]


def _mp(fraction: Any) -> Any:
    return mpmath.mpf(fraction.numerator) / fraction.denominator
