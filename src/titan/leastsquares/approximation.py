"""What every way of solving hands to the certificate, and the exact residual they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from titan.leastsquares.balls import bits_of
from titan.leastsquares.bounds import Floats, raised, upper
from titan.leastsquares.pooled import Integers, PooledMoments, integers

if TYPE_CHECKING:
    from titan.leastsquares.fast import FastInverse
    from titan.leastsquares.precise import PreciseInverse

_SPARE_BITS = 30
"""x̃ is refined until its own residual counts for less than 2^-30 of the encoding's error."""

_EXACT_BITS = 192
"""Bits of x̃ that are right where the moments are exact, relative to its least nonzero entry."""


@dataclass(frozen=True, eq=False)
class System:
    """N X · 2^-q / den ≈ rhs as integers: residual numerators over `unit` are exact."""

    moments: PooledMoments
    target: Integers
    """rhs · lcm."""
    factor: int
    """lcm / den."""
    lcm: int

    @classmethod
    def of(cls, moments: PooledMoments) -> System:
        lcm = math.lcm(moments.denominator, *(g.denominator for g in moments.rhs))
        target = integers([g.numerator * (lcm // g.denominator) for g in moments.rhs])
        return cls(moments, target, lcm // moments.denominator, lcm)

    def residual(self, x: Integers, shift: int) -> Integers:
        """(g̃ − G̃x̃) · lcm · 2^shift for x̃ = x · 2^-shift, exactly."""
        product: Integers = self.moments.gram.dot(x)
        numerators: Integers = (self.target << shift) - self.factor * product
        return numerators

    def shift_for(self, size: float, smallest: float, inverse: Fraction) -> int:
        """Fractional bits that x̃ deserves, given ‖x̃‖₁, the least nonzero |x̃_j| and max|G̃⁻¹|.

        Where nothing was rounded only the fixed point is off: by 2^-shift in x̃, which is as much as
        n · max|G̃| · 2^-shift in the residual, and n · max|G̃⁻¹| times that in the bound.
        """
        n = len(self.moments.names)
        error = float(self.moments.gram_error) * size + max(map(float, self.moments.rhs_error))
        if error > 0:
            return max(0, _SPARE_BITS + n.bit_length() - math.frexp(error)[1])
        largest = Fraction(int(np.abs(self.moments.gram).max()), self.moments.denominator)
        wanted = _EXACT_BITS + bits_of(n * n * largest * inverse)
        return max(0, wanted - math.frexp(smallest or 1.0)[1])


@dataclass(frozen=True, eq=False)
class Approximation:
    """x̃ = numerators · 2^-shift with its exact residual, and R̃ with a bound of its defect."""

    numerators: Integers
    shift: int
    residual: Integers
    residual_unit: int
    """The residual is residual / residual_unit."""
    inverse: Floats
    """Bounds of |R̃|."""
    defect: Floats | None
    """Bounds of |I − R̃G̃|, or None where R̃ is the inverse itself."""
    best: FastInverse | PreciseInverse
    """An approximation of G̃⁻¹ that may be better than R̃: its `middle(j, k)`, all `floats()`, and
    `slack`, bounds of |G⁻¹ − middle| given those of |G⁻¹| and of |R̃|Ē|G⁻¹|."""
    norm: float
    """‖G̃‖₁, roughly."""
    method: str

    def absolute_x(self) -> Floats:
        return upper([Fraction(abs(int(x)), 1 << self.shift) for x in self.numerators])

    def absolute_residual(self) -> Floats:
        unit = self.residual_unit
        return raised(np.array([_ratio_up(abs(int(r)), unit) for r in self.residual]), 0)


def _ratio_up(numerator: int, denominator: int) -> float:
    try:
        value = numerator / denominator
    except OverflowError:
        return math.inf
    return math.nextafter(value, math.inf) if numerator else 0.0
