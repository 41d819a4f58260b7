"""What a party adds to the meat of HC2 and HC3: its residuals, each by its own row's leverage.

    Σ_rows (m w e)² a aᵀ,   m = (1−h)^-½ (HC2) or (1−h)^-1 (HC3),   h = w aᵀ(AᵀA)⁻¹a = w ‖W a‖²

All parties know the pooled AᵀA and its W (`titan.leastsquares.whitening`), so that h is found where
the row lies, and nobody is told. Only m is rounded, to multiples of 2^-42: from float64 where that
proves it good to a share of 2^-41, from integers elsewhere. The products and sums are exact again.
"""

# Rule 1: m is within MULTIPLIER_ERROR of the truth for this W, whatever the row.
# Rule 2: a row of which next to nothing is left (1 − h below 2^-20) is refused, to its owner.

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.leastsquares.pooled import integers
from titan.leastsquares.robust import LEVERAGE_BITS
from titan.leastsquares.whitening import Whitening
from titan.moments.arithmetic import as_integers, multiply
from titan.moments.collecting import CollectScores
from titan.moments.columns import Column
from titan.moments.rows import Batch
from titan.release.projection import Projection

_GRID = 42
_GOOD = 2.0**-41
_LEAST_LEFT = 2.0**-LEVERAGE_BITS

Integers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CollectLeveragedScores(CollectScores):
    """Σ (m w e)² a aᵀ over a party's rows, which are read once more."""

    whitening: Whitening = field(repr=False)
    kind: Literal["HC2", "HC3"]

    @cached_property
    def projection(self) -> Projection:
        every = tuple(range(len(self.whitening.scales)))
        return Projection(every, self.whitening, Fraction(1))

    def scores(self, batch: Batch) -> list[Column]:
        factors = self.multipliers(batch)
        return [multiply(factors, column) for column in super().scores(batch)]

    def multipliers(self, batch: Batch) -> Column:
        """m of every row."""
        found, doubt = self.projection.leverages(batch)
        doubt = doubt + found * ((len(self.whitening.scales) + 8) * 2.0**-52)
        with np.errstate(all="ignore"):
            left = 1 - found
            sure = (doubt + 2.0**-50 <= _GOOD * (left - doubt)) & (left > 2 * _LEAST_LEFT)
            powers = 1 / np.where(sure, left, 1.0)
        powers = np.sqrt(powers) if self.kind == "HC2" else powers
        whole = np.rint(np.ldexp(powers, _GRID)).astype(np.int64)
        rows = np.flatnonzero(~sure)
        for row, factor in zip(rows, self._exactly(batch, rows), strict=True):
            whole[row] = factor
        return Column(whole, -_GRID)

    def _exactly(self, batch: Batch, rows: npt.NDArray[np.intp]) -> list[int]:
        if not len(rows):
            return []
        tops, under = self._leverages(batch, rows)
        return [
            self._multiplier(int(top), under, batch, int(row))
            for top, row in zip(tops, rows, strict=True)
        ]

    def _leverages(self, batch: Batch, rows: npt.NDArray[np.intp]) -> tuple[Integers, int]:
        """h of these rows as whole numbers over one denominator."""
        columns = [as_integers(column.take(rows)) for column in batch.columns[:-1]]
        pairs = zip(columns, self.whitening.scales, strict=True)
        units = [column.unit / Fraction(2) ** s for column, s in pairs]
        common = math.lcm(*(unit.denominator for unit in units))
        matrix = self.whitening.matrix * integers([int(unit * common) for unit in units])
        image = matrix.dot(integers([[int(v) for v in c.numbers] for c in columns]))
        tops, under = (image * image).sum(axis=0), (common << self.whitening.digits) ** 2
        if batch.weights is None:
            return tops, under
        weights = as_integers(batch.weights.take(rows))
        unit = weights.unit
        tops = tops * integers([int(v) * unit.numerator for v in weights.numbers])
        return tops, under * unit.denominator

    def _multiplier(self, top: int, under: int, batch: Batch, row: int) -> int:
        left = under - top
        if left << LEVERAGE_BITS < under:
            raise DataError(
                f"{batch.readings.place(row)}: its leverage is 1, or next to it, so that "
                f"{self.kind} is not defined",
                hint='leave that row or what singles it out of the model, or use cov_type="HC1"',
            )
        if self.kind == "HC2":
            return math.isqrt((under << 2 * _GRID) // left)
        return (under << _GRID) // left
