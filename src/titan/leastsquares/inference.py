"""Statistics as balls: what follows from x̃, (AᵀA)⁻¹, the residual sum of squares and the row count.

Nothing here is rounded without its radius growing. Distributions are regularised incomplete beta
functions, which flint evaluates in balls:

    P(F_{a,b} > f) = I_{b/(b+af)}(b/2, a/2),   P(|T_ν| > t) = P(F_{1,ν} > t²).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.bounds import Floats, raised
from titan.leastsquares.certified import Certificate
from titan.leastsquares.named import Quantity
from titan.leastsquares.pooled import PooledMoments
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

PRECISION = 320
_TAIL_PRECISION = 128
"""Digits of a p-value nobody reads; the incomplete beta function is dear at more."""


def residual_sum(certificate: Certificate) -> Ball:
    """bᵀb − 2x̃ᵀg + x̃ᵀGx̃ less the second-order term, which x̃ ≠ x adds.

    With ρ = g̃ − G̃x̃ exact, the pooled integers give bᵀb − x̃ᵀ(g̃ + ρ) exactly. The truth differs
    from it by at most err(bᵀb) + 2|x̃|ᵀr + |x̃|ᵀĒ|x̃|, and ‖Ax − b‖² is smaller than ‖Ax̃ − b‖² by
    δᵀGδ = δᵀ(g − Gx̃), which lies in [0, |δ|ᵀ|g − Gx̃|]. (bᵀb − gᵀx̃ would leave x̃ᵀρ out.)
    """
    moments, approximation = certificate.moments, certificate.approximation
    if moments.bb is None:
        raise ValueError("bᵀb was not released")
    one, unit = 1 << approximation.shift, approximation.residual_unit
    entries = zip(approximation.numerators, moments.rhs, approximation.residual, strict=True)
    along = (Fraction(int(x), one) * (g + Fraction(int(rho), unit)) for x, g, rho in entries)
    mid = moments.bb - sum(along, Fraction(0))
    error, size = certificate.contraction.perturbation, approximation.absolute_x()
    first = _total(size * (2 * error.rhs + error.times(size)))
    second = _total(certificate.deviation * certificate.pull) / 2
    return Ball(mid - second, moments.bb_error + first + second)


def _total(terms: Floats) -> Fraction:
    return Fraction(float(raised(terms.sum(keepdims=True), len(terms) + 4)[0]))


def total_sum(moments: PooledMoments, constant: list[Fraction] | None, weighted: bool) -> Ball:
    """‖b‖², about the mean where A c = 1: less (cᵀAᵀb)² / ‖Ac‖², and ‖Ac‖² is the row count."""
    whole = Ball(moments.bb or Fraction(0), moments.bb_error)
    if constant is None:
        return whole
    mid, rad = Fraction(0), Fraction(0)
    for j, c in _scaled(moments, constant):
        mid += c * moments.rhs[j]
        rad += abs(c) * moments.rhs_error[j]
    length = square_length(moments, constant) if weighted else Ball(Fraction(moments.rows))
    return compute(lambda b, a, n: b - a * a / n, whole, Ball(mid, rad), length)


def _scaled(moments: PooledMoments, constant: list[Fraction]) -> list[tuple[int, Fraction]]:
    """The nonzero coefficients of the constant, for scaled columns, with their positions."""
    pairs = enumerate(zip(constant, moments.scales, strict=True))
    return [(j, c * Fraction(2) ** s) for j, (c, s) in pairs if c]


def square_length(moments: PooledMoments, constant: list[Fraction]) -> Ball:
    """‖Ac‖² = cᵀGc."""
    mid, rad = Fraction(0), Fraction(0)
    for j, c in _scaled(moments, constant):
        for k, d in _scaled(moments, constant):
            error = moments.diagonal_error[j] if j == k else moments.gram_error
            mid += c * d * Fraction(int(moments.gram[j, k]), moments.denominator)
            rad += abs(c * d) * error
    return Ball(mid, rad)


def compute(formula: Callable[..., arb], *balls: Ball) -> Ball:
    """A formula on balls; one that is not defined all over them is a mistake of the caller."""
    with working_precision(PRECISION):
        return of_arb(formula(*(ball.arb(PRECISION) for ball in balls)))


def root(square: Ball) -> Ball:
    """√ of a nonnegative quantity, also where its ball reaches below zero."""
    if square.lower > 0:
        return compute(lambda s: s.sqrt(), square)
    half = compute(lambda s: s.sqrt(), Ball(max(square.upper, Fraction(0)))).upper / 2
    return Ball(half, half)


def ratio(ball: Ball, se: Quantity) -> Quantity:
    """A coefficient over its standard error."""
    if not isinstance(se, Ball) and se > 0:
        return float(ball) / se
    if isinstance(se, Ball) and se.lower > 0:
        return compute(lambda b, s: b / s, ball, se)
    if isinstance(se, Ball) or math.isnan(se) or 0 in ball:
        return math.nan
    return math.inf if ball.mid > 0 else -math.inf


def two_sided(t: Quantity, freedom: int) -> Quantity:
    """P(|T| > |t|)."""
    if not isinstance(t, Ball):
        return math.nan if math.isnan(t) else 0.0
    low, high = max(abs(t.mid) - t.rad, Fraction(0)), abs(t.mid) + t.rad
    return _tail(low * low, high * high, 1, freedom)


def upper_tail(f: Quantity, first: int, second: int) -> Quantity:
    """P(F > f)."""
    if not isinstance(f, Ball):
        return math.nan if math.isnan(f) else 0.0
    return _tail(max(f.lower, Fraction(0)), max(f.upper, Fraction(0)), first, second)


def _tail(low: Fraction, high: Fraction, first: int, second: int) -> Ball:
    """P(F > f) for f in [low, high]: it falls with f, so the ends enclose it."""
    above, below = _tail_at(low, first, second), _tail_at(high, first, second)
    return Ball((above.upper + below.lower) / 2, (above.upper - below.lower) / 2)


def _tail_at(f: Fraction, first: int, second: int) -> Ball:
    """I_{b/(b+af)}(b/2, a/2), or one less the same from the other end where it is not small."""
    import flint

    a, b = flint.fmpq(first, 2), flint.fmpq(second, 2)
    with working_precision(_TAIL_PRECISION):
        at = Ball(f).arb(_TAIL_PRECISION)
        if f < 1:
            tail = 1 - (first * at / (second + first * at)).beta_lower(a, b, 1)
        else:
            tail = (second / (second + first * at)).beta_lower(b, a, 1)
        return of_arb(tail) if tail.is_finite() else Ball(Fraction(1, 2), Fraction(1, 2))


def quantile(alpha: float, freedom: int) -> Ball:
    """t with P(|T| > t) = alpha: SciPy's value, proven by looking on both sides of it."""
    from scipy.special import stdtrit

    limit = -float(stdtrit(freedom, alpha / 2))
    if not math.isfinite(limit):  # SciPy finds none at some of the least levels
        raise InputError(f"alpha is {alpha}: no quantile is known for it", hint="as 0.05")
    guess = Fraction(limit)
    for exponent in (-45, -40, -30, -20):
        near = guess * Fraction(2) ** exponent
        below, above = (_tail_at((guess + side) ** 2, 1, freedom) for side in (-near, near))
        if above.upper < Fraction(alpha) < below.lower:
            return Ball(guess, near)
    return Ball(guess, guess)  # nothing proven: no digit is claimed
