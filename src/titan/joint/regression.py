"""Least squares on all parties' rows together, with standard errors, as a joint computation.

The sums that pool the normal equations (`equations`), and for robust errors one more, in which
every party puts its part of the whitened meat W M Wᵀ of

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   HC0: M = Σ_rows e² a aᵀ,   cluster: M = Σ_parties s sᵀ

rounded to a public unit (`titan.leastsquares.robust`). For HC0 the rows are read once more, with
the solution that all agree on, and an additive digest proves that they are the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan import leastsquares
from titan.joint.checking import ModelChecks
from titan.joint.computation import Sum, bits_of
from titan.joint.equations import Equations, Given, Opened, SecretMoments
from titan.joint.explanations import Explanation, Item, explain_model
from titan.leastsquares.pooled import symmetric
from titan.leastsquares.robust import RING_BITS, Agreed, CovType, Robust
from titan.moments import Collected, Model, Moments, Source
from titan.moments.collecting import CollectMoments, CollectScores, summed_score
from titan.moments.reading import read
from titan.moments.rows import Check, Missing, ModelRows
from titan.moments.same_rows import SameRows
from titan.protocol.masking import fresh_key
from titan.release.cells import ROWS_ALONE
from titan.release.evidence import Check as Evidence
from titan.release.made import Rounding
from titan.release.policy import Policy
from titan.ring import Residues, Ring


@dataclass(frozen=True)
class RowsPart:
    """What one party brings: its moments, and its rows for a further pass."""

    owner: str
    moments: SecretMoments
    weightless: int = 0
    dropped: int = 0
    source: Source | None = field(default=None, repr=False)
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many of its numbers were put on the study's grid, by column."""
    counts: tuple[int, ...] = field(default=(), repr=False)
    """Its rows, and those in every cell that is counted."""


@dataclass(frozen=True)
class Known:
    """What everybody knows: the pooled sums, and for robust errors the fit so far."""

    opened: Opened = field(default_factory=Opened)
    fit: leastsquares.Regression | None = None
    agreed: Agreed | None = None


