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
from functools import cached_property
from typing import Self

from titan import leastsquares
from titan.joint.computation import Sum
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.joint.resolution import constant_of
from titan.joint.robust_errors import bits_of_meat, own_meat, sum_of_meat
from titan.leastsquares.centred import centred
from titan.leastsquares.pooled import Exact, symmetric
from titan.leastsquares.robust import OF_ROWS, Agreed, CovType, Robust
from titan.ring import Residues


@dataclass(frozen=True)
class Regression(PooledModel):
    """Ordinary or weighted least squares."""

    cov_type: CovType = "nonrobust"
    meat_bits: int = 24
    """Of a typical entry of the whitened meat: its size is that of the residual variance."""
    constant: Mapping[str, Exact] | None = None
    """Where there is no model to say it: the columns that add up to the constant."""
    weighted: bool = False

    @property
    def reads_again(self) -> bool:
        return self.cov_type in OF_ROWS or super().reads_again

    @property
    def rows_for(self) -> str:  # type: ignore[override]
        return f"{self.cov_type} errors" if self.cov_type in OF_ROWS else ""

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        if self.cov_type == "nonrobust":
            return self.equations.sums
        n = len(self.equations.names) - 1
        return (*self.equations.sums, sum_of_meat(n, self.cov_type, self.meat_bits))

    def opened_bits(self, rows: int) -> int:
        entries = sum(each.entries for each in self.sums[len(self.equations.sums) :])
        bounded = self.policy.rows_per_cell > 1
        bits = bits_of_meat(rows, self.cov_type, self.meat_bits, bounded=bounded)
        return super().opened_bits(rows) + entries * bits

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        if n < len(self.equations.sums):
            return super().secret(n, known, part)
        agreed = known.agreed
        assert agreed is not None  # noqa: S101 - robust errors come after the fit
        meat = own_meat(self.rows, part, agreed, self.cov_type)
        return self.sums[n].ring.from_ints(agreed.whitening.of_moments(meat, agreed.unit))

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
        if not wanted or self.model is None or self.model.centring is None:
            return fit if wanted else None
        return centred(fit, self.model.centring, self.centres_in(fit.moments))

    def fitted(self, known: Known) -> Known:
        """With the fit itself, once the equations are pooled; an exact one has no residuals."""
        fit = self._fit(known)
        wanted = self.cov_type != "nonrobust" and not fit.exact_fit
        agreed = Agreed.of(fit.moments, self.meat_bits, self.cov_type) if wanted else None
        return replace(known, fit=fit, agreed=agreed)

    def in_one_place(self, parts: Sequence[RowsPart]) -> Self:
        """And whether there is Σ log w: no weight is zero."""
        logs = all(part.log_weights is not None for part in parts)
        known = super().in_one_place(parts)
        return replace(known, equations=replace(known.equations, log_weights=logs))

    def _fit(self, known: Known) -> leastsquares.Regression:
        pooled = known.opened.pooled
        assert pooled is not None  # noqa: S101 - asked for once it is
        weighted = self.weighted if self.model is None else self.model.weights is not None
        constant = self.constant if self.model is None else constant_of(self, pooled)
        fit = leastsquares.fit_pooled(pooled, constant=constant, weighted=weighted)
        return replace(
            fit,
            cov_type=self.cov_type,
            formula=None if self.model is None else self.model.formula,
            log_weights=known.opened.log_weights,
            weights=None if self.model is None else self.model.weights,
        )
