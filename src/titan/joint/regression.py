"""Least squares on all parties' rows together, with standard errors, as a joint computation.

The sums that pool the normal equations (`equations`), and for robust errors one more, in which
every party puts its part of the whitened meat W M Wᵀ of

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   HC0: M = Σ_rows e² a aᵀ,   cluster: M = Σ_parties s sᵀ

rounded to a public unit (`titan.leastsquares.robust`). For HC0 to HC3 the rows are read once more,
with the solution that all agree on, and an additive digest proves that they are the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan import leastsquares
from titan.joint.computation import Sum
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.joint.scores import CollectLeveragedScores
from titan.leastsquares.pooled import symmetric
from titan.leastsquares.robust import (
    OF_ROWS,
    RING_BITS,
    Agreed,
    CovType,
    Robust,
    multiplied_bits,
)
from titan.moments import Moments
from titan.moments.collecting import CollectScores, summed_score
from titan.moments.reading import read
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
    constant: Mapping[str, int] | None = None
    """Where there is no model to say it: the columns that add up to the constant."""
    weighted: bool = False

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
        assert known.opened.pooled is not None  # noqa: S101 - asked for once it is
        constant: Any = self.constant if self.model is None else self.model.constant
        weighted = self.weighted if self.model is None else self.model.weights is not None
        fit = leastsquares.fit_pooled(known.opened.pooled, constant=constant, weighted=weighted)
        formula = None if self.model is None else self.model.formula
        return replace(fit, cov_type=self.cov_type, formula=formula)
