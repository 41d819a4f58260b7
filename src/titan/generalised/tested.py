"""Tests of hypotheses about coefficients that were found in steps: z and Wald's χ².

With C the hypotheses' rows, d = Cβ* − q and V = H(β*)⁻¹, Wald's statistic is W = dᵀ(CVCᵀ)⁻¹d. By
the proof (`certificate`), in the order of matrices,

    (1 − θ) H̃ ≤ H ≤ (1 + θ) H̃       e^(−Mt) H ≤ H(β*) ≤ e^(Mt) H,

so with R = H̃⁻¹ the statistic lies between (1 − θ) e^(−Mt) and (1 + θ) e^(Mt) times dᵀ(CRCᵀ)⁻¹d.
That is the square of a norm of d, and the norm of Cu is at most the norm of u in H̃. So where the
estimate is off by u, its root is off by ‖u‖ at most, however the hypotheses depend on each other.
"""

# Rule 1: a test whose covariance is not provably regular is not defined (NaN), and not a number.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from titan.errors import InputError
from titan.generalised.estimated import Estimated, limits
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.contrasts import check_independent
from titan.leastsquares.hypotheses import Hypotheses, read_hypotheses
from titan.leastsquares.named import Named, Quantity
from titan.leastsquares.tails import chi2_tail, normal_two_sided
from titan.leastsquares.tested import TTest, WaldTest
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 1024
Row = Sequence[Fraction]


class ZTest(TTest):
    """One z test for every hypothesis, called c0, c1, …"""

    def intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        return limits(self.effect.enclosures, self.sd.enclosures, alpha)


@dataclass(frozen=True, eq=False)
class _Contrasts:
    fit: Estimated
    found: Hypotheses

    @cached_property
    def rows(self) -> list[Row]:
        """C, for the coefficients of the last step's coordinates."""
        problem = self.fit.opened.problem
        of = [problem.combination(j) for j in range(len(self.fit.names))]
        return [[_dot(row, column) for column in zip(*of, strict=True)] for row in self.found.rows]

    @cached_property
    def middles(self) -> list[Fraction]:
        """C times the estimate."""
        steps = zip(self.fit.opened.beta, self.fit.certificate.step, strict=True)
        there = [b + x for b, x in steps]
        return [_dot(row, there) for row in self.rows]

    @cached_property
    def values(self) -> list[Ball]:
        bound = self.fit.certificate.bound
        return [Ball(x, bound(row)) for x, row in zip(self.middles, self.rows, strict=True)]

    def errors(self) -> list[Quantity]:
        return [inference.root(self.fit.certificate.variance(row)) for row in self.rows]

    def statistic(self) -> Quantity:
        """W; not defined where CRCᵀ may be singular."""
        from flint import arb

        proof = self.fit.certificate
        with working_precision(_PRECISION):
            square = self._at_estimate()
            if square is None:
                return math.nan
            off = Ball(proof.distance_of_estimate).arb(_PRECISION)
            high = (square.abs_upper().sqrt() + off) ** 2
            low = square.lower().sqrt() - off if square > 0 else arb(0)
            low = low**2 if low > 0 else arb(0)
            wider = Ball((1 + proof.theta) * (1 + proof.growth)).arb(_PRECISION)
            narrower = Ball((1 - proof.theta) / (1 + proof.growth)).arb(_PRECISION)
            return of_arb((high * wider).union(low * narrower))

    def _at_estimate(self) -> arb | None:
        """dᵀ(CRCᵀ)⁻¹d with d at the estimate, where R and the estimate are known to a rounding."""
        from flint import arb_mat

        proof, n = self.fit.certificate, len(self.rows)
        images = [proof.inverse.times(row) for row in self.rows]
        slack = [proof.inverse.slack(row) for row in self.rows]
        sizes = [sum(map(abs, row), Fraction(0)) for row in self.rows]
        entries = [
            Ball(_dot(self.rows[j], images[k]), sizes[j] * slack[k])
            for j in range(n)
            for k in range(n)
        ]
        away = [
            Ball(x - q, size * proof.slack)
            for x, q, size in zip(self.middles, self.found.targets, sizes, strict=True)
        ]
        try:
            matrix = arb_mat(n, n, [ball.arb(_PRECISION) for ball in entries])
            d = arb_mat(n, 1, [ball.arb(_PRECISION) for ball in away])
            form = (d.transpose() * matrix.solve(d))[0, 0]
        except ZeroDivisionError:
            return None
        return form if form.is_finite() else None


def t_test(fit: Estimated, given: Any) -> ZTest:
    """Each hypothesis by itself."""
    contrasts = _contrasts(fit, given)
    found, values, errors = contrasts.found, contrasts.values, contrasts.errors()
    triples = zip(values, found.targets, errors, strict=True)
    z = [inference.ratio(Ball(x.mid - q, x.rad), se) for x, q, se in triples]
    names = [f"c{at}" for at in range(len(found))]
    return ZTest(
        tuple(found.texts),
        effect=Named(names, values),
        sd=Named(names, errors),
        tvalue=Named(names, z),
        pvalue=Named(names, [normal_two_sided(each) for each in z]),
        df_denom=None,
        fit=fit,
    )


def wald_test(fit: Estimated, given: Any) -> WaldTest:
    """All hypotheses together, by χ²."""
    contrasts = _contrasts(fit, given)
    check_independent(contrasts.found.rows)
    statistic, count = contrasts.statistic(), len(contrasts.found)
    p, words = chi2_tail(statistic, count), tuple(contrasts.found.texts)
    return WaldTest(words, "chi2", statistic, p, count, None)


def _contrasts(fit: Estimated, given: Any) -> _Contrasts:
    if fit.alpha:
        raise InputError(
            "with a penalty there are no standard errors, so no tests", hint="fit without alpha"
        )
    return _Contrasts(fit, read_hypotheses(given, fit.names))


def _dot(one: Row, other: Row) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))
