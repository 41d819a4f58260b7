"""Σ log w over rows, which the likelihood of a weighted fit needs.

Each distinct weight's logarithm is taken once, in balls of python-flint. The sum of a block is
rounded to 2^-128; blocks add as integers, so that a source of fewer than 2^40 blocks is off by less
than 2^-88 before anything else is rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from titan.moments.columns import Column
from titan.moments.precision import working_precision

FRACTION = 128
ERROR = Fraction(1, 1 << 88)
"""Of one party's sum."""
_PRECISION = 256


def log_sum(weights: Column) -> int | None:
    """In units of 2^-128; None where a weight is zero, whose logarithm is infinite."""
    import flint

    if not len(weights):
        return 0
    distinct, times = np.unique(weights.numbers, return_counts=True)
    if distinct[0] <= 0:
        return None
    unit = weights.unit
    with working_precision(_PRECISION):
        of_unit = flint.arb(flint.fmpq(unit.numerator, unit.denominator)).log()
        total = of_unit * len(weights)
        for weight, count in zip(distinct.tolist(), times.tolist(), strict=True):
            total += flint.arb(weight).log() * count
        mantissa, exponent = total.mid().man_exp()
    return math.floor(int(mantissa) * Fraction(2) ** (int(exponent) + FRACTION))
