"""Whether an own row would stand out in the next step of Cox's model: before its sums leave.

With q the part that a row has in a term Σ c w, and E the mean of all at risk weighted so, a step
opens H = Σ q (a − E)(a − E)ᵀ over all rows and terms. The share of a row in it,
h = Σ q (a − E)ᵀ H⁻¹ (a − E), is for Cox's model what leverage is for others: as h nears 1, H is
that row, and what is summed beside it is that row's too. The shares of all rows add up to p.

A party knows its own part of H at the estimate to come, and of the others' what it was in the step
before. It takes that to have changed as its own has:

    H ≈ H_own + r (H_before − H_own,before)      r = Σ t / Σ t_before, over own rows

where t is a row's part of the trace, and the k − 1 rows with the largest do not count: rows that
stand out are not what hides them. Fewer than ten rows that are at risk at any event say nothing of
others: then r is 1. The first Hessian, at 0, is opened without the score, so that
before any score there is an H_before; there r is 1, and the expected H is the true one.
"""

# Rule 1: nothing here leaves its owner's machine.
# Rule 2: what is below the rounding of the step is not told, so it counts as hidden.

from __future__ import annotations

from dataclasses import dataclass, field
from operator import add

import numpy as np

from titan.generalised.elementary import Floats
from titan.generalised.hazards import FARTHEST, PerTime, TimedRows, hessian, row_shares
from titan.generalised.newton import Newton
from titan.generalised.steps import Opened
from titan.joint.cox_rows import RawTimes
from titan.joint.cox_steps import OwnSteps
from titan.joint.glm_rows import Above

_NAMED = 5
_MANY = 10


@dataclass(frozen=True, eq=False)
class Moved:
    """Own rows' parts of the trace, before and now: their sums, and those of the largest now."""

    sums: Floats = field(repr=False)
    largest: Floats = field(repr=False)
    rows: int = field(repr=False)
    """That have some."""

    def __add__(self, other: Moved) -> Moved:
        both, few = np.concatenate([self.largest, other.largest]), len(self.largest)
        largest = both[np.argsort(-both[:, 1])[:few]]
        return Moved(self.sums + other.sums, largest, self.rows + other.rows)

    @property
    def ratio(self) -> float:
        if self.rows < _MANY:
            return 1.0
        before, now = np.maximum(self.sums - self.largest.sum(axis=0), 0.0)
        return float(now / before) if before > 0 else 0.0


@dataclass(frozen=True)
class Look:
    """At own rows; `most` is the largest share that one may have."""

    own: OwnSteps
    newton: Newton
    most: float

    def above(self) -> Above:
        """How many own rows would have a larger share, and where the first are."""
        seen = self.newton.seen
        if seen is None or not len(self.own.stratum.timeline):
            return 0, ()
        now = np.array([float(b) for b in self.newton.point.at.beta])
        found = self.own.per_time(now)
        if found.risks.farthest > FARTHEST:
            return 0, ()  # nothing but that will be told
        root = np.linalg.cholesky(np.linalg.inv(self._expected(seen, now, found))).T

        def of(raw: RawTimes, rows: TimedRows) -> Above:
            shares = row_shares(rows, found, now, root)
            at = np.flatnonzero(~(shares <= self.most))
            return len(at), tuple(raw.place(int(row)) for row in at[:_NAMED])

        return self.own.over_rows(of, _both)

    def _expected(self, seen: Opened, now: Floats, found: PerTime) -> Floats:
        """H as it is expected, and what its rounding hides."""
        point, problem = self.newton.point, self.newton.problem
        known, n = seen.floats, len(now)
        hidden = n * problem.parties * 2.0 ** point.units(problem)[0] * np.eye(n)
        if seen.beta == point.at.beta:
            return np.asarray(known + hidden)
        at, before = seen.point.at, np.array([float(b) for b in seen.beta])
        found_before = self.own.per_time(before)
        own_before = hessian(found_before, self.own.products(before, found_before, at))
        own_now = hessian(found, self.own.products(now, found, at))
        moved = self._moved((before, found_before), (now, found))
        values, vectors = np.linalg.eigh(known - own_before)
        others = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(own_now + moved.ratio * others + hidden)

    def _moved(self, *steps: tuple[Floats, PerTime]) -> Moved:
        few, one = max(round(1 / self.most) - 1, 1), np.eye(self.newton.problem.columns)

        def of(_: RawTimes, rows: TimedRows) -> Moved:
            traces = np.stack([row_shares(rows, found, beta, one) for beta, found in steps], axis=1)
            largest = np.zeros((few, 2))
            at = np.argsort(-traces[:, 1])[:few]
            largest[: len(at)] = traces[at]
            return Moved(traces.sum(axis=0), largest, int(np.count_nonzero(rows.until)))

        whole: Moved = self.own.over_rows(of, add)
        return whole


def _both(one: Above, other: Above) -> Above:
    return one[0] + other[0], (*one[1], *other[1])[:_NAMED]
