"""Penalised fits judged by information criteria, and what their penalty leaves of the model.

    RSS(x) = bᵀb − 2xᵀAᵀb + xᵀAᵀA x
    AIC = N ln(2π RSS/N) + N + 2 df,   BIC = N ln(2π RSS/N) + N + ln(N) df

so that without a penalty they are those of the regression (its weights' logarithms left out, which
are the same for every penalty). df is what the fit uses of the coefficients: of a lasso those that
are not zero, of a ridge the trace of its hat matrix.

    ridge    x̂ = (AᵀA + αP)⁻¹Aᵀb,  K = (AᵀA + αP)⁻¹,  P = 1 but for the intercept
             df = tr(K AᵀA) = n − α Σ_P K_jj,   σ̂² = RSS(x̂) / (N − df)
             V = σ̂² K AᵀA K,   V_jj = σ̂² (K_jj − α Σ_P K_jk²)

V is the covariance of x̂ about its own expectation: a penalty pulls that towards zero, which no
standard error tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity
from titan.leastsquares.pooled import PooledMoments

if TYPE_CHECKING:
    from flint import arb

    from titan.leastsquares.certified import Certificate

Criterion = Literal["aic", "bic"]
Point = TypeVar("Point")


def residual_sum(moments: PooledMoments, x: Sequence[Ball]) -> Ball | None:
    """RSS(x) for any x, in the units of the columns; None where bᵀb was not released."""
    if moments.bb is None:
        return None
    units = [Fraction(2) ** s for s in moments.scales]
    scaled = [Ball(b.mid * u, b.rad * u) for b, u in zip(x, units, strict=True)]
    n = range(len(scaled))
    gram = [
        Ball(Fraction(int(moments.gram[j, k]), moments.denominator), moments.entry_error(j, k))
        for j in n
        for k in n
    ]
    rhs = [Ball(g, e) for g, e in zip(moments.rhs, moments.rhs_error, strict=True)]
    whole = Ball(moments.bb, moments.bb_error)
    return compute(lambda b, *rest: _form(b, rest, len(scaled)), whole, *scaled, *rhs, *gram)


def _form(whole: arb, rest: Sequence[arb], n: int) -> arb:
    """bᵀb − 2xᵀg + xᵀGx."""
    from flint import arb_mat

    x, g = arb_mat(n, 1, list(rest[:n])), arb_mat(n, 1, list(rest[n : 2 * n]))
    gram = arb_mat(n, n, list(rest[2 * n :]))
    return whole + (x.transpose() * (gram * x - 2 * g))[0, 0]


def criterion(which: Criterion, rss: Quantity, df: Quantity, rows: int) -> Quantity:
    """AIC or BIC; −∞ where nothing is left to explain."""
    import flint

    if not isinstance(rss, Ball):
        return math.nan
    if rss.lower <= 0:
        return -math.inf if rss.upper <= 0 else math.nan
    df = df if isinstance(df, Ball) else Ball(Fraction(df))

    def value(r: arb, d: arb) -> arb:
        n = flint.arb(rows)
        return n * (2 * flint.arb.pi() * r / n).log() + n + d * (2 if which == "aic" else n.log())

    return compute(value, rss, df)


def best(points: Sequence[Point], values: Sequence[float], which: str) -> Point:
    """The point with the least value; the first of equals."""
    known = [value if not math.isnan(value) else math.inf for value in values]
    if not known or min(known) == math.inf:
        raise InputError(
            f"no {which} is known of these fits: it needs bᵀb, or all rows are fitted exactly",
            hint='a regression opens bᵀb: fit.ridge_path(…).best("bic")',
        )
    return points[int(np.argmin(known))]


def checked(which: str) -> Criterion:
    if which not in ("aic", "bic"):
        raise InputError(f"the criterion {which!r} is not known", hint='"bic" or "aic"')
    return which  # type: ignore[return-value]


# -- ridge ------------------------------------------------------------------------------------


def effective_df(certificate: Certificate, alpha: Fraction, penalised: Sequence[int]) -> Ball:
    """n − α Σ_P K_jj, of the certificate of AᵀA + αP."""
    own = [certificate.inverse(j, j) for j in penalised]
    total = Ball(sum((b.mid for b in own), Fraction(0)), sum((b.rad for b in own), Fraction(0)))
    n = len(certificate.moments.names)
    return Ball(n - alpha * total.mid, alpha * total.rad)


def ridge_errors(
    certificate: Certificate, alpha: Fraction, penalised: Sequence[int], scale: Quantity
) -> list[Quantity]:
    """√V_jj of every coefficient."""
    if not isinstance(scale, Ball):
        return [scale] * len(certificate.moments.names)
    found: list[Quantity] = []
    for j in range(len(certificate.moments.names)):
        others = [certificate.inverse(j, k) for k in penalised]
        square = compute(
            lambda s, a, own, *rest: s * (own - a * sum((r * r for r in rest), 0 * a)),
            scale, Ball(alpha), certificate.inverse(j, j), *others,
        )  # fmt: skip
        found.append(inference.root(square))
    return found


def ridge_scale(rss: Ball | None, df: Ball, rows: int) -> Quantity:
    """σ̂²; not defined where no degree of freedom is left."""
    if rss is None or df.upper >= rows:
        return math.nan
    return compute(lambda r, d: r / (rows - d), rss, df)
