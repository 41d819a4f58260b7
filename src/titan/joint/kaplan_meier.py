"""Survival from counts, as balls: the product limit, Greenwood's variance, intervals, tests.

With n rows at risk in an interval and d events in it,

    S = Π (1 − d/n)        V = Σ d / (n (n − d))        standard error S √V

and an interval around S on one of three scales, z being the normal quantile:

    plain      S ± z S √V
    log        S exp(± z √V)                                      (the default of R's survfit)
    log-log    exp(−exp(log(−log S) ± z √V / log S))              (that of lifelines)

The log-rank test compares the events of each group with d n_g / n, those that it would have if all
groups had one curve: u = Σ w (d_g − d n_g / n), with the covariances Σ w² d (n − d) / (n − 1) ·
n_g / n (δ − n_h / n). The weight w is 1; n is Gehan's (Wilcoxon), √n is Tarone and Ware's.
"""

# Rule: counts in, balls out. Nothing here is rounded without its radius growing.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from titan.errors import InputError
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.named import Quantity
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

PRECISION = 320
Scale = Literal["log-log", "log", "plain"]
SCALES: tuple[Scale, ...] = ("log-log", "log", "plain")
Weights = Literal["logrank", "wilcoxon", "tarone-ware"]
WEIGHTS: tuple[Weights, ...] = ("logrank", "wilcoxon", "tarone-ware")
ONE, ZERO = Ball(Fraction(1)), Ball(Fraction(0))


@dataclass(frozen=True)
class Estimate:
    """Of one interval: survival to its end, and Greenwood's V; inf where nobody is left."""

    survival: Ball
    variance: Quantity

    @property
    def se(self) -> Quantity:
        """Not defined where nobody is left."""
        if not isinstance(self.variance, Ball):
            return math.nan
        if not self.variance.mid:
            return ZERO
        with working_precision(PRECISION):
            root = self.variance.arb(PRECISION).sqrt()
            return of_arb(self.survival.arb(PRECISION) * root)

    def interval(self, z: Ball, scale: Scale) -> tuple[Quantity, Quantity]:
        """Where survival lies, as far as so many standard errors tell."""
        if not isinstance(self.variance, Ball):
            return math.nan, math.nan
        if not self.variance.mid:  # no event so far
            return ONE, ONE
        with working_precision(PRECISION):
            s, root = self.survival.arb(PRECISION), self.variance.arb(PRECISION).sqrt()
            away = z.arb(PRECISION) * root
            if scale == "plain":
                ends = [s - s * away, s + s * away]
            elif scale == "log":
                ends = [s * (-away).exp(), s * away.exp()]
            else:
                log = s.log()
                ends = [-((-log).log() + side / log).exp() for side in (-away, away)]
                ends = sorted((end.exp() for end in ends), key=_middle)
            low, high = map(of_arb, ends)
        return (low if low.mid > 0 else ZERO), (high if high.mid < 1 else ONE)


def _middle(ball: arb) -> float:
    return float(ball.mid())


def product_limit(at_risk: Sequence[int], events: Sequence[int]) -> list[Estimate]:
    """For every interval in which somebody is at risk."""
    import flint

    found: list[Estimate] = []
    with working_precision(PRECISION):
        s, v, gone = flint.arb(1), flint.arb(0), False
        for n, d in zip(at_risk, events, strict=True):
            if d:
                s = s * (n - d) / n
                gone |= n == d
                v = v if gone else v + flint.arb(d) / (n * (n - d))
            variance: Quantity = math.inf if gone else of_arb(v)
            found.append(Estimate(of_arb(s), variance))
    return found


def normal_quantile(alpha: float) -> Ball:
    """z with P(|Z| > z) = alpha."""
    import flint

    if not isinstance(alpha, float) or not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r} is not between 0 and 1", hint="as 0.05")
    with working_precision(PRECISION):
        return of_arb(flint.arb(2).sqrt() * (1 - flint.arb(alpha)).erfinv())


@dataclass(frozen=True)
class Comparison:
    """How the events of groups differ from those of one curve."""

    statistic: Quantity
    freedom: int
    expected: tuple[Ball, ...]
    """Without weights, of every group."""


def log_rank(
    at_risk: Sequence[Sequence[int]], events: Sequence[Sequence[int]], weights: Weights
) -> Comparison:
    """Of groups, each with its rows at risk and events in all intervals.

    A group that is never at risk when somebody has the event says nothing, and is left out.
    """
    import flint

    times = [at for at, d in enumerate(zip(*events, strict=True)) if any(d)]
    groups = [g for g, n in enumerate(at_risk) if any(n[at] for at in times)]
    size = max(len(groups) - 1, 0)
    with working_precision(PRECISION):
        u = flint.arb_mat(size, 1)
        v = flint.arb_mat(size, size)
        expected = [flint.arb(0) for _ in at_risk]
        for at in times:
            n, d = sum(each[at] for each in at_risk), sum(each[at] for each in events)
            for g, each in enumerate(at_risk):
                expected[g] += flint.arb(d * each[at]) / n
            w = {"logrank": flint.arb(1), "wilcoxon": flint.arb(n)}.get(weights)
            w = flint.arb(n).sqrt() if w is None else w
            spread = w * w * d * (n - d) / (n - 1) if n > 1 else flint.arb(0)
            for i, g in enumerate(groups[:size]):
                share = flint.arb(at_risk[g][at]) / n
                u[i, 0] += w * (events[g][at] - d * share)
                for j, h in enumerate(groups[:size]):
                    v[i, j] += spread * share * ((g == h) - flint.arb(at_risk[h][at]) / n)
        return Comparison(_quadratic(u, v), size, tuple(map(of_arb, expected)))


def _quadratic(u: object, v: object) -> Quantity:
    """uᵀ v⁻¹ u; not a number where v cannot be shown to have an inverse."""
    from flint import arb_mat

    assert isinstance(u, arb_mat) and isinstance(v, arb_mat)  # noqa: S101, PT018
    if not u.nrows():
        return math.nan
    try:
        found = (u.transpose() * v.solve(u))[0, 0]
    except ZeroDivisionError:
        return math.nan
    return of_arb(found) if found.is_finite() else math.nan
