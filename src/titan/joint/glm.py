"""Logistic and Poisson regression on all parties' rows together, as a joint computation.

    counts       rows, cells, and events and non-events in every one of them
    regressors   AᵀA, and with it the public coordinates in which columns are orthonormal
    step 1, 2, … the score and the Hessian at the estimate so far: p(p+3)/2 numbers; in the last one
                 also the log-likelihood and what else a table of results has

Before the first step a party looks at the leverage of its rows in AᵀA, and before every one at that
in the Hessian which the step will open (`step_leverage`): near separation a few persons have all
the weight. To how many bits steps are opened is known after the counts. The estimate after each
step follows from the totals alone (`titan.generalised.newton`), and so does the proof at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan.errors import DataError, NumberError, ReleaseError
from titan.generalised.families import FamilyName
from titan.generalised.large_parts import looked_at
from titan.generalised.newton import MOST_STEPS, Newton, no_events
from titan.generalised.result import GLM
from titan.generalised.rows import At, Layout, Totals
from titan.generalised.steps import EXACT, GUARD, MIDDLE, Problem, early_bits
from titan.joint.computation import Sum
from titan.joint.equations import Given
from titan.joint.explanations import Explanation, Item
from titan.joint.glm_problem import in_coordinates, problem_of
from titan.joint.glm_rows import (
    Above,
    CollectRows,
    GLMPart,
    Held,
    PartialRows,
    Ranges,
    exact_totals,
    step_totals,
)
from titan.joint.others_tables import check_others_tables, knows_too_much_of_offsets
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.joint.step_leverage import Look
from titan.leastsquares import PooledMoments
from titan.leastsquares.dependence import refuse_singular
from titan.listing import listing
from titan.moments import Collected, Source
from titan.moments.reading import read
from titan.moments.same_rows import SameRows
from titan.protocol.masking import fresh_key
from titan.release.budget import smallest_of
from titan.release.cells import counted_numbers
from titan.release.step_budget import StepBudget
from titan.ring import Residues, Ring

MOST_SUMS = 25


@dataclass(frozen=True)
class KnownSteps(Known):
    """What everybody knows: the pooled sums, and how far Newton's method is."""

    newton: Newton | None = None
    bits: int | None = None
    """Of the last step, where its tables allow fewer than were asked for, or as many."""
    first_bits: int = EXACT
    """Of the first step, at most, where an offset is in it."""
    null_told: bool = True
    """Whether tables allow the sums of the model of a constant alone, which an offset needs."""


