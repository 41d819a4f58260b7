"""The sums of `hazards` by ball arithmetic and whole numbers: for digits that float64 cannot claim.

η is exact, from the party's mean; w = exp(η) is a ball of python-flint, cut to a multiple of 2^-Q.
Sums of these, and of their products with the columns, are exact; so Σ w and Σ w a are known to
rows · 2^-Q, times the largest |a|. What follows of them, term by term, is in balls. The weights W
are cut in the same way, and Σ W a aᵀ of those is exact. It is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.generalised.exact_rows import Matrix, linear, shifted
from titan.generalised.hazards import at_risk
from titan.generalised.risk_sets import Timeline, Whole
from titan.generalised.rows import SHIFT, At, Layout, Totals
from titan.leastsquares.balls import fraction_of, to_arb
from titan.moments.arithmetic import as_integers
from titan.moments.columns import Column
from titan.moments.gram import weighted
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb, arb_mat

Q = 320
_PRECISION = 512
_FARTHEST = 64
"""|η| from the mean: exp of it has 93 bits, and as many zeros after the point."""
Table = list[list[Fraction]]


@dataclass(frozen=True)
class Frame:
    """In which coordinates rows are taken, and where."""

    at: At
    scales: tuple[int, ...]
    transform: Matrix = field(repr=False)
    mean: tuple[Fraction, ...] = field(repr=False)
    """Of the party's rows, after the transform."""


@dataclass(frozen=True)
class ExactTimes:
    """Some rows of one party: the columns of A, and when each leaves."""

    columns: Sequence[Column] = field(repr=False)
    until: Whole = field(repr=False)
    died: Whole = field(repr=False)

    def exponents(self, frame: Frame) -> list[arb]:
        """η less that of the mean, each within a rounding to the working precision."""
        T, beta = frame.transform, frame.at.beta
        combined = [_dot(column, beta) for column in zip(*T, strict=True)]
        parts = [
            (as_integers(column), b / Fraction(2) ** s)
            for column, b, s in zip(self.columns, combined, frame.scales, strict=True)
        ]
        one = Column(np.ones(len(self.until), np.int64))
        return linear([*parts, (one, -_dot(frame.mean, beta))], len(self.until))

    def weights(self, eta: Sequence[arb]) -> Whole | None:
        """exp(η) in multiples of 2^-Q, each within one; None where η is too far from 0."""
        if any(not abs(x) < _FARTHEST for x in eta):
            return None
        return np.array([_cut(x.exp()) for x in eta] or [0], object)[: len(eta)]

    def risks(self, frame: Frame, times: int) -> ExactRisks | None:
        with working_precision(_PRECISION):
            eta = self.exponents(frame)
            w = self.weights(eta)
            if w is None:
                return None
            keys = 2 * self.until + self.died
            numbers = [shifted(as_integers(c), s) for c, s in zip(self.columns, frame.scales,
                                                                  strict=True)]  # fmt: skip
            columns = [Column(np.ones(len(w), np.int64), -Q)]
            columns += [Column(c.numbers, c.two - Q, c.five) for c in numbers]
            table = [[Fraction(0)] * len(columns) for _ in range(2 * (times + 1))]
            for key in np.unique(keys).tolist():
                here = keys == key
                table[key] = [int(np.dot(w[here], c.numbers[here].astype(object))) * c.unit
                              for c in columns]  # fmt: skip
            events = [int(c.numbers[self.died].astype(object).sum()) * c.unit for c in numbers]
            likely = sum((x for x, d in zip(eta, self.died, strict=True) if d), to_arb(Fraction(0)))
            most = [_largest(c) for c in numbers]
            rows = np.bincount(keys, minlength=len(table)).tolist()
            return ExactRisks(table, rows, events, likely, most)

    def products(self, frame: Frame, per_time: ExactPerTime) -> list[list[Fraction]] | None:
        """Σ W a aᵀ of the columns before T, W being cut to multiples of 2^-Q."""
        with working_precision(_PRECISION):
            w = self.weights(self.exponents(frame))
            if w is None:
                return None
            reached, own = per_time.reached, per_time.own
            factor = [
                reached[u - 1] + own[u] if d else reached[u]
                for u, d in zip(self.until.tolist(), self.died.tolist(), strict=True)
            ]
            W = np.array([(int(x) * f) >> Q for x, f in zip(w, factor, strict=True)] or [0], object)
            names = [str(j) for j in range(len(self.columns))]
            scaled = [shifted(c, s) for c, s in zip(self.columns, frame.scales, strict=True)]
            found = weighted(names, scaled, Column(W[: len(w)], -Q))
            n = range(len(names))
            return [[found.fraction(j, k) for k in n] for j in n]


@dataclass(frozen=True)
class ExactRisks:
    """Sums over rows; as `hazards.Risks`."""

    table: Table = field(repr=False)
    rows: list[int] = field(repr=False)
    events: list[Fraction] = field(repr=False)
    likely: arb = field(repr=False)
    """Σ η over events."""
    most: list[Fraction] = field(repr=False)
    """The largest magnitude in each column."""

    def __add__(self, other: ExactRisks) -> ExactRisks:
        with working_precision(_PRECISION):
            likely = self.likely + other.likely
        return ExactRisks(
            added(self.table, other.table),
            [a + b for a, b in zip(self.rows, other.rows, strict=True)],
            [a + b for a, b in zip(self.events, other.events, strict=True)],
            likely,
            list(map(max, self.most, other.most)),
        )


