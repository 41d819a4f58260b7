"""Whether an own row would stand out in the next step's sums: looked at before they leave.

A step opens H = Σ w v a aᵀ at an estimate that all know. As a row's leverage h = w v aᵀH⁻¹a nears
1, H becomes that row: near separation, or where an offset makes it so, a few persons have all the
weight. A party knows its own part of H before it leaves, of the others' part only what it was in
the step before. It takes that to have changed as its own has:

    H ≈ H_own + r (H_before − H_own,before)      r = Σ w v / Σ w v_before, over own rows

without those k − 1 that have most weight now, so that rows which stand out do not count as what
hides them. Before the first step AᵀA is H_before, every v_before being 1.

If r is 0 the row has to be hidden by own rows alone, and since H ≥ H_own, that is a proof. Where r
is too large (others lose their weight, the own rows do not) a row may stand out in one step, and no
more: in the next one H_before has it.
"""

# Rule 1: nothing here leaves its owner's machine.
# Rule 2: what is below the rounding of the step is not told, so it counts as hidden.

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from titan.generalised.elementary import Floats
from titan.generalised.families import family_named
from titan.generalised.newton import Newton
from titan.generalised.rows import FloatRows, weights_of
from titan.joint.glm_rows import TOLERANCE, Above, GLMPart, RawRows, over_rows
from titan.moments.rows import ModelRows

_NAMED = 5


@dataclass(frozen=True, eq=False)
class Moved:
    """Own sums of w v a aᵀ and of w v, at the step before and at the one to come."""

    before: Floats = field(repr=False)
    now: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    """Σ w v, before and now."""
    largest: Floats = field(repr=False)
    """Of the rows with most weight now that of each, before and now."""

    def __add__(self, other: Moved) -> Moved:
        few = len(self.largest)
        both = np.concatenate([self.largest, other.largest])
        return Moved(
            self.before + other.before,
            self.now + other.now,
            self.weights + other.weights,
            both[np.argsort(-both[:, 1])[:few]],
        )

    @property
    def ratio(self) -> float:
        """By which weights have changed, without the largest."""
        before, now = np.maximum(self.weights - self.largest.sum(axis=0), 0.0)
        return float(now / before) if before > 0 else 0.0


@dataclass(frozen=True)
class _Found:
    """Rows above the limit, block by block."""

    count: int
    places: tuple[str, ...] = field(repr=False)

    def __add__(self, other: _Found) -> _Found:
        return _Found(self.count + other.count, (*self.places, *other.places)[:_NAMED])


@dataclass(frozen=True)
class Look:
    """At own rows, before the sums of the next step leave."""

    rows: ModelRows
    newton: Newton
    gram: Floats = field(repr=False)
    """AᵀA, in the coordinates of the problem."""
    k: int

    @property
    def needed(self) -> bool:
        """Without an offset all v are the same at 0, and leverage is that in AᵀA."""
        return self.newton.seen is not None or self.newton.problem.layout.offset

    def above(self, part: GLMPart) -> Above:
        """Own rows that would weigh more than one of k."""
        problem = self.newton.problem
        moved = over_rows(part, self.rows, problem, self._moved) if self.needed else None
        if moved is None:
            return 0, ()
        root = np.linalg.cholesky(np.linalg.inv(self._expected(moved))).T
        found = over_rows(part, self.rows, problem, partial(self._rows_above, root))
        return (found.count, found.places) if found else (0, ())

    def _expected(self, moved: Moved) -> Floats:
        """H as it is expected, and what its rounding hides."""
        newton, n = self.newton, len(self.gram)
        known = self.gram if newton.seen is None else newton.seen.floats
        values, vectors = np.linalg.eigh(known - moved.before)
        others = (vectors * np.maximum(values, 0.0)) @ vectors.T
        point, problem = newton.point, newton.problem
        unit = 2.0 ** point.units(problem)[0] * problem.parties
        return np.asarray(moved.now + moved.ratio * others + n * unit * np.eye(n))

    # -- of some rows ---------------------------------------------------------------------------

    def _moved(self, raw: RawRows, rows: FloatRows) -> Moved:
        before, now = self._before(rows), self._now(rows)
        few = max(self.k - 1, 1)
        largest = np.zeros((few, 2))
        at = np.argsort(-now)[:few]
        largest[: len(at)] = np.stack([before[at], now[at]], axis=1)
        a = rows.a
        return Moved(
            (a * before[:, None]).T @ a,
            (a * now[:, None]).T @ a,
            np.array([before.sum(), now.sum()]),
            largest,
        )

    def _rows_above(self, root: Floats, raw: RawRows, rows: FloatRows) -> _Found:
        leverages = self._now(rows) * ((rows.a @ root.T) ** 2).sum(axis=1)
        at = np.flatnonzero(~(leverages <= (1 + TOLERANCE) / self.k))
        return _Found(len(at), tuple(raw.place(int(row)) for row in at[:_NAMED]))

    def _before(self, rows: FloatRows) -> Floats:
        seen = self.newton.seen
        if seen is None:
            return np.ones(len(rows)) if rows.weights is None else rows.weights
        return weights_of(rows, family_named(seen.problem.family), seen.beta)

    def _now(self, rows: FloatRows) -> Floats:
        return weights_of(rows, family_named(self.newton.problem.family), self.newton.point.at.beta)
