"""How many bits a question needs, where all rows lie in one place: the exact sums can be looked at.

Rounded sums do not tell how much finer they would have to be (`leastsquares.dependence` guesses).
Whoever holds all rows tries: the same sums, off by as much as they would be with so many bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from titan.errors import RankError
from titan.joint.computation import Answer, Computation
from titan.joint.equations import WIDE_FRACTION, Opened, SecretMoments
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.joint.settings import SumSettings
from titan.joint.together import Computed, together
from titan.leastsquares import PooledMoments
from titan.leastsquares.dependence import rank_error
from titan.leastsquares.pooled import integers
from titan.leastsquares.precise import singular

_MOST_BITS = 1024
_OTHERWISE = "drop one of them, or use ridge"


def together_in_one_place(
    asked: Computation[RowsPart, Any, Answer], parts: Sequence[RowsPart], settings: SumSettings
) -> Computed[Answer]:
    """`together`; where bits are too few, the error tells how many are enough."""
    try:
        return together(asked, parts, settings)
    except RankError as error:
        if error.bits is None or not isinstance(asked, PooledModel):
            raise
        raise _with_enough(error, asked, parts, settings.bits) from None


def _with_enough(
    error: RankError, asked: PooledModel, parts: Sequence[RowsPart], bits: int
) -> RankError:
    """The same error with the bits that will do, or that none will."""
    whole = _exact([part.moments for part in parts], asked.equations.release == "inference")
    if singular(whole):
        return rank_error(whole)
    for more in range(64 * (bits // 64 + 1), _MOST_BITS + 1, 64):
        if _answered(asked, _off(whole, len(parts), more)):
            also = f"; or {_OTHERWISE}" if error.columns else ""
            hint = f"try bits={more}{also}"
            return RankError(error.message, columns=error.columns, bits=more, hint=hint)
    return error


def _answered(asked: PooledModel, pooled: PooledMoments) -> bool:
    try:
        asked.answer(Known(Opened(pooled=pooled)))
    except RankError:
        return False
    return True


def _exact(secrets: Sequence[SecretMoments], inference: bool) -> PooledMoments:
    """The sum of all parties' moments, fractions too."""
    n, names = len(secrets[0].names), secrets[0].names
    sums = [
        [sum((own.fraction(j, k) for own in secrets), Fraction(0)) for k in range(j + 1)]
        for j in range(n)
    ]
    common = lcm(*(value.denominator for row in sums for value in row))
    matrix = integers([[0] * n] * n)
    for j, row in enumerate(sums):
        for k, value in enumerate(row):
            matrix[j, k] = matrix[k, j] = int(value * common) * common
    return PooledMoments.of_integers(
        names[:-1],
        matrix[:-1, :-1],
        matrix[:-1, -1],
        [Fraction(1, common)] * (n - 1),
        rows=sum(own.rows for own in secrets),
        bb=matrix[-1, -1] if inference else None,
        response=names[-1],
        response_unit=Fraction(1, common),
    )


def _off(whole: PooledMoments, parties: int, bits: int) -> PooledMoments:
    """As far from the truth as sums in so many bits may be."""
    sums = PooledMoments.of_sums(
        whole.names,
        rows=whole.rows,
        diagonal=[
            Fraction(int(square), whole.denominator) * Fraction(4) ** scale
            for square, scale in zip(np.diagonal(whole.gram), whole.scales, strict=True)
        ],
        rhs=whole.rhs,
        off_diagonal=[0] * (len(whole.names) * (len(whole.names) - 1) // 2),
        parties=parties,
        bits=bits,
        bb=whole.bb,
        fraction_bits=WIDE_FRACTION,
    )
    return replace(
        whole,
        gram_error=sums.gram_error,
        diagonal_error=sums.diagonal_error,
        rhs_error=sums.rhs_error,
        bb_error=sums.bb_error,
        bits=bits,
    )
