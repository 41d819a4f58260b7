"""The normal distribution and χ² in balls, as `inference` has Student's t and F.

    P(|Z| > z) = erfc(z/√2),   P(χ²_k > x) = Γ(k/2, x/2) / Γ(k/2).

Both fall, so that what lies between two ends lies between their tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.named import Quantity
from titan.moments.precision import working_precision

_PRECISION = 320
"""χ² loses up to half of it on the way."""
_LEAST_EXPONENT = 2048
_LEAST = Ball(Fraction(0), Fraction(1, 1 << _LEAST_EXPONENT))
"""Below 2^-2048, next to nothing to a double, a tail is in a ball around zero: its own exponent
would make a fraction of very many digits."""


def normal_two_sided(z: Quantity) -> Quantity:
    """P(|Z| > |z|)."""
    if not isinstance(z, Ball):
        return math.nan if math.isnan(z) else 0.0
    return _between(max(abs(z.mid) - z.rad, Fraction(0)), abs(z.mid) + z.rad, _normal)


def chi2_tail(x: Quantity, freedom: int) -> Quantity:
    """P(χ² > x)."""
    if not isinstance(x, Ball):
        return math.nan if math.isnan(x) else 0.0
    low, high = max(x.lower, Fraction(0)), max(x.upper, Fraction(0))
    return _between(low, high, lambda at: _chi2(at, freedom))


def normal_quantile(alpha: float) -> Ball:
    """z with P(|Z| > z) = alpha: a double near it, proven by looking on both sides of it."""
    guess = Fraction(-NormalDist().inv_cdf(alpha / 2))
    for exponent in (-45, -40, -30, -20):
        near = guess * Fraction(2) ** exponent
        if _normal(guess + near).upper < Fraction(alpha) < _normal(guess - near).lower:
            return Ball(guess, near)
    return Ball(guess, guess)  # nothing proven: no digit is claimed


def _between(low: Fraction, high: Fraction, tail: Callable[[Fraction], Ball]) -> Ball:
    above, below = tail(low), tail(high)
    if above is _LEAST:
        return above
    least = max(below.lower, Fraction(0))
    return Ball((above.upper + least) / 2, (above.upper - least) / 2)


def _normal(z: Fraction) -> Ball:
    if z * z > 2 * _LEAST_EXPONENT:  # erfc(z/√2) < exp(−z²/2)
        return _LEAST
    with working_precision(_PRECISION):
        return of_arb((Ball(z * z / 2).arb(_PRECISION).sqrt()).erfc())


def _chi2(x: Fraction, freedom: int) -> Ball:
    """The tail is at most (x/k)^(k/2) exp(−(x−k)/2) for x > k: next to nothing far out."""
    import flint

    if x > freedom:
        times = float(x / freedom) if x < 2**1000 else 2.0**1000
        log = (math.log(times) - (times - 1)) * freedom / 2
        if log < -_LEAST_EXPONENT * math.log(2) - 1:
            return _LEAST
    if x == 0:
        return Ball(Fraction(1))
    with working_precision(_PRECISION):
        tail = (Ball(x).arb(_PRECISION) / 2).gamma_upper(flint.arb(freedom) / 2, 1)
        known = tail.is_finite() and tail.rad() < 1
        return of_arb(tail) if known else Ball(Fraction(1, 2), Fraction(1, 2))
