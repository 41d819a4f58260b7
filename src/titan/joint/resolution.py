"""What is known of columns beside their moments: whether 1 is among them, how exact they are.

Both decide what a fit may claim: R² about the mean needs the constant; columns that depend on each
other within the rounding of the data themselves are not fitted (`leastsquares.within_rounding`).
"""

# Rule: all of it is public: a dictionary's, or whoever's who holds all rows in one place.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from titan.joint.equations import Given
from titan.leastsquares.indicators import constant_of_indicators
from titan.leastsquares.inference import square_length
from titan.leastsquares.pooled import Exact, PooledMoments, as_vector
from titan.leastsquares.within_rounding import (
    EXACT,
    Resolution,
    of_data,
    of_grid,
    refuse_within_rounding,
)
from titan.moments.expressions import is_plain
from titan.moments.grain import Grain
from titan.moments.terms import is_one_number

if TYPE_CHECKING:
    from titan.joint.pooled_model import PooledModel


def refuse_noise(asked: PooledModel, regressors: PooledMoments) -> None:
    """RankError where columns depend on each other within the rounding of the data."""
    resolutions = resolutions_of(asked, regressors)
    refuse_within_rounding(regressors, resolutions, _weight(asked, regressors))


def _weight(asked: PooledModel, regressors: PooledMoments) -> Fraction | None:
    """The number of rows, or the sum of their weights where the columns tell it."""
    if asked.model is None or asked.model.weights is None:
        return Fraction(regressors.rows)
    constant = as_vector(asked.model.constant, regressors.names)
    return None if constant is None else square_length(regressors, constant).mid


def constant_of(asked: PooledModel, pooled: PooledMoments) -> Mapping[str, Exact] | None:
    """What the model proves, unless made columns were rounded; or what 0/1 columns prove."""
    assert asked.model is not None  # noqa: S101 - asked for only then
    rounded = () if asked.rounding is None else asked.rounding.twos
    made = {n for n, two in zip(asked.model.names, rounded, strict=False) if two is not None}
    found = asked.model.constant
    if found is not None and not made & set(found):
        return found
    if asked.model.weights is not None:
        return None
    known = _grains(asked)
    return constant_of_indicators(pooled, [grain.indicator for grain in known])


def resolutions_of(asked: PooledModel, pooled: PooledMoments) -> list[Resolution]:
    """How far the entries of each column may be from what they stand for."""
    known, names = _grains(asked), pooled.names
    if not known:
        return [EXACT] * len(names)
    # Without a model, of moments alone: whatever a formula makes has a name that is not a word.
    design = None if asked.model is None else asked.model.design
    raw = list(map(is_plain, names) if design is None else map(is_one_number, design))
    if isinstance(asked.equations, Given):
        twos = [None] * len(raw) if asked.rounding is None else asked.rounding.twos
        triples = zip(asked.equations.sizes, raw, twos, strict=False)
        return [of_grid(size.unit, one or two is not None) for size, one, two in triples]
    rows = max(pooled.rows, 1)
    squares = [
        Fraction(int(square), pooled.denominator * rows) * Fraction(4) ** scale
        for square, scale in zip(np.diagonal(pooled.gram), pooled.scales, strict=True)
    ]
    return [of_data(*triple) for triple in zip(known, raw, squares, strict=False)]


def _grains(asked: PooledModel) -> Sequence[Grain]:
    """Of the columns and the response, by the dictionary or by the rows in one place."""
    if not isinstance(asked.equations, Given):
        return asked.grains
    return [
        Grain(size.two, size.five, size.whole and size.low >= 0 and size.high <= 1)
        for size in asked.equations.sizes
    ]
