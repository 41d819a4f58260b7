"""Least squares on all parties' rows together, with standard errors, as a joint computation.

The sums that pool the normal equations (`equations`), and for robust errors one more, in which
every party puts its part of the whitened meat W M Wᵀ of

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   HC0: M = Σ_rows e² a aᵀ,   cluster: M = Σ_parties s sᵀ

rounded to a public unit (`titan.leastsquares.robust`). For HC0 to HC3 the rows are read once more,
with the solution that all agree on, and an additive digest proves that they are the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from titan import leastsquares
from titan.joint.computation import Sum
from titan.joint.equations import Given
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.joint.scores import CollectLeveragedScores
from titan.leastsquares.indicators import constant_of_indicators
from titan.leastsquares.pooled import Exact, PooledMoments, symmetric
from titan.leastsquares.robust import (
    OF_ROWS,
    RING_BITS,
    Agreed,
    CovType,
    Robust,
    multiplied_bits,
)
from titan.leastsquares.within_rounding import (
    EXACT,
    Resolution,
    of_data,
    of_grid,
    refuse_within_rounding,
)
from titan.moments import Moments
from titan.moments.collecting import CollectScores, summed_score
from titan.moments.grain import Grain, together
from titan.moments.reading import read
from titan.moments.terms import is_one_number
from titan.ring import Residues, Ring

_SUMMED = {
    "cluster": "parties of s sᵀ, s = Aᵀe",
    "HC0": "rows of e² a aᵀ",
    "HC2": "rows of e²/(1−h) a aᵀ",
    "HC3": "rows of e²/(1−h)² a aᵀ",
}


@dataclass(frozen=True)
class Regression(PooledModel):
    """Ordinary or weighted least squares."""

    cov_type: CovType = "nonrobust"
    meat_bits: int = 24
    """Of a typical entry of the whitened meat: its size is that of the residual variance."""
    constant: Mapping[str, Exact] | None = None
    """Where there is no model to say it: the columns that add up to the constant."""
    weighted: bool = False
    grains: tuple[Grain, ...] | None = None
    """Where all rows lie in one place: of what the columns of [A b] are multiples."""

    @property
    def reads_again(self) -> bool:
        return self.cov_type in OF_ROWS or super().reads_again

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        if self.cov_type == "nonrobust":
            return self.equations.sums
        n = len(self.equations.names) - 1
        meat = Sum(
            "robust errors",
            n * (n + 1) // 2,
            Ring(self.meat_bits + RING_BITS + 2 * multiplied_bits(self.cov_type)),
            Fraction(1, 1 << self.meat_bits),
            f"the sum over all {_SUMMED.get(self.cov_type, _SUMMED['HC0'])}, e being the "
            "residuals"
            + (", h the leverages" if multiplied_bits(self.cov_type) else "")
            + f", in units in which AᵀA is the identity, to {self.meat_bits} bits",
        )
        return (*self.equations.sums, meat)

    def opened_bits(self, rows: int) -> int:
        """The trace of the whitened meat is at most Σe², which is `rows` of the typical size.

        HC2 and HC3 divide by 1 − h, and a row's leverage is at most 1/k where that is checked.
        """
        meat = self.sums[len(self.equations.sums) :]
        entries = sum(each.entries for each in meat)
        times = 2 * multiplied_bits(self.cov_type)
        if self.policy.rows_per_cell > 1:
            times = min(times, 2)
        return super().opened_bits(rows) + entries * (
            self.meat_bits + rows.bit_length() + 2 + times
        )

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        if n < len(self.equations.sums):
            return super().secret(n, known, part)
        agreed = known.agreed
        assert agreed is not None  # noqa: S101 - robust errors come after the fit
        meat = self._meat(part, agreed)
        return self.sums[n].ring.from_ints(agreed.whitening.of_moments(meat, agreed.unit))

    def _meat(self, part: RowsPart, agreed: Agreed) -> Moments:
        if self.cov_type == "cluster":
            assert isinstance(part.moments, Moments)  # noqa: S101 - made of rows
            return summed_score(part.moments, agreed.x)
        assert part.source is not None  # noqa: S101 - asked for only where there are rows
        if self.cov_type == "HC2" or self.cov_type == "HC3":
            whitening = agreed.whitening
            scores = CollectLeveragedScores(self.rows, agreed.x, whitening, self.cov_type)
            return read(part.source, scores)
        return read(part.source, CollectScores(self.rows, agreed.x))

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        if n < len(self.equations.sums):
            known = super().learn(n, known, total)
            robust = self.cov_type != "nonrobust" and known.opened.pooled is not None
            return self.fitted(known) if robust else known
        fit, agreed = known.fit, known.agreed
        assert fit is not None and agreed is not None  # noqa: S101, PT018 - as above
        meat = symmetric(len(fit.names), self.sums[n].ring.to_signed(total))
        clusters = self.parties if self.cov_type == "cluster" else None
        errors = Robust(
            fit.certificate, agreed, meat, self.meat_bits, self.parties, clusters, self.cov_type
        )
        return replace(known, fit=replace(fit, robust=errors))

    def answer(self, known: Known) -> leastsquares.Regression | None:
        """An exact fit has no residuals, and so needs no further sum."""
        if known.opened.pooled is None:
            return None
        fit = known.fit or self._fit(known)
        wanted = self.cov_type == "nonrobust" or fit.exact_fit or fit.robust is not None
        return fit if wanted else None

    def fitted(self, known: Known) -> Known:
        """With the fit itself, once the equations are pooled; an exact one has no residuals."""
        fit = self._fit(known)
        wanted = self.cov_type != "nonrobust" and not fit.exact_fit
        agreed = Agreed.of(fit.moments, self.meat_bits, self.cov_type) if wanted else None
        return replace(known, fit=fit, agreed=agreed)

    def _fit(self, known: Known) -> leastsquares.Regression:
        pooled = known.opened.pooled
        assert pooled is not None  # noqa: S101 - asked for once it is
        weighted = self.weighted if self.model is None else self.model.weights is not None
        constant = self.constant if self.model is None else self._constant(pooled)
        fit = leastsquares.fit_pooled(pooled, constant=constant, weighted=weighted)
        refuse_within_rounding(fit.certificate, self._resolutions(pooled), fit.weight)
        return replace(
            fit,
            cov_type=self.cov_type,
            formula=None if self.model is None else self.model.formula,
            log_weights=known.opened.log_weights,
        )

    def _constant(self, pooled: PooledMoments) -> Mapping[str, Exact] | None:
        """What the model proves, unless made columns were rounded; or what 0/1 columns prove."""
        assert self.model is not None  # noqa: S101 - asked for only then
        rounded = () if self.rounding is None else self.rounding.twos
        made = {n for n, two in zip(self.model.names, rounded, strict=False) if two is not None}
        found = self.model.constant
        if found is not None and not made & set(found):
            return found
        if self.model.weights is not None:
            return None
        grains = self._grains or ()
        return constant_of_indicators(pooled, [grain.indicator for grain in grains])

    @property
    def _grains(self) -> Sequence[Grain] | None:
        """Of the columns and the response, by the dictionary or by the rows in one place."""
        if not isinstance(self.equations, Given):
            return self.grains
        return [
            Grain(size.two, size.five, size.whole and size.low >= 0 and size.high <= 1)
            for size in self.equations.sizes
        ]

    def _resolutions(self, pooled: PooledMoments) -> list[Resolution]:
        """How far the entries of each column may be from what they stand for."""
        if self.model is None or self._grains is None:
            return [EXACT] * len(pooled.names)
        raw = list(map(is_one_number, self.model.design))
        if isinstance(self.equations, Given):
            twos = [None] * len(raw) if self.rounding is None else self.rounding.twos
            triples = zip(self.equations.sizes, raw, twos, strict=False)
            return [of_grid(size.unit, one or two is not None) for size, one, two in triples]
        rows = max(pooled.rows, 1)
        squares = [
            Fraction(int(square), pooled.denominator * rows) * Fraction(4) ** scale
            for square, scale in zip(np.diagonal(pooled.gram), pooled.scales, strict=True)
        ]
        return [of_data(*triple) for triple in zip(self._grains, raw, squares, strict=False)]


def in_one_place(regression: Regression, parts: Sequence[RowsPart]) -> Regression:
    """With what whoever holds all rows knows: what they are multiples of, and of their weights."""
    grains = reduce(together, (part.grains for part in parts))
    logs = all(part.log_weights is not None for part in parts)
    return replace(
        regression, grains=grains, equations=replace(regression.equations, log_weights=logs)
    )
