"""What regression, ridge and linear systems share: rows in, checked normal equations out.

A party's part is the exact moments of its rows and their counts. The sums that pool them are those
of `equations`; before each a party looks at what has been opened and at its own rows (`checking`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Self

from titan import leastsquares
from titan.joint.checking import ModelChecks
from titan.joint.computation import Sum, bits_of
from titan.joint.equations import Equations, Given, Opened, SecretMoments
from titan.joint.explanations import Explanation, Item, explain_model
from titan.joint.resolution import refuse_noise
from titan.leastsquares import PooledMoments
from titan.leastsquares.dependence import refuse_singular
from titan.leastsquares.pooled import exact
from titan.leastsquares.recombined import centres_of, recombined
from titan.leastsquares.robust import Agreed
from titan.moments import Collected, Model, Source
from titan.moments.centring import Centres
from titan.moments.collecting import CollectMoments
from titan.moments.grain import Grain, together
from titan.moments.reading import read
from titan.moments.rows import Check, Missing, ModelRows
from titan.moments.same_rows import SameRows
from titan.protocol.masking import fresh_key
from titan.release.cells import ROWS_ALONE, CellCounts
from titan.release.evidence import Check as Evidence
from titan.release.made import Rounding
from titan.release.policy import Policy
from titan.ring import Residues


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
    grains: tuple[Grain, ...] = field(default=(), repr=False)
    """Of what its columns are multiples."""
    log_weights: int | None = field(default=None, repr=False)
    """Its Σ log w."""
    earlier: tuple[ModelRows, ...] = field(default=(), repr=False)
    """Models that earlier studies asked of the same columns: what they told is known."""


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
    grains: tuple[Grain, ...] = field(default=(), kw_only=True)
    """Where all rows lie in one place: of what the columns of [A b] are multiples."""
    centres: Centres | None = field(default=None, kw_only=True)
    """The same: the means of what is centred. Else they are found in the pooled moments."""

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
        counts = self.sums[0].entries - 1  # without the number of rows
        counted = [Item("cells", counts, cells.opens)] if cells.opens else []
        return explain_model(
            self.model,
            inference=inference,
            counted=counted,
            further=self.sums[further:],
            log_bits=self.equations.log_bits if self.equations.log_weights else None,
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
        part = RowsPart(source.label, found.moments, *left_out, source, found.rounded, counts)
        return replace(part, grains=found.grains, log_weights=found.log_weights)

    def prepare(self, rows: Source) -> RowsPart:
        source = SameRows(rows, fresh_key()) if self.reads_again else rows
        return self.part(read(source, self.reading), source)

    def own_cells(self, part: RowsPart) -> Iterator[tuple[str, int]]:
        """Every cell that is counted, and the rows of one party in it."""
        return self.equations.cells.cells(part.counts) if part.counts else iter(())

    def begin(self) -> Known:
        return Known()

    @property
    def cells(self) -> CellCounts:
        """What is counted first."""
        return self.equations.cells

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
                return self.sums[0].ring.from_ints(equations.sent.numbers(part.counts))
            if n == 1:
                self.checks.before_regressors(opened.counts, part)
            else:
                self.checks.before_outcomes(equations.regressors(opened), part)
        secret = equations.secret(n, opened, part.moments, part.owner)
        return equations.log_secret(n, secret, part.log_weights)

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        """Between the sums all parties look at what was opened, before the rest leaves them."""
        before, opened = known.opened, self.equations.learn(n, known.opened, total)
        self.checks.pooled(before, opened)
        if n == 1 and isinstance(self.equations, Given):
            regressors = self.equations.regressors(opened)
            if self.needs_full_rank:
                refuse_singular(regressors)
            self.refuse_noise(regressors)
        if self.model is None and opened.pooled is not None:
            self.refuse_noise(opened.pooled)
        if self.model is not None and not opened.counts and opened.diagonal and not before.diagonal:
            levels = self.model.level_counts(opened.diagonal, opened.rows or 0)
            self.policy.check_cells(levels)
        return replace(known, opened=opened)

    def refuse_noise(self, regressors: PooledMoments) -> None:
        """RankError where columns depend on each other within the rounding of the data.

        All see that in AᵀA, before anything with the response in it leaves.
        """
        if self.needs_full_rank:
            refuse_noise(self, regressors)

    def in_one_place(self, parts: Sequence[RowsPart]) -> Self:
        """With what whoever holds all rows knows, who refuses noise before any sum is made.

        Of matrices and files of moments it is refused when they are pooled.
        """
        known = replace(self, grains=reduce(together, (part.grains for part in parts)))
        if self.model is None:
            return known
        pooled = exact(reduce(add, (part.moments for part in parts)))
        known.refuse_noise(pooled)
        return replace(known, centres=known.centres_in(pooled))

    def centres_in(self, pooled: PooledMoments) -> Centres:
        """The means that center(…) takes, as the moments tell them."""
        if self.centres is not None:
            return self.centres
        centring = None if self.model is None else self.model.centring
        return {} if centring is None else centres_of(centring, pooled)

    def in_columns_asked(self, pooled: PooledMoments) -> PooledMoments:
        """The moments of the formula's own columns, of which some may be centred."""
        centring = None if self.model is None else self.model.centring
        if centring is None:
            return pooled
        return recombined(pooled, centring.names, centring.matrix(self.centres_in(pooled)))

    def opened_bits(self, rows: int) -> int:
        """Of all numbers that its sums open: ⌈log₂ of the possible values⌉ of each."""
        if isinstance(self.equations, Given):
            return self.equations.opened_bits(rows)
        return bits_of(self.equations.sums)

    def evidence(self, known: Known, sums: int) -> Iterator[Evidence]:
        return self.checks.evidence(known.opened, sums)

    def answer(self, known: Known) -> Any:
        """The pooled normal equations themselves; a method makes something of them."""
        return known.opened.pooled

    needs_full_rank = True
    rows_for = ""
    """What a later sum is made of the rows themselves for; empty where looks at them are all."""

    @property
    def reads_again(self) -> bool:
        """Whether a later sum needs another pass over the rows."""
        return isinstance(self.equations, Given) and self.policy.rows_per_cell > 0
