"""What a party looks at between the sums of a model, before the next one leaves its machine.

    before the counts        its own rows: are they enough?
    before the regressors    the cells without its own rows; rows that stand alone among its own
    before the outcomes      the leverage of its rows in the pooled Gram matrix

What its own rows forbid is a ReleaseError for its owner; in a meeting it becomes a veto. What
everybody can see in a total is checked by all alike, in `pooled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from titan.errors import DataError, ReleaseError, TitanError
from titan.leastsquares import PooledMoments
from titan.leastsquares.pooled import exact
from titan.moments import Moments
from titan.moments.rows import ModelRows
from titan.release.budget import Budget, smallest_of
from titan.release.cells import CellCounts, counted_numbers
from titan.release.evidence import Check, checks_of
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import KeptRows, check_others
from titan.release.leverage import Counted, own_leverage, pooled_leverage
from titan.release.orthonormal import orthonormal
from titan.release.policy import Policy
from titan.release.step_budget import StepBudget

if TYPE_CHECKING:
    from titan.joint.equations import Opened
    from titan.joint.pooled_model import PooledModel, RowsPart


@dataclass(frozen=True)
class ModelChecks:
    """Those of one question; `rows` is how it reads them, where it does."""

    policy: Policy
    cells: CellCounts
    parties: int
    parameters: int
    tau: int = 0
    rows: ModelRows | None = None
    needs_full_rank: bool = True

    # -- one party ------------------------------------------------------------------------------

    def before_counts(self, part: RowsPart) -> None:
        self.policy.check_own(part.moments.rows, part.owner, weightless=part.weightless)
        if part.counts:
            self.policy.check_local(self.cells.cells(part.counts))

    def before_regressors(self, counts: Sequence[int], part: RowsPart) -> None:
        pairs = zip(self.cells.cells(counts), self.cells.cells(part.counts), strict=True)
        self.policy.check_others((cell, rows, own) for (cell, rows), (_, own) in pairs)
        for what, steps in self.cells.alone_on(counts, part.counts):
            self.policy.check_coarse(what, steps, counts[0])
        if self.rows is not None:
            check_own_leverage(self.policy, [self.rows], part, [(self.cells, part.counts, counts)])

    def before_outcomes(self, regressors: PooledMoments, part: RowsPart) -> None:
        if self.policy.rows_per_cell and self.rows is not None and part.source is not None:
            with _or_otherwise(self.policy):
                try:
                    whitening = orthonormal(regressors)
                except TitanError as error:
                    # of very many columns floats decide, which may differ between machines
                    error.of_totals = not isinstance(error, ReleaseError)
                    raise
                if isinstance(part.source, KeptRows) and isinstance(part.moments, Moments):
                    check_others(regressors, part.moments)
                pooled_leverage(self.rows, part.source, whitening, self.policy.rows_per_cell)

    # -- all ------------------------------------------------------------------------------------

    def pooled(self, before: Opened, opened: Opened) -> None:
        """What has just been opened, as far as it says whether more may be."""
        if before.rows is None and opened.rows is not None:
            self.policy.check_pooled(opened.rows, self.parameters, self.parties)
            if self.needs_full_rank and opened.rows < self.parameters:
                raise DataError(
                    f"{opened.rows} rows in all for {self.parameters} coefficients",
                    hint="name fewer columns, or use more rows",
                )
        if opened.counts and not before.counts:
            self._pooled_cells(opened.counts)

    def _pooled_cells(self, counts: Sequence[int]) -> None:
        self.policy.check_possible(self.cells.possible(counts, self.parties))
        self.policy.check_cells(self.cells.cells(counts))
        self.policy.check_parties(self.cells.parties(counts), self.tau)
        self.policy.check_varies(self.cells.spread(counts), self.tau)
        for what, parties in self.cells.off_grids(counts):
            self.policy.check_off_grid(what, parties, self.tau + 2)

    def in_one_place(self, parts: Sequence[RowsPart]) -> None:
        """All of it where all rows lie in one place: before any sum, and by name."""
        for part in parts:
            self.before_counts(part)
        counts = [sum(each) for each in zip(*(part.counts for part in parts), strict=True)]
        if not counts:
            return
        self.policy.check_pooled(counts[0], self.parameters, self.parties)
        self._pooled_cells(counts)
        for part in parts:
            self.before_regressors(counts, part)
        own = [part.moments for part in parts if isinstance(part.moments, Moments)]
        pooled = exact(reduce(add, own))
        for part in parts:
            self.before_outcomes(pooled, part)

    def evidence(self, opened: Opened, sums: int) -> Iterator[Check]:
        """What has been checked after so many sums."""
        cells, counts = self.cells, opened.counts

        def of(found: Callable[[Sequence[int]], Iterable[tuple[str, int]]]) -> list[int]:
            return [n for _, n in found(counts)] if counts else []

        return checks_of(
            self.policy,
            sums,
            rows=opened.rows,
            parties=self.parties,
            parameters=self.parameters,
            cells=of(cells.in_tables) if cells.tables or cells.weightless else None,
            held=of(cells.parties) if cells.held else None,
            off_grid=of(cells.rows_off_grids) if cells.digits else None,
            digits=of(cells.off_grids) if cells.digits else None,
            tau=self.tau,
            leverage=self.rows is not None,
        )


def check_own_leverage(
    policy: Policy, questions: Sequence[ModelRows], part: RowsPart, counted: Sequence[Counted]
) -> None:
    """That no own row stands alone in the columns of these questions and of earlier ones."""
    if policy.rows_per_cell and part.source is not None:
        with _or_otherwise(policy):
            rows = JointRows.of([*questions, *part.earlier])
            own_leverage(rows, part.source, counted, policy.rows_per_cell)


@contextmanager
def _or_otherwise(policy: Policy) -> Iterator[None]:
    """A refusal says how to go below the limits all the same."""
    try:
        yield
    except ReleaseError as refusal:
        refusal.hint += f", or {policy.lower('leverage')}"
        raise


def check_several(
    asked: Sequence[tuple[PooledModel, Opened, RowsPart]], beside: Sequence[ModelRows] = ()
) -> None:
    """What one question tells may be taken from what another does, so all are looked at as one.

    `beside` are numbers that are summed as they are, by a table of the same rows.
    """
    with_rows = [each for each in asked if each[0].checks.rows is not None and each[1].counts]
    if not with_rows or len(with_rows) + len(beside) < 2:
        return
    first, _, part = with_rows[0]
    rows = [model.checks.rows for model, _, _ in with_rows if model.checks.rows is not None]
    rows += beside
    counted = [(m.checks.cells, part.counts, opened.counts) for m, opened, part in with_rows]
    check_own_leverage(first.policy, rows, part, counted)


def check_budget(budget: Budget, models: Sequence[tuple[PooledModel, Opened]]) -> None:
    """What all check once the rows are counted: how much made columns tell of tables of the raw."""
    counted = [(model.checks.cells, opened) for model, opened in models if opened.counts]
    if not counted:
        return
    numbers = frozenset().union(*(counted_numbers(cells) for cells, _ in counted))
    smallest = [smallest_of(cells, opened.counts) for cells, opened in counted]

    def least(columns: frozenset[str]) -> int | None:
        known = [n for each in smallest if (n := each(columns)) is not None]
        return min(known, default=None)

    budget.check(min(opened.counts[0] for _, opened in counted), least, numbers)


def share_steps(
    computations: Iterable[tuple[str, Any]], made: Callable[[], Budget]
) -> Iterator[tuple[str, Any]]:
    """Models with steps know of each other, and of what made columns of the study tell."""
    asked = list(computations)
    numbers = [c.told.numbers for _, c in asked if getattr(c, "told", None) is not None]
    for name, computation in asked:
        told: StepBudget | None = getattr(computation, "told", None)
        if told is None:
            yield name, computation
        else:
            sharing = sum(bool(each & told.numbers) for each in numbers)
            own = replace(told, models=max(sharing, 1), made=made)
            yield name, replace(computation, told=own)
