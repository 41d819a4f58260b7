"""The constant among columns that are 0 or 1 in every row, proven from the pooled Gram matrix.

Of such a column the sum is the sum of squares, so that for coefficients c of these columns alone

    ‖Ac − 1‖² = cᵀGc − 2cᵀd + rows,   d the diagonal of G,

is known. If q is a common denominator of c, every entry of Ac − 1 is a multiple of 1/q: the square
is zero, and the columns give the constant, if it is provably below 1/q².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from titan.leastsquares.inference import square_length
from titan.leastsquares.pooled import PooledMoments

_MOST_DENOMINATOR = 64
_MOST_COLUMNS = 500


def constant_of_indicators(
    moments: PooledMoments, indicators: Sequence[bool]
) -> dict[str, Fraction] | None:
    """Coefficients c with A c = 1, without zeros; None where these columns do not give it."""
    chosen = [n for n, zero_or_one in zip(moments.names, indicators, strict=False) if zero_or_one]
    if not 0 < len(chosen) <= _MOST_COLUMNS:
        return None
    few = moments.subset(chosen)
    units = np.ldexp(1.0, few.scales)
    gram = (few.gram / few.denominator).astype(float) * units[:, None] * units
    near, *_ = np.linalg.lstsq(gram, np.diagonal(gram))
    if not np.isfinite(near).all():
        return None
    c = [Fraction(x).limit_denominator(_MOST_DENOMINATOR) for x in near.tolist()]
    common = math.lcm(*(x.denominator for x in c))
    if abs(_distance(few, c)) * common**2 >= 1:
        return None
    return {name: x for name, x in zip(chosen, c, strict=True) if x}


def _distance(moments: PooledMoments, c: list[Fraction]) -> Fraction:
    """An upper bound of ‖Ac − 1‖²."""
    square = square_length(moments, c)
    diagonal = zip(np.diagonal(moments.gram), moments.diagonal_error, moments.scales, strict=True)
    upper = square.upper + moments.rows
    for x, (entry, error, scale) in zip(c, diagonal, strict=True):
        unit = 2 * Fraction(4) ** scale
        upper -= (x * Fraction(int(entry), moments.denominator) - abs(x) * error) * unit
    return upper