@dataclass(frozen=True)
class SteppedModel(PooledModel):
    """What is fitted by Newton's method in private sums: a GLM, or Cox's proportional hazards."""

    bits: int = 24
    """To which the sums of the last step are rounded."""
    alpha: Fraction = Fraction(0)
    ranges: Ranges | None = field(default=None, repr=False)
    """Where rows can lie: by the dictionary, or as found where all rows lie in one place."""
    told: StepBudget | None = field(default=None, compare=False, repr=False)
    """What its steps may tell of tables of its numbers, where that is limited."""

    rows_for = "every step"

    # -- the sums -----------------------------------------------------------------------------

    @property
    def before(self) -> tuple[Sum, ...]:
        """What comes before the first step."""
        sums = self.equations.sums
        return sums[:2] if isinstance(self.equations, Given) else sums

    @property
    def layout(self) -> Layout:
        """What each step opens."""
        raise NotImplementedError

    @property
    def steps(self) -> int:
        return min(MOST_STEPS, MOST_SUMS - len(self.before))

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        layout, bits = self.layout, self.bits
        statistics = listing(layout.in_words(layout.statistics))
        ring = Ring(max(bits, MIDDLE) + GUARD + 2 + self.parties.bit_length())
        opens = (
            f"the score and the Hessian at the estimate so far, {layout.of_step} numbers "
            f"{self._digits}; in the last step also {statistics}, in others 0"
        )
        steps = [
            Sum(f"step {n + 1}", layout.entries, ring, Fraction(1, 1 << bits), opens)
            for n in range(self.steps)
        ]
        return (*self.before, *steps)

    @property
    def explanation(self) -> Explanation | None:
        whole = super().explanation
        if whole is None or self.model is None:
            return whole
        n, steps, layout = self.layout.columns, self.steps, self.layout
        said = (
            f"for each of at most {steps} steps {layout.of_step} numbers, p(p+3)/2 for p = {n} "
            f"columns{' and two of a constant' if layout.offset else ''}: how the likelihood "
            f"rises and bends at the estimate so far, {self.made_of}; {self._digits}"
        )
        told = (
            f"in the last step: {listing(layout.in_words(layout.statistics))}, to {self.bits} bits"
        )
        if self.kept:
            told += f"; Pearson's χ² only if no row is more than 1/{self.kept} of it"
        if self.told is not None and layout.offset:
            said += "; those of a constant only where the offset's table allows them"
            told += "; that with only a constant only where the sums of a constant are"
        if layout.untold:
            told += f"; not {listing(layout.in_words(layout.untold))}, which tell of outcomes alone"
        fits = "by computing: the coefficients and standard errors of this model, and the estimate "
        before = [item for item in whole.items if item.what in ("rows", "cells", "AᵀA")]
        items = (
            *before,
            Item("steps", steps * layout.of_step, said),
            Item("statistics", steps * len(layout.statistics), told),
            Item("fits", 0, f"{fits}after every step"),
        )
        return replace(whole, items=items)

    @property
    def made_of(self) -> str:
        """What the score and the Hessian are sums of, in words."""
        assert self.model is not None  # noqa: S101 - rows are read by one
        outcome = self.model.names[-1]
        return f"weighted sums of the columns' products and of those with {outcome}"

    @property
    def _digits(self) -> str:
        early, near = early_bits(self.bits), min(self.bits, MIDDLE)
        finest = "" if self.bits <= MIDDLE else f", and in the end to {self.bits}"
        fewer = "; fewer if single values would be told" if self.told is not None else ""
        return f"to {early} bits of their range, near the end to {near}{finest}{fewer}"

    def opened_bits(self, rows: int) -> int:
        """At most: as if every possible step were made with all digits."""
        before = super().opened_bits(rows)
        return (
            before
            + self.steps * self.layout.of_step * (self.bits + 1)
            + (len(self.layout.statistics) * (self.bits + 1))
        )

    # -- one party ----------------------------------------------------------------------------

    def totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        """A party's own sums at an estimate, by float64."""
        raise NotImplementedError

    def exact_totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        """The same with as many digits as anybody can want."""
        raise NotImplementedError

    def standing_out(self, part: RowsPart, known: KnownSteps, k: int) -> Above:
        """Own rows that would have more than one of k parts in the Hessian to come."""
        raise NotImplementedError

    def prepare(self, rows: Source) -> RowsPart:
        source = SameRows(rows, fresh_key()) if self.reads_again else rows
        return self.part(read(source, self.reading), source)

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        if n < len(self.before):
            return super().secret(n, known, part)
        assert isinstance(known, KnownSteps)  # noqa: S101 - as `begin` makes it
        newton = known.newton
        assert newton is not None  # noqa: S101 - it begins with the Gram matrix
        if n == len(self.before) and isinstance(self.equations, Given):
            self.checks.before_outcomes(self.equations.regressors(known.opened), part)
            self._check_others_tables(known, part)
        self._check_leverage(known, part)
        numbers = self._numbers(newton, part)
        if n == len(self.before) and newton.problem.null_told and self.layout.offset:
            numbers[-1] = int(knows_too_much_of_offsets(self, known, part))  # a mark
        return self.sums[n].ring.from_ints(numbers)

    def _numbers(self, newton: Newton, part: RowsPart) -> list[int]:
        """What a party enters; where digits will be claimed, each within a unit of the truth."""
        point, problem = newton.point, newton.problem
        at = replace(point.at, kept=self.kept)
        numbers, near = point.encode(problem, looked_at(self.totals(part, problem, at), problem))
        if point.last and not near:
            exact = self.exact_totals(part, problem, at)
            numbers, near = point.encode(problem, looked_at(exact, problem))
            if not near:
                raise NumberError("the sums of a step cannot be made with so many digits")
        return numbers

    def _check_others_tables(self, known: KnownSteps, part: RowsPart) -> None:
        check_others_tables(self, known, part)

    @property
    def kept(self) -> int:
        """How many of the largest parts in Pearson's χ² a party looks at in its own rows."""
        there = isinstance(self.equations, Given) and "pearson" in self.layout.statistics
        return self.policy.rows_per_cell if there else 0

    def _check_leverage(self, known: KnownSteps, part: RowsPart) -> None:
        k = self.policy.rows_per_cell
        if not k or part.source is None:
            return
        count, places = self.standing_out(part, known, k)
        if count:
            where = listing(places, count=count)
            raise ReleaseError(
                f"these rows would weigh more than one of {k} in the next step: {where}",
                hint="leave such rows out, or agree on a model without what singles them out, "
                f"or {self.policy.lower('leverage')}",
                rule="leverage",
            )

    # -- all ----------------------------------------------------------------------------------

    def begin(self) -> KnownSteps:
        return KnownSteps()

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        assert isinstance(known, KnownSteps)  # noqa: S101 - as `begin` makes it
        if n >= len(self.before):
            assert known.newton is not None  # noqa: S101 - as above
            return replace(known, newton=known.newton.learn(self.sums[n].ring.to_signed(total)))
        after = super().learn(n, known, total)
        assert isinstance(after, KnownSteps)  # noqa: S101 - replaced, not made anew
        if n == (0 if isinstance(self.equations, Given) else len(self.before) - 1):
            self.check_events(after)  # as soon as they are counted
        if n == 0 and self.told is not None:
            after = self._allowed(self.told, after)
        if n + 1 < len(self.before):
            return after
        if not self.alpha:
            refuse_singular(self._moments(after))
        return replace(after, newton=Newton.begin(self.problem(after)))

    def _allowed(self, told: StepBudget, known: KnownSteps) -> KnownSteps:
        """After the counts, before anything is opened but these."""
        counts, cells = known.opened.counts, self.cells
        there = counts[0], smallest_of(cells, counts), counted_numbers(cells)
        bits = told.bits(self.bits, *there, self.event_times(told, known))
        if not self.layout.offset:
            return replace(known, bits=bits)
        first = told.first_bits(MIDDLE, *there)
        null = all(each.allowed for each in told.told(bits, *there, tables=told.null_tables))
        return replace(known, bits=bits, first_bits=first, null_told=null and first == MIDDLE)

    def event_times(
        self, told: StepBudget, known: Known, part: RowsPart | None = None
    ) -> int | None:
        """At how many times there are events, at a party, or at all on average; of hazards."""
        return None

    def _moments(self, known: Known) -> PooledMoments:
        if isinstance(self.equations, Given):
            return self.equations.regressors(known.opened)
        assert known.opened.pooled is not None  # noqa: S101 - both its sums are known
        return known.opened.pooled

    def check_events(self, known: Known) -> None:
        """DataError where outcomes do not vary at all."""
        raise NotImplementedError

    def problem(self, known: KnownSteps) -> Problem:
        """What all know before the first step."""
        raise NotImplementedError

    @property
    def needs_full_rank(self) -> bool:  # type: ignore[override]
        return not self.alpha