class ExactPerTime:
    """What the terms at each event time add up to, in balls."""

    def __init__(self, timeline: Timeline, risks: ExactRisks) -> None:
        with working_precision(_PRECISION):
            self.timeline, self.risks = timeline, risks
            self.rows = sum(risks.rows)
            stay, die = at_risk(np.array(risks.table, object))
            doubt = [Fraction(self.rows, 1 << Q) * m for m in (Fraction(1), *risks.most)]
            self.stay, self.die = _balls(stay, doubt), _balls(die, doubt)
            over, under = timeline.shares
            self.shares = [to_arb(Fraction(int(a), int(b)))
                           for a, b in zip(over, under, strict=True)]  # fmt: skip
            places = timeline.place.tolist()
            self.terms = [
                self.stay[j][0] + g * self.die[j][0]
                for j, g in zip(places, self.shares, strict=True)
            ]
            self.reached, self.own = self._cut()

    def sums(self, power: int, share: int) -> list[arb]:
        """Σ g^share / Z^power over the terms at each time."""
        found = [to_arb(Fraction(0)) for _ in range(len(self.timeline))]
        over = self.timeline.times_over.tolist()
        rows = zip(self.timeline.place.tolist(), over, self.shares, self.terms, strict=True)
        for j, times, g, z in rows:
            found[j] += times * g**share / z**power
        return found

    def _cut(self) -> tuple[list[int], list[int]]:
        """Σ 1/Z up to each time, and Σ g/Z at it, in multiples of 2^-Q, by `until`."""
        total, reached = to_arb(Fraction(0)), [0]
        for each in self.sums(1, 0):
            total += each
            reached.append(_cut(total))
        return reached, [0, *map(_cut, self.sums(1, 1))]

    @property
    def doubt(self) -> Fraction:
        """How far each W may be off: both factors were cut, and so is their product."""
        most = 1 << (Q + 94)  # twice the largest w
        return Fraction(most + 2 * (max(self.reached) + max(self.own)) + (2 << Q), 1 << 2 * Q)


def totals(
    layout: Layout, frame: Frame, found: ExactPerTime, products: Sequence[Sequence[Fraction]]
) -> Totals:
    """The score, the Hessian and the statistics, each a ball."""
    if not len(found.timeline):
        return Totals((0,) * layout.entries, (0.0,) * layout.entries)
    with working_precision(_PRECISION):
        sums = _step(layout, frame, found, products)
        if frame.at.statistics:
            sums += [_likelihood(found), _null_likelihood(found)]
        numbers = [int(fraction_of(x.mid()) * (1 << SHIFT) // 1) for x in sums]
        errors = [float(x.rad().upper()) * 1.01 + 2.0**-SHIFT for x in sums]
    rest = layout.entries - len(sums)
    return Totals((*numbers, *[0] * rest), (*errors, *[0.0] * rest))


def _step(
    layout: Layout, frame: Frame, found: ExactPerTime, products: Sequence[Sequence[Fraction]]
) -> list[arb]:
    from flint import arb_mat

    p, most = layout.columns, found.risks.most
    doubt = found.doubt * found.rows
    gram = arb_mat(p, p, [_ball(products[j][k], doubt * most[j] * most[k])
                          for j in range(p) for k in range(p)])  # fmt: skip
    n, d = (arb_mat([row[1:] for row in table]) for table in (found.stay, found.die))
    both = n.transpose() * _scaled(d, found.sums(2, 1))
    squares = n.transpose() * _scaled(n, found.sums(2, 0)) + both + both.transpose()
    squares += d.transpose() * _scaled(d, found.sums(2, 2))
    expected = arb_mat([found.sums(1, 0)]) * n + arb_mat([found.sums(1, 1)]) * d
    T = arb_mat([[to_arb(x) for x in row] for row in frame.transform])
    hessian = T * (gram - squares) * T.transpose()
    score = T * (arb_mat([[to_arb(x) for x in found.risks.events]]) - expected).transpose()
    lower = [hessian[j, k] for j in range(p) for k in range(j + 1)]
    return [*lower, *(score[j, 0] for j in range(p))]


def _likelihood(found: ExactPerTime) -> arb:
    times = found.timeline.times_over.tolist()
    logs = (n * z.log() for n, z in zip(times, found.terms, strict=True))
    return found.risks.likely - sum(logs, to_arb(Fraction(0)))


def _null_likelihood(found: ExactPerTime) -> arb:
    stay, die = at_risk(np.array([[n] for n in found.risks.rows], object))
    places, times = found.timeline.place.tolist(), found.timeline.times_over.tolist()
    terms = (n * (int(stay[j, 0]) + g * int(die[j, 0])).log()
             for j, n, g in zip(places, times, found.shares, strict=True))  # fmt: skip
    return -sum(terms, to_arb(Fraction(0)))


def added(one: Table, other: Table) -> Table:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]


def _balls(table: Any, doubt: Sequence[Fraction]) -> list[list[arb]]:
    return [[_ball(Fraction(x), d) for x, d in zip(row, doubt, strict=True)]
            for row in table.tolist()]  # fmt: skip


def _ball(middle: Fraction, radius: Fraction) -> arb:
    from flint import arb

    return to_arb(middle) + arb(0, to_arb(radius).upper())


def _scaled(matrix: arb_mat, factors: Sequence[arb]) -> arb_mat:
    from flint import arb_mat

    rows = matrix.tolist()
    return arb_mat([[x * f for x in row] for row, f in zip(rows, factors, strict=True)])


def _cut(ball: arb) -> int:
    """In multiples of 2^-Q, within one."""
    return int(fraction_of((ball * (1 << Q)).mid()) // 1)


def _largest(column: Column) -> Fraction:
    numbers = column.numbers
    return int(abs(numbers).max()) * column.unit if len(numbers) else Fraction(0)


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
