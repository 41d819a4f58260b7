"""Statistics as balls: what follows from x̃, (AᵀA)⁻¹, the residual sum of squares and the row count.

Nothing here is rounded without its radius growing. Distributions are regularised incomplete beta
functions, which flint evaluates in balls:

    P(F_{a,b} > f) = I_{b/(b+af)}(b/2, a/2),   P(|T_ν| > t) = P(F_{1,ν} > t²).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares.balls import Ball, fraction_of, of_arb
from titan.leastsquares.bounds import Floats, raised
from titan.leastsquares.certified import Certificate
from titan.leastsquares.named import Quantity
from titan.leastsquares.pooled import PooledMoments
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

PRECISION = 320
_MOST_STEPS = 50
_STEP_ENOUGH = 1e-15
_MOST_LOG = 709.0  # of a double
_TAIL_PRECISION = 128
"""Digits of a p-value nobody reads; the incomplete beta function is dear at more."""
_LEAST_EXPONENT = 2048
"""Below 2^-2048, next to nothing to a double, a p-value is in a ball around zero. Its own exponent
grows with the rows: as a fraction it would have millions of digits."""
_LEAST_TAIL = Ball(Fraction(0), Fraction(1, 1 << _LEAST_EXPONENT))
_MANY = 1 << 10


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
            mid += c * d * Fraction(int(moments.gram[j, k]), moments.denominator)
            rad += abs(c * d) * moments.entry_error(j, k)
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
    if above is _LEAST_TAIL:
        return above
    least = max(below.lower, Fraction(0))
    return Ball((above.upper + least) / 2, (above.upper - least) / 2)


def _tail_at(f: Fraction, first: int, second: int) -> Ball:
    """I_y(b/2, a/2) with y = b/(b+af), or one less I_{1−y}(a/2, b/2): what takes constant time.

    The second loses the bits by which a tail is small, and is given so many more. It is used for
    any tail of so many rows that the first would be slow, and for tails that are not small.
    """
    import flint

    bound = _tail_exponent(f, first, second)
    if bound < -_LEAST_EXPONENT:
        return _LEAST_TAIL
    a, b = flint.fmpq(first, 2), flint.fmpq(second, 2)
    many = second > first * f * _MANY
    precision = _TAIL_PRECISION - bound if many else _TAIL_PRECISION
    with working_precision(precision):
        at = first * Ball(f).arb(precision)
        if many or f < 1:
            tail = 1 - (at / (second + at)).beta_lower(a, b, 1)
        else:
            tail = (second / (second + at)).beta_lower(b, a, 1)
        known = tail.is_finite() and tail.rad() < 1
        return of_arb(tail) if known else Ball(Fraction(1, 2), Fraction(1, 2))


def _tail_exponent(f: Fraction, first: int, second: int) -> int:
    """An e with P(F > f) ≤ 2^e; 0 where nothing better is simple.

    With p = b/2, q = a/2, x = 1 − y, the density s^(p−1) (1−s)^(q−1) / B(p, q) of I_y(p, q) grows
    up to y at a rate of r = (p−1)/y − max(q−1, 0)/x at least, so that its integral is at most
    what it is at y, over r.
    """
    import flint

    with working_precision(_TAIL_PRECISION):
        at, p, q = first * Ball(f).arb(_TAIL_PRECISION), flint.arb(second) / 2, flint.arb(first) / 2
        x, y = at / (second + at), second / (second + at)
        rate = (p - 1) / y - max(first - 2, 0) / (2 * x) if f else flint.arb(0)
        if not rate > 0:
            return 0
        beta = p.lgamma() + q.lgamma() - (p + q).lgamma()
        log = (p - 1) * y.log() + (q - 1) * x.log() - beta - rate.log()
        return min(0, math.ceil(fraction_of((log / flint.arb.const_log2()).upper())))


def quantile(alpha: float, freedom: int) -> Ball:
    """t with P(|T| > t) = alpha: a double near it, proven by looking on both sides of it."""
    limit = _near_quantile(alpha, freedom)
    if not math.isfinite(limit):  # at some of the least levels
        raise InputError(f"alpha is {alpha}: no quantile is known for it", hint="as 0.05")
    guess = Fraction(limit)
    for exponent in (-45, -40, -30, -20):
        near = guess * Fraction(2) ** exponent
        below, above = (_tail_at((guess + side) ** 2, 1, freedom) for side in (-near, near))
        if above.upper < Fraction(alpha) < below.lower:
            return Ball(guess, near)
    return Ball(guess, guess)  # nothing proven: no digit is claimed


def _near_quantile(alpha: float, freedom: int) -> float:
    """Newton's steps for log P(|T| > t) as a function of log t, which is concave, from where the
    normal distribution has it. (To load SciPy for it would take longer than all else here.)"""
    t = -NormalDist().inv_cdf(alpha / 2)
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    scale += math.log(2) - math.log(freedom * math.pi) / 2
    for _ in range(_MOST_STEPS):
        times = _tail_at(Fraction(t) ** 2, 1, freedom).mid / Fraction(alpha)
        bend = (freedom + 1) * math.log(math.hypot(1, t / math.sqrt(freedom)))
        tail = _log(times) + math.log(alpha)
        step = _log(times) / (t * math.exp(scale - bend - tail))
        if not math.isfinite(t * math.exp(min(step, _MOST_LOG))):
            return math.inf
        t *= math.exp(step)
        if abs(step) < _STEP_ENOUGH:
            break
    return t


def _log(number: Fraction) -> float:
    """Also of what a double cannot hold, and to all digits near 1."""
    if abs(number - 1) < Fraction(1, 2):
        return math.log1p(float(number - 1))
    return math.log(number.numerator) - math.log(number.denominator)