@dataclass(frozen=True)
class GeneralisedLinear(SteppedModel):
    """A generalised linear model with its canonical link."""

    family: FamilyName = "binomial"

    @cached_property
    def layout(self) -> Layout:
        assert self.model is not None  # noqa: S101 - rows are read by one
        offset, weighted = self.model.offset is not None, self.model.weights is not None
        columns = len(self.equations.names) - 1
        return Layout(columns, offset, weighted, self.family, self._untold)

    @property
    def _untold(self) -> tuple[str, ...]:
        """In a study of counts: sums of outcomes alone, unless their table is known anyway."""
        if self.told is None or self.family != "poisson":
            return ()
        assert self.ranges is not None  # noqa: S101 - as a study has them
        low, high = self.ranges.response
        plain = self.told.model.weights is None
        if high - low <= 1 or (low == 0 and high <= 2 and plain):  # rows, those with 0 and Σy
            return ()
        # where no number is in it, μ has few values, and χ² is a sum of outcomes' squares
        return "log_factorial", "saturated", *["pearson"] * (not self.told.numbers)

    # -- one party ----------------------------------------------------------------------------

    @property
    def reading(self) -> Any:
        return CollectRows(super().reading, self.family)

    def part(self, found: Any, source: Source) -> RowsPart:
        collected: Collected
        whole: PartialRows
        collected, whole = found
        own = super().part(collected, source)
        return GLMPart(**vars(own), held=Held(whole.kept), ranges=whole.ranges)

    def totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        assert isinstance(part, GLMPart)  # noqa: S101 - as `part` makes it
        return step_totals(part, self.rows, problem, at)

    def exact_totals(self, part: RowsPart, problem: Problem, at: At) -> Totals:
        assert part.source is not None  # noqa: S101 - rows come from somewhere
        return exact_totals(part.source, self.rows, problem, at)

    def standing_out(self, part: RowsPart, known: KnownSteps, k: int) -> Above:
        assert isinstance(part, GLMPart)  # noqa: S101 - as `part` makes it
        assert known.newton is not None  # noqa: S101 - it begins with the Gram matrix
        gram = in_coordinates(self._moments(known), known.newton.problem)
        return Look(self.rows, known.newton, gram, k).above(part)

    # -- all ----------------------------------------------------------------------------------

    def problem(self, known: KnownSteps) -> Problem:
        moments = self._moments(known)
        assert self.ranges is not None  # noqa: S101 - known before the first sum
        assert self.model is not None  # noqa: S101 - as above
        problem = problem_of(
            moments, self.layout, self.ranges, self.model,
            parties=self.parties, bits=known.bits or self.bits, alpha=self.alpha,
            rows=known.opened.rows or 0,
        )  # fmt: skip
        return replace(problem, first_bits=known.first_bits, null_told=known.null_told)

    def check_events(self, known: Known) -> None:
        """DataError where outcomes do not vary at all, as far as counts or Aᵀb tell."""
        assert self.model is not None  # noqa: S101 - as above
        if isinstance(self.equations, Given):
            counts = dict(self.equations.cells.in_tables(known.opened.counts))
            name = str(self.model.names[-1])
            ends = [counts.get(f"{name} {end}") for end in ("= 0", "= 1", "> 0")]
            none, every = (ends[1] == 0 or ends[2] == 0), ends[0] == 0 and self.family == "binomial"
        else:
            constant = self.model.constant or {}
            names = self.equations.names
            events = sum(c * known.opened.rhs[names.index(name)] for name, c in constant.items())
            none, every = bool(constant) and events == 0, False
            if self.model.weights is None and self.family == "binomial":
                every = bool(constant) and events == known.opened.rows
        if none:
            raise no_events()
        if every:
            raise DataError("the outcome is 1 in all rows", hint="the outcome must vary")

    def answer(self, known: Known) -> GLM | None:
        newton = known.newton if isinstance(known, KnownSteps) else None
        if newton is None or newton.fit is None:
            return None
        model = self.model
        assert model is not None  # noqa: S101 - as above
        names = self.equations.names
        return GLM(
            names[:-1], names[-1], newton.fit, known.opened.rows or 0, newton.steps, model.formula,
            model.weights, model.offset, self.alpha, tuple(model.constant or ()),
        )  # fmt: skip
