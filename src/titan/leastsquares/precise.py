"""Solving in high precision: every entry of G̃⁻¹ in a ball that flint proves.

The pooled integers go in without a radius; the precision is raised until the balls are far smaller
than what the encoding's rounding can do. That rounding is accounted for afterwards (`bounds.py`):
as radii of the entries it would be multiplied by the condition number again and again on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from titan.leastsquares.approximation import Approximation, System
from titan.leastsquares.balls import bits_of, fraction_of, to_arb
from titan.leastsquares.bounds import Floats, raised
from titan.leastsquares.pooled import Integers, PooledMoments, bit_length, integers
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb, arb_mat

HIGH_PRECISION = "high precision"

_GOOD_BITS = 72
"""Relative accuracy asked of the inverse, in the norm."""

_CONTRACTION_BITS = 32
"""Bits that a correction by the inverse must gain: ‖I − RG̃‖ is below 2^-32."""

_SWEEPS = 200


def solve_precisely(moments: PooledMoments) -> Approximation | None:
    """x̃ and G̃⁻¹ in as much precision as it takes, or None where G̃ cannot be inverted."""
    for precision in _precisions(moments):
        inverse = _invert(moments, precision)
        if inverse is not None:
            return _refine(moments, inverse, precision)
        if moments.exact and singular(moments):
            return None
    return None


def _precisions(moments: PooledMoments) -> list[int]:
    """Where nothing was rounded any regular matrix must be inverted in the end (Hadamard's bound
    on the determinant says how much precision that takes); where entries are uncertain by e, an
    inverse beyond 1/e would prove nothing, so a fixed multiple of the bits of 1/e suffices."""
    n, bits = len(moments.names), bit_length(moments.gram)
    if moments.exact:
        first, last = 192, 4 * n * (bits + n.bit_length() + 4) + 256
    else:
        errors = (moments.gram_error, *moments.diagonal_error, *moments.rhs_error)
        noise = max(64, max(bits_of(1 / error) for error in errors if error))
        first, last = 2 * noise + 64, 8 * noise + 8 * n
    steps = max(1, math.ceil(math.log2(last / first)))
    return [first << step for step in range(steps + 1)]


def _invert(moments: PooledMoments, precision: int) -> arb_mat | None:
    """Balls around the entries of G̃⁻¹, or None where they are too large.

    Small against the inverse is not enough for the corrections in `_refine` to converge: with R in
    the middle of the balls, |I − RN| ≤ rad · n · max|N| must be small too.
    """
    import flint

    n = len(moments.names)
    with working_precision(precision):
        gram = flint.arb_mat(n, n, [flint.arb(v) for v in moments.gram.ravel().tolist()])
        try:
            inverse = gram.inv()
        except ZeroDivisionError:
            return None
        entries = inverse.entries()
        size = max(entry.abs_lower() for entry in entries)
        radius = max(entry.rad() for entry in entries)
        defect = radius * n * flint.arb(int(np.abs(moments.gram).max()))
        good, contracts = (flint.arb(2) ** -b for b in (_GOOD_BITS, _CONTRACTION_BITS))
        if not (radius < size * good and defect < contracts):
            return None
        return inverse * flint.arb(moments.denominator)


def singular(moments: PooledMoments) -> bool:
    """Whether G̃ itself is singular, decided in integers."""
    return rank_of(moments) < len(moments.names)


def rank_of(moments: PooledMoments) -> int:
    import flint

    n = len(moments.names)
    return int(flint.fmpz_mat(n, n, moments.gram.ravel().tolist()).rank())


def _refine(moments: PooledMoments, inverse: arb_mat, precision: int) -> Approximation:
    """x̃ = R g̃, then corrections by the exact residual until the fixed point holds no better."""
    import flint

    system, n = System.of(moments), len(moments.names)
    with working_precision(precision):
        rhs = flint.arb_mat(n, 1, [to_arb(g) for g in moments.rhs])
        guess = [abs(float(entry.mid())) for entry in (inverse * rhs).entries()]
        largest = max(entry.abs_upper() for entry in inverse.entries())
        smallest = min(filter(None, guess), default=0.0)
        shift = system.shift_for(sum(guess), smallest, fraction_of(largest.mid()))
        x = integers([0] * n)
        residual = system.residual(x, shift)
        for _ in range(_SWEEPS):
            step = _step(inverse, residual, system.lcm)
            if not any(step):
                break
            x, before = x + step, max(abs(residual))
            residual = system.residual(x, shift)
            if max(abs(residual)) >= before:
                break
    return Approximation(
        numerators=x,
        shift=shift,
        residual=residual,
        residual_unit=system.lcm << shift,
        inverse=raised(_floats(inverse, lambda entry: _up(entry.abs_upper())), 0),
        defect=None,
        best=PreciseInverse(inverse),
        norm=float(np.abs(moments.gram).sum(axis=0).max() / moments.denominator),
        method=HIGH_PRECISION,
    )


def _step(inverse: arb_mat, residual: Integers, lcm: int) -> Integers:
    """R ρ in units of the fixed point, rounded."""
    import flint

    n = len(residual)
    move = inverse * flint.arb_mat(n, 1, [flint.arb(int(v)) / lcm for v in residual])
    return integers([round(fraction_of(entry.mid())) for entry in move.entries()])


def _floats(matrix: arb_mat, number: Callable[[arb], float]) -> Floats:
    """A number for every entry."""
    return np.array(list(map(number, matrix.entries()))).reshape(matrix.nrows(), -1)


def _up(number: arb) -> float:
    return math.nextafter(float(number), math.inf) if not number.is_zero() else 0.0


@dataclass(frozen=True, eq=False)
class PreciseInverse:
    """G̃⁻¹ in balls."""

    matrix: arb_mat

    def middle(self, j: int, k: int) -> Fraction:
        return fraction_of(self.matrix[j, k].mid())

    def floats(self) -> Floats:
        return _floats(self.matrix, lambda entry: float(entry.mid()))

    def slack(self, true_inverse: Floats, encoding: Floats) -> Floats:
        """R − G̃⁻¹ = −G̃⁻¹ E R, and G̃⁻¹ is within its ball's radius."""
        return raised(encoding + _floats(self.matrix, lambda entry: _up(entry.rad())), 2)
