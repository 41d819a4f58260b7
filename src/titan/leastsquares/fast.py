"""Solving in float64, proven all the same: an approximate inverse and exact residuals.

R̃ comes from a factorisation in float64. Its defect F = I − R̃G̃ is computed by splitting
R̃ and G̃ into slices whose leading products are exact in float64, so that the cancellation in
I − R̃G̃ costs nothing, and the remainder carries an a-priori bound. x̃ is a fixed-point vector that
R̃ improves by the exact residual, again and again.

In this file the matrix is G' = N · 2^-P with entries in [−1/2, 1/2), G̃ = G' · 2^P / den, and
`inverse` is an approximate inverse of G'.
"""

# Rule 1: BLAS sums in an order of its own; every bound here holds for any order, with fused
#         multiply-add or without. (Not for Strassen's scheme, which no BLAS we know uses.)
# Rule 2: scaling by powers of two is exact, exponents being kept far from the limits.

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from titan.leastsquares.approximation import Approximation, System
from titan.leastsquares.balls import nearest, up
from titan.leastsquares.bounds import Floats, raised
from titan.leastsquares.pooled import Integers, PooledMoments, bit_length, integers

_UNIT = 2.0**-53
_SWEEPS = 100
_BLOCK = 128
_LARGEST_INVERSE = 2.0**200


def solve_fast(moments: PooledMoments) -> Approximation | None:
    """x̃ and R̃ by float64 arithmetic; None where the matrix is too ill-conditioned for that."""
    n = len(moments.names)
    slices = Slices.cut(moments.gram, exact_width(n))
    split = Split.of(slices)
    inverse = _approximate_inverse(split.whole)
    if inverse is None:
        return None
    defect, defect_error = _defect(inverse, split)
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
        norm=float(np.abs(split.whole).sum(axis=0).max() / ratio),
        method="float64 with exact residuals",
    )


@dataclass(frozen=True, eq=False)
class Split:
    """G' = G1 + G2 + G3: `first` and `second` are G1 and G2 as whole numbers.

    `third`, `low` = G2 + G3 and `whole` are float64, within two units of the last place.
    """

    first: Floats
    second: Floats
    third: Floats
    low: Floats
    whole: Floats
    width: int

    @classmethod
    def of(cls, slices: Slices) -> Split:
        parts, width = slices.parts, slices.width
        second = parts[1] if len(parts) > 1 else np.zeros_like(parts[0])
        third = np.zeros_like(second)
        for s in range(len(parts) - 1, 1, -1):  # the smallest first
            third += parts[s] * 2.0 ** (-width * (s + 1))
        low = second * 2.0 ** (-2 * width) + third
        return cls(parts[0], second, third, low, parts[0] * 2.0**-width + low, width)


def _approximate_inverse(matrix: Floats) -> Floats | None:
    # NumPy's and not SciPy's LAPACK: each has a BLAS of its own, and the idle threads of one
    # would spin against the other in the products that follow.
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    inverse = (inverse + inverse.T) / 2
    return inverse if np.abs(inverse).max() < _LARGEST_INVERSE else None


def _defect(inverse: Floats, split: Split) -> tuple[Floats, Floats]:
    """F = I − R̃G' in float64 and a bound of its error, entry by entry; rows in blocks."""
    defect, error = np.empty_like(inverse), np.empty_like(inverse)
    for start in range(0, len(inverse), _BLOCK):
        rows = slice(start, start + _BLOCK)
        defect[rows], error[rows] = _defect_rows(inverse[rows], start, split)
    return defect, error


def _defect_rows(inverse: Floats, start: int, split: Split) -> tuple[Floats, Floats]:
    """The rows of F from `start` on.

    Row i of R̃ is 2^k_i (R1 + R2 + R3) with R1, R2 whole multiples of 2^-w, 2^-2w; likewise
    G' = G1 + G2 + G3. R1G1, R1G2 and R2G1 are exact. The rest, R1G3 + R2(G2+G3) + R3G', has
    factors whose magnitudes multiply to at most 2·2^-2w, so that each of its three products of n
    terms is off by at most (n+8)u · n · 2^(1−2w). That also covers the second-order terms of the
    summation, and entries of R̃ so small that scaling them would underflow.
    """
    (count, n), unit = inverse.shape, 2.0**-split.width
    exponents = np.frexp(np.abs(inverse).max(axis=1))[1]
    scale = np.ldexp(1.0, exponents)[:, None]
    scaled = inverse * (1 / (scale * unit))
    r1 = np.rint(scaled)
    remainder = (scaled - r1) * (1 / unit)
    r2 = np.rint(remainder)
    r3 = (remainder - r2) * unit**2
    rest = (r1 * unit) @ split.third + (r2 * unit**2) @ split.low + r3 @ split.whole
    head = np.eye(count, n, start) / scale
    tail = -rest
    exact = (r1, split.first, 2), (r1, split.second, 3), (r2, split.first, 3)
    for left, right, power in exact:
        head, error = _two_sum(head, (left @ right) * -(unit**power))
        tail += error
    magnitude = np.abs(head) + np.abs(tail) + np.abs(rest)
    series = 3 * (n + 8) * n * _UNIT * 2 * unit**2
    return (head + tail) * scale, raised((magnitude * (8 * _UNIT) + series) * scale, 4)


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
    exponent = system.factor.bit_length()
    mantissa = system.factor / (1 << exponent)
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
    least = float(guess[guess > 0].min(initial=1.0))
    largest = Fraction(float(np.abs(inverse).max())) * scale
    return system.shift_for(float(guess.sum()), least, largest)


