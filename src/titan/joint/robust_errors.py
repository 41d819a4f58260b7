"""The one further sum of robust errors: every party's part of the whitened meat W M Wᵀ.

HC0, HC1: M = Σ_rows e² a aᵀ,   HC2: e²/(1−h),   HC3: e²/(1−h)²,   cluster: M = Σ_parties s sᵀ
"""

from __future__ import annotations

from fractions import Fraction

from titan.joint.computation import Sum
from titan.joint.pooled_model import RowsPart
from titan.joint.scores import CollectLeveragedScores
from titan.leastsquares.robust import RING_BITS, Agreed, CovType, multiplied_bits
from titan.moments import Moments
from titan.moments.collecting import CollectScores, summed_score
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.ring import Ring

_SUMMED = {
    "cluster": "parties of s sᵀ, s = Aᵀe",
    "HC0": "rows of e² a aᵀ",
    "HC2": "rows of e²/(1−h) a aᵀ",
    "HC3": "rows of e²/(1−h)² a aᵀ",
}


def sum_of_meat(n: int, cov_type: CovType, meat_bits: int) -> Sum:
    """For n coefficients."""
    leverages = ", h the leverages" if multiplied_bits(cov_type) else ""
    return Sum(
        "robust errors",
        n * (n + 1) // 2,
        Ring(meat_bits + RING_BITS + 2 * multiplied_bits(cov_type)),
        Fraction(1, 1 << meat_bits),
        f"the sum over all {_SUMMED.get(cov_type, _SUMMED['HC0'])}, e being the residuals"
        f"{leverages}, in units in which AᵀA is the identity, to {meat_bits} bits",
    )


def bits_of_meat(rows: int, cov_type: CovType, meat_bits: int, *, bounded: bool) -> int:
    """Of an entry: the trace of the whitened meat is at most Σe², `rows` of the typical size.

    HC2 and HC3 divide by 1 − h, and a row's leverage is at most 1/k where that is `bounded`.
    """
    times = 2 * multiplied_bits(cov_type)
    return meat_bits + rows.bit_length() + 2 + (min(times, 2) if bounded else times)


def own_meat(rows: ModelRows, part: RowsPart, agreed: Agreed, cov_type: CovType) -> Moments:
    """What a party's rows give, with the solution that all agree on."""
    if cov_type == "cluster":
        assert isinstance(part.moments, Moments)  # noqa: S101 - made of rows
        return summed_score(part.moments, agreed.x)
    assert part.source is not None  # noqa: S101 - asked for only where there are rows
    if cov_type == "HC2" or cov_type == "HC3":
        scores = CollectLeveragedScores(rows, agreed.x, agreed.whitening, cov_type)
        return read(part.source, scores)
    return read(part.source, CollectScores(rows, agreed.x))
