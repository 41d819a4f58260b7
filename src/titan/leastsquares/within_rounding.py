"""Dependence that is within the rounding of the data themselves.

An entry of column j stands for a number that may be off by r_j, half the last decimal, or by a few
2^-53 of itself if it is a double. So the column as a vector may be off by ε_j = r_j √rows, or by
2^-51 of its length. With these, columns that truly depend on each other (shares that add up to 1,
°C beside °F) come out independent, and the coefficients are made of rounding errors alone.

Claim. There is a matrix E with ‖E_j‖ ≤ ε_j and (A + E)v = 0 if and only if ‖Av‖ ≤ Σ|v_j|ε_j. (If
there is, ‖Av‖ = ‖Ev‖ ≤ Σ|v_j|ε_j. If the latter, E_j = −Av · sign(v_j) ε_j / Σ|v_k|ε_k will do.)

With R = (AᵀA)⁻¹ and any signs s_j = ±1, let v = R D s, D = diag(ε), and q = sᵀDRDs = ‖Av‖². Then
Σ|v_j|ε_j ≥ sᵀDv = q, so q ≥ 1 gives ‖Av‖² ≤ q² ≤ (Σ|v_j|ε_j)²: A is dependent within rounding.
Conversely if v is such a dependence, q ≥ 1 for the signs of v, by Cauchy–Schwarz in R. So the
question is whether some signs have q ≥ 1; q ≤ Σ|DRD| answers it at once for nearly all fits.
"""

# Rule 1: everything here is known to all: AᵀA, and what columns are multiples of.
# Rule 2: AᵀA alone is looked at, so that it is found before anything with the response leaves.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from titan.errors import RankError
from titan.leastsquares.bounds import Floats, settled
from titan.leastsquares.certified import certify
from titan.leastsquares.dependence import named_columns
from titan.leastsquares.pooled import PooledMoments
from titan.moments.grain import Grain

_DOUBLES = Fraction(1, 2**51)
"""Four roundings: a column that was computed, such as a share, has been through several."""
_MOST_DIGITS = 10**15
"""Decimals with more digits than these are doubles that were printed."""
_SMALL = 2.0**-20
_TRUSTED = 2.0**-36
"""Of the largest eigenvalue: those above, and R with them, float64 has to 2^-14 for each column."""
_STEPS = 50


@dataclass(frozen=True)
class Resolution:
    """How far an entry may be from what it stands for: so much, and such a part of itself."""

    step: Fraction = Fraction(0)
    part: Fraction = Fraction(0)


EXACT = Resolution()


def of_data(grain: Grain, raw: bool, mean_square: Fraction) -> Resolution:
    """Of a column without a dictionary. Whole numbers are exact, and so is what a formula makes of
    decimals; doubles, and what is made of them, are as good as doubles are."""
    if grain.whole or (grain.decimal and not raw):
        return EXACT
    if not grain.decimal:
        return Resolution(part=_DOUBLES)
    unit = Fraction(2) ** grain.two * Fraction(5) ** grain.five
    printed = mean_square >= (_MOST_DIGITS * unit) ** 2
    return Resolution(part=_DOUBLES) if printed else Resolution(unit / 2)


def of_grid(unit: Fraction, rounded: bool) -> Resolution:
    """Of a column on a study's grid; `rounded`: raw, or made and rounded. Whole steps are exact."""
    return Resolution(unit / 2) if rounded and unit.denominator > 1 else EXACT


def refuse_within_rounding(
    moments: PooledMoments, resolutions: Sequence[Resolution], weight: Fraction | None
) -> None:
    """RankError where some of the columns depend on each other within their resolutions.

    `weight` is the number of rows, or the sum of their weights; None where that is not known.
    Nothing of the response is looked at: it may not be known yet.
    """
    spread = _spread(moments, resolutions, weight)
    if not spread.any() or _clearly_apart(moments, spread):
        return
    inverse = certify(moments).approximation.best.floats()
    signs, found = _best_signs(spread[:, None] * inverse * spread)
    if found < 1:
        return
    along = inverse @ (spread * signs)
    diagonal = np.diagonal(moments.gram) / moments.denominator
    sizes = np.abs(along) * np.sqrt(diagonal.astype(float))
    named = zip(moments.names, sizes, strict=True)
    used = [name for name, size in named if size > _SMALL * sizes.max()]
    are = "is zero" if len(used) == 1 else "depend on each other"
    raise RankError(
        f"{named_columns(used)} {are} within the rounding of the data: what is left of them are "
        "rounding errors, and coefficients would be made of these",
        columns=used,
        hint="leave one of them out, or use ridge; if they do not depend, give more digits",
    )


def _clearly_apart(moments: PooledMoments, spread: Floats) -> bool:
    """Whether q is below ¼ for all signs, by float64: as ‖Σ s_j ε_j R^½e_j‖² it is at most
    (Σ ε_j √R_jj)². So nearly all matrices need not be solved here, once more than for the answer.
    """
    gram = (moments.gram / moments.denominator).astype(np.float64)
    size = np.sqrt(np.diagonal(gram))
    with np.errstate(all="ignore"):
        values, vectors = np.linalg.eigh(gram / np.multiply.outer(size, size))
        half = vectors * (spread / size)[:, None] / np.sqrt(values)
    sure = values[0] > _TRUSTED * values[-1]
    return bool(sure and np.linalg.norm(half, axis=1).sum() < 0.5)


def _spread(
    moments: PooledMoments, resolutions: Sequence[Resolution], weight: Fraction | None
) -> Floats:
    """ε of the scaled columns."""
    squares = []
    for j, resolution in enumerate(resolutions):
        length = Fraction(int(moments.gram[j, j]), moments.denominator)
        step = resolution.step / Fraction(2) ** moments.scales[j]
        squares.append((weight or 0) * step**2 + resolution.part**2 * length)
    found: Floats = np.sqrt(np.array([float(square) for square in squares]))
    return found


def _best_signs(matrix: Floats) -> tuple[Floats, float]:
    """Signs with a large sᵀMs, M positive semidefinite: s ← sign(Ms) never lowers it.

    And that number in few bits, so that all machines find the same.
    """
    best, most = np.ones(len(matrix)), -np.inf
    leading = np.linalg.eigh((matrix + matrix.T) / 2)[1][:, -1]
    for start in (leading, *matrix[np.argsort(-np.diagonal(matrix))[:8]]):
        signs = np.where(start < 0, -1.0, 1.0)
        for _ in range(_STEPS):
            following = np.where(matrix @ signs < 0, -1.0, 1.0)
            if (following == signs).all():
                break
            signs = following
        if (found := float(signs @ matrix @ signs)) > most:
            best, most = signs, found
    return best, float(settled(np.array([most]))[0])
