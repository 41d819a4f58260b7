"""Solving in float64, proven all the same: an approximate inverse and exact residuals.

R̃ comes from a Cholesky factorisation in float64. Its defect F = I − R̃G̃ is computed by splitting
R̃ and G̃ into slices whose leading products are exact in float64, so that the cancellation in
I − R̃G̃ costs nothing, and the remainder carries an a-priori bound. x̃ is a fixed-point vector that
R̃ improves by the exact residual, again and again.

In this file the matrix is G' = N · 2^-P with entries in [−1/2, 1/2), G̃ = G' · 2^P / den, and
`inverse` is an approximate inverse of G'.
"""

# Rule 1: BLAS sums in an order of its own; every bound here holds for any order, with fused
#         multiply-add or without. (It would not hold for Strassen's scheme: no BLAS we know uses it.)
# Rule 2: scaling by powers of two is exact: exponents stay far from the limits, or nothing is proven.

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from titan.leastsquares.approximation import Approximation, System
from titan.leastsquares.balls import nearest, up
from titan.leastsquares.bounds import Floats, raised
from titan.leastsquares.pooled import Integers, PooledMoments, integers
from titan.leastsquares.slices import Slices, exact_width

_UNIT = 2.0**-53
_SWEEPS = 100
_LARGEST_INVERSE = 2.0**200


def solve_fast(moments: PooledMoments) -> Approximation | None:
    """x̃ and R̃ by float64 arithmetic; None where the matrix is too ill-conditioned for that."""
    n = len(moments.names)
    slices = Slices.cut(moments.gram, exact_width(n))
    matrix = _nearest(slices)
    inverse = _approximate_inverse(matrix)
    if inverse is None:
        return None
    defect, defect_error = _defect(inverse, slices)
    bound = raised(np.abs(defect) + defect_error, 2)
    if not bound.sum(axis=1).max() < 0.5:
        return None
    ratio = Fraction(moments.denominator, 1 << slices.bits)
    x, shift, residual, unit = _refine(moments, inverse, slices)
    return Approximation(
        numerators=x,
        shift=shift,
        residual=residual,
        residual_unit=unit,
        inverse=raised(np.abs(inverse) * up(ratio), 2),
        defect=bound,
        best=FastInverse(inverse, defect, defect_error, bound, ratio),
        method="float64 with exact residuals",
    )


def _nearest(slices: Slices) -> Floats:
    """G' in float64, not necessarily rounded to nearest, but within two units of the last place."""
    total = np.zeros(slices.parts.shape[1:])
    for s in range(len(slices.parts) - 1, -1, -1):  # the smallest first
        total += np.ldexp(slices.parts[s], -slices.width * (s + 1))
    return total


def _approximate_inverse(matrix: Floats) -> Floats | None:
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    if failed:
        return None
    half, failed = lapack.dpotri(factor, lower=1)
    if failed or not np.isfinite(half).all() or np.abs(half).max() > _LARGEST_INVERSE:
        return None
    lower = np.tril(half)
    return np.ascontiguousarray(lower + np.tril(half, -1).T)


def _defect(inverse: Floats, slices: Slices) -> tuple[Floats, Floats]:
    """F = I − R̃G' in float64 and a bound of its error, entry by entry.

    Row i of R̃ is 2^k_i (R1 + R2 + R3) with R1, R2 whole multiples of 2^-w, 2^-2w; likewise
    G' = G1 + G2 + G3. R1G1, R1G2 and R2G1 are exact. The rest, R1G3 + R2(G2+G3) + R3G', has
    factors whose magnitudes multiply to at most 2·2^-2w, so that each of its three products of n
    terms is off by at most (n+4)u · n · 2^(1−2w).
    """
    n, width = len(inverse), slices.width
    exponents = np.frexp(np.abs(inverse).max(axis=1))[1]
    scaled = np.ldexp(inverse, (width - exponents)[:, None])
    r1 = np.rint(scaled)
    remainder = np.ldexp(scaled - r1, width)
    r2 = np.rint(remainder)
    r3 = np.ldexp(remainder - r2, -2 * width)
    g1, g2, g3 = _three(slices)
    low = np.ldexp(g2, -2 * width) + g3
    rest = np.ldexp(r1, -width) @ g3 + np.ldexp(r2, -2 * width) @ low
    rest += r3 @ (np.ldexp(g1, -width) + low)
    head = np.diag(np.ldexp(1.0, -exponents))
    tail = -rest
    for product, exponent in (
        (r1 @ g1, -2 * width),
        (r1 @ g2, -3 * width),
        (r2 @ g1, -3 * width),
    ):
        head, error = _two_sum(head, -np.ldexp(product, exponent))
        tail += error
    scale = exponents[:, None]
    defect = np.ldexp(head + tail, scale)
    magnitude = np.abs(head) + np.abs(tail) + np.abs(rest)
    rounding = np.ldexp(magnitude, scale) * (8 * _UNIT)
    series = np.ldexp(3 * (n + 8) * n * _UNIT * 2.0 ** (1 - 2 * width), scale)
    return defect, raised(rounding + series, 4)


