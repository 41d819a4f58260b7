"""exp, 1/(1 + exp) and log(1 + x) of float64 arrays, with a proven bound of their error.

They are made of additions, multiplications and divisions alone, each of which IEEE 754 rounds to
the nearest: u = 2⁻⁵³ times its result at most. A library's own exp has no such promise.

exp     x = k ln 2 + r with |r| ≤ 0.35; Taylor's polynomial of degree 13 by Horner's rule; times 2ᵏ.
        Reduction: k C₁ is exact, since C₁ = ln 2 to 32 bits; each subtraction rounds by 0.36 u, and
        k C₂ (|C₂| = |ln 2 − C₁| < 2⁻³⁴) by 2⁻²⁰ u: |r̂ − r| ≤ 0.8 u, so 0.8 u of the result.
        Horner: the term of degree j passes 2j + 2 roundings at most, so that the error is at most
        1.01 u Σ (2j + 2) |r|ʲ/j! ≤ 1.01 u (2|r| + 2) e^|r| ≤ 3.9 u, or 5.5 u of a result ≥ 0.70.
        What Taylor leaves is 0.35¹⁴/14! < 0.1 u. Together below 8 u = 2⁻⁵⁰ of the result.
expit   with e = exp(−|η|): e (8 u), 1 + e (its error is at most 8 u e + u (1 + e), so 5 u of it),
        one division more: 1/(1 + e) to 6 u, e/(1 + e) to 14 u, e/(1 + e)² to 22 u.
log1p   of 0 ≤ e ≤ 1, as 2 artanh z with z = e/(2 + e) ≤ 1/3: seventeen terms of Σ z^(2j+1)/(2j+1),
        all positive. z to 8 u + 3 u, z² to 23 u; the term of degree j is off by (23 j + 13 + 2 j) u
        of itself, in all by 20 u of the sum, since terms fall by nine; the rest is below 0.1 u.
"""

# Rule 1: nothing here calls a transcendental function of a library.

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

UNIT = 2.0**-53
RELATIVE = 32 * UNIT
"""What any result here is off by at most, in parts of itself, given its argument."""
LARGEST = 700.0
"""Arguments of exp beyond it are taken as if they were it: there is no double to tell."""
_PER_LN2 = 1.4426950408889634
_HIGH = math.ldexp(2977044472, -32)  # ln 2 to 32 bits
_LOW = -4.2009150726810846e-11  # ln 2 less that, to the nearest double
_EXP = [1 / math.factorial(j) for j in range(13, -1, -1)]
_ARTANH = [1 / (2 * j + 1) for j in range(16, -1, -1)]


def exp(x: Floats) -> Floats:
    """To 8 u, for |x| ≤ 700; what lies beyond is taken to be there."""
    x = np.clip(x, -LARGEST, LARGEST)
    k = np.rint(x * _PER_LN2)
    r = x - k * _HIGH
    r -= k * _LOW
    p = np.full_like(r, _EXP[0])
    for coefficient in _EXP[1:]:
        p *= r
        p += coefficient
    power = (k.astype(np.int64) + 1023) << 52
    p *= power.view(np.float64)
    return p


class Logistic(NamedTuple):
    """Of every η: what both outcomes' probabilities are made of."""

    small: Floats
    """e = exp(−|η|)."""
    less: Floats
    """The probability of the less likely outcome, e/(1 + e)."""
    more: Floats
    """That of the other, 1/(1 + e)."""


def logistic(eta: Floats) -> Logistic:
    e = exp(-np.abs(eta))
    more = 1 / (1 + e)
    return Logistic(e, e * more, more)


def log1p(e: Floats) -> Floats:
    """log(1 + e) for 0 ≤ e ≤ 1."""
    z = e / (2 + e)
    square = z * z
    p = np.full_like(z, _ARTANH[0])
    for coefficient in _ARTANH[1:]:
        p *= square
        p += coefficient
    p *= z
    p *= 2
    return p
