"""Cox's maximum partial likelihood estimate to 60 digits: a deliberately dumb twin, in mpmath."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import mpmath

DIGITS = 60


class Truth(NamedTuple):
    params: list[Any]
    bse: list[Any]
    llf: Any
    llnull: Any


def estimate(
    rows: Sequence[Sequence[float]],
    times: Sequence[int],
    events: Sequence[int],
    strata: Sequence[int],
    ties: str,
    *,
    penalty: float = 0.0,
    start: Sequence[float],
) -> Truth:
    """From a start that is near."""
    with mpmath.workdps(DIGITS + 15):
        a = [[mpmath.mpf(repr(float(x))) for x in row] for row in rows]
        p = len(a[0])
        terms = list(_terms(times, events, strata, ties))
        happened = [i for i, d in enumerate(events) if d]
        beta = mpmath.matrix([mpmath.mpf(x) for x in start])
        for _ in range(60):
            score, hessian, likelihood = _sums(a, beta, terms, happened)
            for j in range(p):
                score[j] -= penalty * beta[j]
                hessian[j, j] += penalty
            step = mpmath.lu_solve(hessian, score)
            beta += step
            if mpmath.norm(step) < mpmath.mpf(10) ** -DIGITS * (1 + mpmath.norm(beta)):
                inverse = hessian**-1
                errors = [mpmath.sqrt(inverse[j, j]) for j in range(p)]
                _, _, null = _sums(a, mpmath.zeros(p, 1), terms, happened)
                return Truth(list(beta), errors, likelihood, null)
        raise AssertionError("Newton's method does not converge: there may be no estimate")


def _terms(
    times: Sequence[int], events: Sequence[int], strata: Sequence[int], ties: str
) -> Iterator[list[tuple[int, Any]]]:
    """Of every event, who is at risk and with which share."""
    for stratum in sorted(set(strata)):
        own = [i for i, s in enumerate(strata) if s == stratum]
        for t in sorted({times[i] for i in own if events[i]}):
            dying = [i for i in own if times[i] == t and events[i]]
            staying = [i for i in own if times[i] >= t and i not in dying]
            for at in range(len(dying)):
                share = 1 - mpmath.mpf(at) / len(dying) if ties == "efron" else mpmath.mpf(1)
                yield [(i, mpmath.mpf(1)) for i in staying] + [(i, share) for i in dying]


def _sums(
    a: Sequence[Sequence[Any]],
    beta: Any,
    terms: Sequence[Sequence[tuple[int, Any]]],
    happened: Sequence[int],
) -> tuple[Any, Any, Any]:
    p = len(a[0])
    eta = [sum(x * b for x, b in zip(row, beta, strict=True)) for row in a]
    w = [mpmath.exp(x) for x in eta]
    score, hessian = mpmath.zeros(p, 1), mpmath.zeros(p, p)
    likelihood = sum((eta[i] for i in happened), mpmath.mpf(0))
    for i in happened:
        for j in range(p):
            score[j] += a[i][j]
    for term in terms:
        weights = [(i, c * w[i]) for i, c in term]
        z = mpmath.fsum(x for _, x in weights)
        mean = [mpmath.fsum(x * a[i][j] for i, x in weights) / z for j in range(p)]
        likelihood -= mpmath.log(z)
        for j in range(p):
            score[j] -= mean[j]
            for k in range(j + 1):
                product = mpmath.fsum(x * a[i][j] * a[i][k] for i, x in weights) / z
                hessian[j, k] += product - mean[j] * mean[k]
                hessian[k, j] = hessian[j, k]
    return score, hessian, likelihood
