"""Logistic and Poisson regression on all parties' rows together, as a joint computation.

    counts       rows, cells, and events and non-events in every one of them
    regressors   AᵀA, and with it the public coordinates in which columns are orthonormal
    step 1, 2, … the score and the Hessian at the estimate so far: p(p+3)/2 numbers; in the last one
                 also the log-likelihood and what else a table of results has

Before the first step a party looks at the leverage of its rows in AᵀA, before every later one at
that in the Hessian which was opened last: near separation a few persons have all the weight. The
estimate after each step follows from the totals alone (`titan.generalised.newton`), and so does the
proof at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from titan.errors import DataError, NumberError, ReleaseError
from titan.generalised.families import FamilyName
from titan.generalised.newton import MOST_STEPS, Newton, no_events
from titan.generalised.result import GLM
from titan.generalised.rows import Layout
from titan.generalised.steps import GUARD, Problem
from titan.joint.computation import Sum
from titan.joint.equations import Given
from titan.joint.explanations import Explanation, Item
from titan.joint.glm_problem import problem_of
from titan.joint.glm_rows import (
    CollectRows,
    GLMPart,
    Held,
    PartialRows,
    Ranges,
    StepLeverage,
    exact_totals,
    step_leverage,
    step_totals,
)
from titan.joint.pooled_model import Known, PooledModel, RowsPart
from titan.leastsquares import PooledMoments
from titan.leastsquares.dependence import refuse_singular
from titan.listing import listing
from titan.moments import Collected, Source
from titan.moments.reading import read
from titan.moments.same_rows import SameRows
from titan.protocol.masking import fresh_key
from titan.ring import Residues, Ring

MOST_SUMS = 25
_TOLERANCE = 2.0**-10
"""A cell of exactly k rows is allowed, whatever the rounding."""


@dataclass(frozen=True)
class KnownSteps(Known):
    """What everybody knows: the pooled sums, and how far Newton's method is."""

    newton: Newton | None = None


@dataclass(frozen=True)
class GeneralisedLinear(PooledModel):
    """A generalised linear model with its canonical link."""

    family: FamilyName = "binomial"
    bits: int = 24
    """To which the sums of the last step are rounded."""
    alpha: Fraction = Fraction(0)
    ranges: Ranges | None = field(default=None, repr=False)
    """Where rows can lie: by the dictionary, or as found where all rows lie in one place."""

    rows_for = "every step"

    # -- the sums -----------------------------------------------------------------------------

    @property
    def before(self) -> tuple[Sum, ...]:
        """What comes before the first step."""
        sums = self.equations.sums
        return sums[:2] if isinstance(self.equations, Given) else sums

    @cached_property
    def layout(self) -> Layout:
        assert self.model is not None  # noqa: S101 - rows are read by one
        offset, weighted = self.model.offset is not None, self.model.weights is not None
        return Layout(len(self.equations.names) - 1, offset, weighted, self.family)

    @property
    def steps(self) -> int:
        return min(MOST_STEPS, MOST_SUMS - len(self.before))

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        layout, bits = self.layout, self.bits
        ring = Ring(bits + GUARD + 2 + self.parties.bit_length())
        opens = (
            f"the score and the Hessian at the estimate so far, {layout.of_step} numbers "
            f"{self._digits}; in the last step also {listing(layout.statistics)}, in others 0"
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
            "rises and bends at the estimate so far, weighted sums of the columns' products "
            f"and of those with {self.model.names[-1]}; {self._digits}"
        )
        told = f"in the last step: {listing(layout.statistics)}, to {self.bits} bits"
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
    def _digits(self) -> str:
        finest = "" if self.bits <= 24 else f", and in the end to {self.bits}"
        return f"to 16 bits of their range, near the end to 24{finest}"

    def opened_bits(self, rows: int) -> int:
        """At most: as if every possible step were made with all digits."""
        before = super().opened_bits(rows)
        return (
            before
            + self.steps * self.layout.of_step * (self.bits + 1)
            + (len(self.layout.statistics) * (self.bits + 1))
        )

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

    def prepare(self, rows: Source) -> RowsPart:
        source = SameRows(rows, fresh_key()) if self.reads_again else rows
        return self.part(read(source, self.reading), source)

    def secret(self, n: int, known: Known, part: RowsPart) -> Residues:
        if n < len(self.before):
            return super().secret(n, known, part)
        assert isinstance(known, KnownSteps)  # noqa: S101 - as `begin` makes it
        assert isinstance(part, GLMPart)  # noqa: S101 - as `part` makes it
        newton = known.newton
        assert newton is not None  # noqa: S101 - it begins with the Gram matrix
        if n == len(self.before):
            if isinstance(self.equations, Given):
                self.checks.before_outcomes(self.equations.regressors(known.opened), part)
        else:
            self._check_leverage(newton, part)
        return self.sums[n].ring.from_ints(self._numbers(newton, part))

    def _numbers(self, newton: Newton, part: GLMPart) -> list[int]:
        """What a party enters; where digits will be claimed, each within a unit of the truth."""
        point, problem = newton.point, newton.problem
        numbers, near = point.encode(problem, step_totals(part, self.rows, problem, point.at))
        if point.last and not near:
            assert part.source is not None  # noqa: S101 - rows come from somewhere
            totals = exact_totals(part.source, self.rows, problem, point.at)
            numbers, near = point.encode(problem, totals)
            if not near:
                raise NumberError("the sums of a step cannot be made with so many digits")
        return numbers

    def _check_leverage(self, newton: Newton, part: GLMPart) -> None:
        k = self.policy.rows_per_cell
        if not k or newton.inverse is None or part.source is None:
            return
        R = newton.inverse
        inverse = np.array([[x / (1 << R.places) for x in row] for row in R.numbers], float)
        root = np.linalg.cholesky(inverse).T
        beta = np.array([float(b) for b in newton.looked_at])
        most = (1 + _TOLERANCE) / k
        look = StepLeverage(self.rows, newton.problem, beta, root, most)
        count, places = step_leverage(part, look)
        if count:
            more = f" and {count - len(places)} more" if count > len(places) else ""
            raise ReleaseError(
                f"these rows weigh more than one of {k} in the last step: {listing(places)}{more}",
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
        if n + 1 < len(self.before):
            return after
        self._check_events(after)
        return replace(after, newton=Newton.begin(self._problem(after)))

    def _moments(self, known: Known) -> PooledMoments:
        if isinstance(self.equations, Given):
            return self.equations.regressors(known.opened)
        assert known.opened.pooled is not None  # noqa: S101 - both its sums are known
        return known.opened.pooled

    def _problem(self, known: Known) -> Problem:
        moments = self._moments(known)
        if not self.alpha:
            refuse_singular(moments)
        assert self.ranges is not None  # noqa: S101 - known before the first sum
        assert self.model is not None  # noqa: S101 - as above
        return problem_of(
            moments, self.layout, self.ranges, self.model,
            parties=self.parties, bits=self.bits, alpha=self.alpha, rows=known.opened.rows or 0,
        )  # fmt: skip

    def _check_events(self, known: Known) -> None:
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

    @property
    def needs_full_rank(self) -> bool:  # type: ignore[override]
        return not self.alpha
