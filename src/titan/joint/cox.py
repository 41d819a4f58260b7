"""Cox's proportional hazards, stratified by party, as a joint computation.

    counts       rows, cells, and events and non-events in every one of them
    regressors   AᵀA, and with it the public coordinates in which columns are orthonormal
    step 1, 2, … the score and the Hessian of the partial likelihood at the estimate so far:
                 p(p+3)/2 numbers; in the last one also the likelihood, and that at 0

Every party has a baseline hazard of its own, so that who is at risk when stays at home: parties'
scores and Hessians add. (Sums over risk sets of all parties, at consecutive times, would differ by
the very rows that left in between.) An event counts where k rows of its party are at risk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan.errors import DataError, ReleaseError
from titan.generalised.cox_result import Cox
from titan.generalised.risk_sets import Ties
from titan.generalised.rows import At, Layout, Totals
from titan.generalised.steps import Problem, log2
from titan.joint.cox_leverage import Look
from titan.joint.cox_rows import (
    CollectTimes,
    CoxPart,
    EndsAtRisk,
    PartialTimes,
    Stratum,
    TimeGrid,
    WithoutEvents,
    timeline_of,
)
from titan.joint.cox_steps import OwnSteps
from titan.joint.equations import Given
from titan.joint.glm import KnownSteps, SteppedModel
from titan.joint.glm_problem import coordinates
from titan.joint.glm_rows import TOLERANCE, Above
from titan.joint.pooled_model import Known, RowsPart
from titan.listing import listing
from titan.moments import Collected, Source
from titan.moments.reading import read
from titan.release.evidence import Check
from titan.release.risk_set_counts import RiskSetCounts
from titan.release.step_budget import StepBudget

NO_GRID = TimeGrid("time", "event", Fraction(1), Fraction(1))


@dataclass(frozen=True)
class ProportionalHazards(SteppedModel):
    """The first column of its model is the constant, which no partial likelihood depends on."""

    times: TimeGrid = NO_GRID
    ties: Ties = "efron"
    events: int | None = None
    """As found where all rows lie in one place."""

    @cached_property
    def layout(self) -> Layout:
        return Layout(len(self.equations.names) - 2, family="cox")

    @property
    def made_of(self) -> str:
        return (
            f"sums over all rows with {self.times.event} = 1 of how the columns of who has it then "
            "differ from those of all rows of the same party that are still there"
        )

    # -- one party ------------------------------------------------------------------------------

    @property
    def reading(self) -> Any:
        return CollectTimes(super().reading, self.times, self.policy.rows_per_cell)

    def part(self, found: Any, source: Source) -> RowsPart:
        collected: Collected
        whole: PartialTimes
        collected, whole = found
        timeline = timeline_of(whole, self.policy.rows_per_cell, self.ties)
        uncounted = sum(whole.happened.values()) - timeline.total
        own = super().part(collected, source)
        if uncounted and not len(timeline):  # it adds nothing, so that it hides nobody
            counts = read(source, WithoutEvents(self.rows, self.cells, self.times.event))
            own = replace(own, counts=tuple(self.cells.of_party(counts.tolist())))
        kept, ranges = whole.rows, whole.ranges
        part = CoxPart(
            **vars(own), kept=kept, ranges=ranges, timeline=timeline, uncounted=uncounted
        )
        return self._with_risk_sets(part, source)

    def _with_risk_sets(self, part: CoxPart, source: Source) -> CoxPart:
        """What its risk sets are like is counted with the rest, in a study."""
        if not isinstance(self.cells, RiskSetCounts) or not len(part.timeline):
            return part
        differ = EndsAtRisk(self.rows, self.times, part.timeline).differ(part.kept, source)
        counts = self.cells.with_risk_sets(part.counts, differ, part.timeline.spread)
        names = zip(self.cells.columns, differ, strict=True)
        return replace(part, counts=counts, alike=tuple(name for name, each in names if not each))

    def _own(self, part: RowsPart, problem: Problem) -> OwnSteps:
        assert isinstance(part, CoxPart)  # noqa: S101 - as `part` makes it
        return OwnSteps(self.rows, Stratum.of(part, problem, self.times), part)

    def totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        return self._own(part, problem).totals(at)

    def exact_totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        return self._own(part, problem).exact_totals(at)

    def standing_out(self, part: RowsPart, known: KnownSteps, k: int) -> Above:
        newton = known.newton
        assert newton is not None  # noqa: S101 - it begins with the Gram matrix
        return Look(self._own(part, newton.problem), newton, (1 + TOLERANCE) / k).above()

    def _check_others_tables(self, known: KnownSteps, part: RowsPart) -> None:
        try:
            super()._check_others_tables(known, part)
        except ReleaseError as refusal:
            refusal.hint += ", or let all use times that are nearer to when events happened"
            raise

    def own_notes(self, part: RowsPart) -> Iterator[str]:
        """For the owner of the rows."""
        assert isinstance(part, CoxPart)  # noqa: S101 - as `part` makes it
        if part.uncounted:
            several = "" if part.uncounted == 1 else "s"
            yield (
                f"{part.uncounted} event{several} of your rows when fewer than "
                f"{self.policy.rows_per_cell} of them are at risk: not in the likelihood"
            )
        if part.alike:
            same = f"the same in all of your rows at risk, at every event: {listing(part.alike)}"
            yield f"{same}. They do not hide what others add there"

    # -- all ------------------------------------------------------------------------------------

    def evidence(self, known: Known, sums: int) -> Iterator[Check]:
        """That events count where enough are at risk is done by each party, and seen by nobody."""
        yield from super().evidence(known, sums)
        if k := self.policy.rows_per_cell:
            yield Check("at_risk", k, None, True if sums > len(self.before) else None)

    def happened(self, known: Known) -> int:
        """How many rows have the event."""
        if not isinstance(self.equations, Given):
            assert self.events is not None  # noqa: S101 - known before the first sum
            return self.events
        counts = dict(self.equations.cells.in_tables(known.opened.counts))
        return counts[f"{self.times.event} = 1"]

    def check_events(self, known: Known) -> None:
        if not self.happened(known):
            raise DataError(
                "there are no events at all", hint="a hazard is estimated from rows with the event"
            )

    def event_times(
        self, told: StepBudget, known: Known, part: RowsPart | None = None
    ) -> int | None:
        """On average; a party looks at fewer where its own events come together, unless it is
        small: others hide it. And where those of all others may: whoever is curious, an honest
        party must have events at as many times."""
        every = self.happened(known)
        times = told.times(every)
        if not isinstance(part, CoxPart):
            return times
        assert isinstance(self.cells, RiskSetCounts)  # noqa: S101 - so they are in a study
        most = self.cells.most_times(known.opened.counts, max(self.tau, 1) + 1)
        times = min(times, most or times)
        if len(part.timeline) and 2 * self.parties * part.timeline.total >= every:
            times = min(times, round(part.timeline.spread))
        return max(1, times)

    def problem(self, known: KnownSteps) -> Problem:
        moments, rows = self._moments(known), known.opened.rows or 0
        assert self.ranges is not None  # noqa: S101 - known before the first sum
        scales = moments.scales[1:]
        scaled = [Fraction(2) ** s for s in scales]
        wide = [(high - low) / s
                for (low, high), s in zip(self.ranges.columns, scaled, strict=True)]  # fmt: skip
        return Problem(
            self.layout,
            self.parties,
            known.bits or self.bits,
            scales,
            coordinates(moments, after=1),
            Fraction(max(rows, 1)),
            tuple((-w, w) for w in wide),
            alphas=tuple(self.alpha / (s * s) for s in scaled) if self.alpha else (),
            first=log2(Fraction(self.happened(known), max(rows, 1))) + 1,
        )

    def answer(self, known: Known) -> Cox | None:
        newton = known.newton if isinstance(known, KnownSteps) else None
        if newton is None or newton.fit is None:
            return None
        assert self.model is not None  # noqa: S101 - rows are read by one
        times = self.times
        return Cox(
            self.equations.names[1:-1],
            times.time,
            times.event,
            newton.fit,
            known.opened.rows or 0,
            self.happened(known),
            newton.steps,
            self.model.formula,
            times.grid,
            self.ties,
            self.policy.rows_per_cell,
            self.alpha,
        )