def _whole(move: Floats, exponent: int, slices: Slices) -> tuple[npt.NDArray[np.int64], int]:
    """move · 2^exponent ≈ whole · 2^power with power ≥ 0 and whole below 2^(2·width)."""
    top = math.frexp(float(np.abs(move).max()))[1]
    keep = min(2 * slices.width - 1, top + exponent)
    if keep < 0:
        return np.zeros(len(move), np.int64), 0
    whole = np.rint(np.ldexp(move, keep - top)).astype(np.int64)
    return whole, top + exponent - keep


@dataclass(frozen=True, eq=False)
class FastInverse:
    """One Newton step beyond R̃: R̂ = R̃ + FR̃, in float64.

    For the true inverse R = R̃ + (F − R̃E)R, so R − R̃ − FR̃ = F(R − R̃) − R̃ER, where
    |R − R̃| ≤ |F||R| + |R̃|Ē|R|.
    """

    inverse: Floats
    defect: Floats
    defect_error: Floats
    bound: Floats
    ratio: Fraction

    def floats(self) -> Floats:
        sharpened: Floats = self.inverse + self.defect @ self.inverse
        return sharpened * float(self.ratio)

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


# -- integers in slices so narrow that BLAS multiplies them exactly ------------------------------


def exact_width(inner: int) -> int:
    """The widest slices whose products summed over `inner` terms stay within 53 bits."""
    return (53 - (inner - 1).bit_length()) // 2


@dataclass(frozen=True, eq=False)
class Slices:
    """An integer matrix (n, n) as float64 slices of shape (count, n, n), the highest first.

    An integer is Σ_s slice_s · 2^(width·(count−1−s)), all slices but the first in [0, 2^width), and
    the first carries the sign. A float64 product of two matrices of such slices is exact in any
    order of summation while inner · 2^(2·width) ≤ 2^53 (the idea of the Ozaki scheme).
    """

    parts: Floats
    width: int

    @classmethod
    def cut(cls, matrix: Integers, width: int) -> Slices:
        """Of a symmetric matrix; only its upper triangle is read."""
        upper = np.triu_indices(len(matrix))
        triangle = matrix[upper]
        count = -(-(bit_length(triangle) + 1) // width)
        limbs = _limbs(triangle, width * count)
        parts = np.empty((count, *matrix.shape))
        for s in range(count):
            field = _field(limbs, width * (count - 1 - s), width)
            if s == 0:  # two's complement: the top bit of the first slice is the sign
                field -= (field >> (width - 1)) << width
            parts[s][upper] = field
            parts[s].T[upper] = field
        return cls(parts, width)

    @property
    def bits(self) -> int:
        """All entries are within ±2^(bits−1)."""
        return self.width * len(self.parts)

    def times(self, vector: npt.NDArray[np.int64]) -> Integers:
        """The exact product with integers below 2^(2·width) in magnitude."""
        count, n, _ = self.parts.shape
        high, low = vector >> self.width, vector & ((1 << self.width) - 1)
        halves = np.stack([high, low], axis=1).astype(np.float64)
        product = (self.parts.reshape(count * n, n) @ halves).reshape(count, n, 2)
        total = np.zeros(n, object)
        for s in range(count):
            exact = product[s].astype(np.int64).astype(object)
            total = (total << self.width) + (exact[:, 0] << self.width) + exact[:, 1]
        return total


def _limbs(numbers: Integers, bits: int) -> npt.NDArray[np.int64]:
    """Two's complement in words of 64 bits, shape (words, entries), one spare word on top."""
    size = 8 * (bits // 64 + 2)
    flat = numbers.tolist()
    data = b"".join([number.to_bytes(size, "little", signed=True) for number in flat])
    return np.frombuffer(data, "<i8").reshape(len(flat), -1).T


def _field(limbs: npt.NDArray[np.int64], low: int, width: int) -> npt.NDArray[np.int64]:
    """Bits low … low+width−1 of every entry."""
    word, offset = divmod(low, 64)
    field = limbs[word].view(np.uint64) >> np.uint64(offset)
    if offset + width > 64:
        field |= limbs[word + 1].view(np.uint64) << np.uint64(64 - offset)
    masked: npt.NDArray[np.int64] = (field & np.uint64((1 << width) - 1)).astype(np.int64)
    return masked