def _three(slices: Slices) -> tuple[Floats, Floats, Floats]:
    """G1 and G2 as whole numbers, and all the rest G3 in float64."""
    parts, width = slices.parts, slices.width
    g2 = parts[1] if len(parts) > 1 else np.zeros_like(parts[0])
    g3 = np.zeros_like(parts[0])
    for s in range(len(parts) - 1, 1, -1):
        g3 += np.ldexp(parts[s], -width * (s + 1))
    return parts[0], g2, g3


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as a float64 sum and its exact error (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _refine(
    moments: PooledMoments, inverse: Floats, slices: Slices
) -> tuple[Integers, int, Integers, int]:
    """x̃ = X · 2^-q with its exact residual: X += R̃ρ, ρ −= G̃ΔX until nothing changes."""
    system, n = System.of(moments), len(moments.names)
    shift = _shift(system, inverse, slices)
    mantissa, exponent = _float_of(system.factor)
    x, residual = integers([0] * n), system.target << shift
    for _ in range(_SWEEPS):
        top = max(residual.max(), -residual.min()).bit_length()
        if top == 0:
            break
        fraction = (residual / (1 << top)).astype(np.float64)
        move, power = _whole((inverse @ fraction) / mantissa, top - slices.bits - exponent, slices)
        if not move.any():
            break
        x = x + (move.astype(object) << power)
        residual = residual - ((system.factor * slices.times(move)) << power)
        if power == 0 and np.abs(move).max() <= 2:  # the last place: it could only dither
            break
    return x, shift, residual, system.lcm << shift


def _shift(system: System, inverse: Floats, slices: Slices) -> int:
    """How fine x̃ is to be, from a first solution in float64."""
    scale = Fraction(system.moments.denominator, 1 << slices.bits)
    rhs = np.array([nearest(g * scale) for g in system.moments.rhs])
    guess = np.abs(inverse @ rhs)
    return system.shift_for(float(guess.sum()), float(guess[guess > 0].min(initial=1.0)))


def _whole(
    move: Floats, exponent: int, slices: Slices
) -> tuple[npt.NDArray[np.int64], int]:
    """move · 2^exponent ≈ whole · 2^power with power ≥ 0 and whole below 2^(2·width)."""
    top = math.frexp(float(np.abs(move).max()))[1]
    keep = min(2 * slices.width - 1, top + exponent)
    if keep < 0:
        return np.zeros(len(move), np.int64), 0
    whole = np.rint(np.ldexp(move, keep - top)).astype(np.int64)
    return whole, top + exponent - keep


def _float_of(number: int) -> tuple[float, int]:
    """number ≈ mantissa · 2^exponent, the mantissa in [1/2, 1]."""
    exponent = number.bit_length()
    return number / (1 << exponent), exponent


@dataclass(frozen=True, eq=False)
class FastInverse:
    """One Newton step beyond R̃: R̂ = R̃ + FR̃, in float64.

    The true inverse R = R̃ + (F − R̃E)R, so R − R̃ − FR̃ = F(R − R̃) − R̃ER with |R − R̃| ≤ |F||R| + |R̃|Ē|R|.
    """

    inverse: Floats
    defect: Floats
    defect_error: Floats
    bound: Floats
    ratio: Fraction

    def floats(self) -> Floats:
        return self._newton() * float(self.ratio)

    def middle(self, j: int, k: int) -> Fraction:
        step = float(self.defect[j] @ self.inverse[:, k])
        return Fraction(float(self.inverse[j, k]) + step) * self.ratio

    def slack(self, true_inverse: Floats, encoding: Floats) -> Floats:
        n = len(self.inverse)
        away = raised(self.bound @ true_inverse + encoding, n)
        size = raised(np.abs(self.inverse) * up(self.ratio), 2)
        rounding = (n + 4) * _UNIT * (np.abs(self.defect) @ size) + 8 * _UNIT * (size + away)
        missed = self.bound @ away + self.defect_error @ size + encoding + rounding
        return raised(missed, 3 * n)

    def _newton(self) -> Floats:
        sharpened: Floats = self.inverse + self.defect @ self.inverse
        return sharpened