@dataclass(frozen=True)
class PooledModel:
    """What regression, ridge and linear systems share: rows in, checked normal equations out."""

    equations: Equations
    parties: int
    policy: Policy
    model: Model | None = None
    missing: Missing = "refuse"
    check: Check | None = field(default=None, repr=False)
    rounding: Rounding | None = None
    tau: int = 0

    @property
    def sums(self) -> tuple[Sum, ...]:
        return self.equations.sums

    @property
    def explanation(self) -> Explanation | None:
        """What the sums tell, in sentences; None where there is no model to speak of."""
        if self.model is None:
            return None
        inference, further = self.equations.release == "inference", len(self.equations.sums)
        cells = self.equations.cells if isinstance(self.equations, Given) else ROWS_ALONE
        counted = [Item("cells", cells.entries - 1, cells.opens)] if cells.entries > 1 else []
        return explain_model(
            self.model, inference=inference, counted=counted, further=self.sums[further:]
        )

    @property
    def rows(self) -> ModelRows:
        assert self.model is not None  # noqa: S101 - matrices come as parts
        return ModelRows(self.model, self.missing, self.check, self.rounding)

    @property
    def reading(self) -> CollectMoments:
        """What is read of the rows: others may want something of the same pass."""
        return CollectMoments(self.rows, self.equations.cells.count)

    def part(self, found: Collected, source: Source) -> RowsPart:
        counts = tuple(self.equations.cells.of_party(found.counts))
        left_out = found.weightless, found.dropped
        return RowsPart(source.label, found.moments, *left_out, source, found.rounded, counts)

    def prepare(self, rows: Source) -> RowsPart:
        source = SameRows(rows, fresh_key()) if self.reads_again else rows
        return self.part(read(source, self.reading), source)

    def begin(self) -> Known:
        return Known()

    @property
    def checks(self) -> ModelChecks:
        """What is looked at before each sum."""
        return ModelChecks(
            self.policy,
            self.equations.cells,
            self.parties,
            len(self.equations.names) - 1,
            self.tau,
            None if self.model is None else self.rows,
            self.needs_full_rank,
        )

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        """What the own rows forbid is a ReleaseError, before anything of this sum is made."""
        opened, equations = known.opened, self.equations
        if n == 0:
            self.checks.before_counts(part)
        if isinstance(equations, Given):
            if n == 0:
                return self.sums[0].ring.from_ints(part.counts)
            if n == 1:
                self.checks.before_regressors(opened.counts, part)
            else:
                self.checks.before_outcomes(equations.regressors(opened), part)
        return equations.secret(n, opened, part.moments, part.owner)

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        """Between the sums all parties look at what was opened, before the rest leaves them."""
        before, opened = known.opened, self.equations.learn(n, known.opened, total)
        self.checks.pooled(before, opened)
        if self.model is not None and not opened.counts and opened.diagonal and not before.diagonal:
            levels = self.model.level_counts(opened.diagonal, opened.rows or 0)
            self.policy.check_cells(levels)
        return replace(known, opened=opened)

    def opened_bits(self, rows: int) -> int:
        """Of all numbers that its sums open: ⌈log₂ of the possible values⌉ of each."""
        further = self.sums[len(self.equations.sums) :]
        of_equations = bits_of(self.equations.sums)
        if isinstance(self.equations, Given):
            of_equations = self.equations.opened_bits(rows, self.parties)
        return of_equations + bits_of(further)

    def evidence(self, known: Known, sums: int) -> Iterator[Evidence]:
        return self.checks.evidence(known.opened, sums)

    def answer(self, known: Known) -> Any:
        """The pooled normal equations themselves; a method makes something of them."""
        return known.opened.pooled

    needs_full_rank = True

    @property
    def reads_again(self) -> bool:
        """Whether a later sum needs another pass over the rows."""
        return isinstance(self.equations, Given) and self.policy.rows_per_cell > 0


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
        return self.cov_type == "HC0" or super().reads_again

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        if self.cov_type == "nonrobust":
            return self.equations.sums
        n = len(self.equations.names) - 1
        over = "parties of s sᵀ, s = Aᵀe" if self.cov_type == "cluster" else "rows of e² a aᵀ"
        meat = Sum(
            "robust errors",
            n * (n + 1) // 2,
            Ring(self.meat_bits + RING_BITS),
            Fraction(1, 1 << self.meat_bits),
            f"the sum over all {over}, e being the residuals, in units in which AᵀA is the "
            f"identity, to {self.meat_bits} bits",
        )
        return (*self.equations.sums, meat)

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        if n < len(self.equations.sums):
            return super().secret(n, known, part)
        agreed = known.agreed
        assert agreed is not None  # noqa: S101 - robust errors come after the fit
        meat = self._meat(part, agreed.x)
        return self.sums[n].ring.from_ints(agreed.whitening.of_moments(meat, agreed.unit))

    def _meat(self, part: RowsPart, x: Sequence[Fraction]) -> Moments:
        if self.cov_type == "cluster":
            assert isinstance(part.moments, Moments)  # noqa: S101 - made of rows
            return summed_score(part.moments, x)
        assert part.source is not None  # noqa: S101 - asked for only where there are rows
        return read(part.source, CollectScores(self.rows, tuple(x)))

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        if n < len(self.equations.sums):
            known = super().learn(n, known, total)
            robust = self.cov_type != "nonrobust" and known.opened.pooled is not None
            return self.fitted(known) if robust else known
        fit, agreed = known.fit, known.agreed
        assert fit is not None and agreed is not None  # noqa: S101, PT018 - as above
        meat = symmetric(len(fit.names), self.sums[n].ring.to_signed(total))
        clusters = self.parties if self.cov_type == "cluster" else None
        errors = Robust(fit.certificate, agreed, meat, self.meat_bits, self.parties, clusters)
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
        return replace(
            known, fit=fit, agreed=Agreed.of(fit.moments, self.meat_bits) if wanted else None
        )

    def _fit(self, known: Known) -> leastsquares.Regression:
        assert known.opened.pooled is not None  # noqa: S101 - asked for once it is
        constant: Any = self.constant if self.model is None else self.model.constant
        weighted = self.weighted if self.model is None else self.model.weights is not None
        fit = leastsquares.fit_pooled(known.opened.pooled, constant=constant, weighted=weighted)
        return replace(fit, cov_type=self.cov_type)
