"""One step of Newton's method as all know it: the problem, the point, and what its sums opened.

The range of an entry: columns are made orthonormal by a public matrix T, so that Σ w a² ≤ 1, and
v ≤ 1/4 for logistic regression; so entries of H lie within 1/4 and those of the score within √Σw.
Near the maximum (λ ≤ 1/8) the score is within its standard errors, √v ≤ 1/2. Poisson's μ has no
such bound. There κ, a power of two above the average μ so far, takes the place of 1/4. So it
is with Cox's model, where κ begins with the share of rows that have
the event, and the score is a sum over these alone.
"""

# Rule 1: nothing here knows a row; a party hands in its totals, and what it enters comes out.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from titan.errors import DataError
from titan.generalised.certificate import Certificate, certify
from titan.generalised.elementary import Floats
from titan.generalised.families import Likelihood
from titan.generalised.rows import SHIFT, At, Layout, Totals

EARLY, MIDDLE = 16, 24
EXACT = 96
GUARD = 24
"""An entry may be 2^GUARD times its range; a party that has a larger one does not go on. (It cannot
say so in its place: what the others have there would be told without it.)"""
FINER = 14
"""The grid of estimates is so many bits finer than the digits of a step."""


def early_bits(bits: int) -> int:
    """Of steps far from the maximum, where the last has so many: 16 of 24."""
    return min(EARLY, 2 * bits // 3)


@dataclass(frozen=True)
class Problem:
    """What all know before the first step."""

    layout: Layout
    parties: int
    bits: int
    scales: tuple[int, ...]
    """Column j is divided by 2^scales_j."""
    transform: tuple[tuple[Fraction, ...], ...] = field(repr=False)
    """T, which makes them nearly orthonormal."""
    weight: Fraction
    """Σw at most."""
    box: tuple[tuple[Fraction, Fraction], ...] = field(repr=False)
    """Where entries of scaled rows, before T, can lie; of Cox's model, differences of two rows."""
    constant: tuple[Fraction, ...] | None = None
    """c with Ac = 1 but for rounding, for transformed columns: the start alone rests on it."""
    alphas: tuple[Fraction, ...] = ()
    """The penalty of each scaled column's coefficient, before T; none without one."""
    first: int = 0
    """The power of two above |y − μ| and μ at β = 0; of Cox's model above the share of events."""
    first_bits: int = EXACT
    """Of the step at β = 0, at most: beside a constant it tells of the offset alone."""
    null_told: bool = True
    """Whether sums of the model of a constant alone are opened, where it needs any."""

    @property
    def family(self) -> Likelihood:
        return self.layout.family

    @property
    def columns(self) -> int:
        return self.layout.columns

    @cached_property
    def penalty(self) -> tuple[tuple[Fraction, ...], ...] | None:
        """T diag(alphas) Tᵀ."""
        if not any(self.alphas):
            return None
        rows = [[t * a for t, a in zip(row, self.alphas, strict=True)] for row in self.transform]
        return tuple(tuple(dot(row, other) for other in self.transform) for row in rows)

    def combination(self, j: int) -> tuple[Fraction, ...]:
        """c with which coefficient j of the columns as they are is cᵀβ."""
        scale = Fraction(2) ** self.scales[j]
        return tuple(row[j] / scale for row in self.transform)

    def begin(self) -> Point:
        """At β = 0, where all μ are alike but for an offset: outcomes alone are told."""
        size = -2 if self.family == "binomial" else self.first
        bits = {"binomial": EARLY, "poisson": MIDDLE, "cox": early_bits(self.bits)}[self.family]
        bits = min(bits, self.first_bits)
        # at β = 0 the outcome alone is within `first`, later it is near its mean
        cox = self.family == "cox"
        residual = root_of(size) if cox else self.first
        return Point((0,) * self.columns, 0, bits + FINER, bits, False, size, residual, bare=cox)


@dataclass(frozen=True)
class Point:
    """Where a step is taken, and to which digits its sums are opened."""

    beta: tuple[int, ...]
    null: int
    grid: int
    """Both in whole multiples of 2^-grid."""
    bits: int
    last: bool
    """Whether the statistics are told."""
    size: int
    """The power of two that v is taken to be within, on average."""
    residual: int
    """And |y − μ|."""
    near: bool = False
    """Whether the score is within its standard errors."""
    bare: bool = False
    """Whether the Hessian is opened without the score."""

    @property
    def at(self) -> At:
        """For a party's own sums."""
        one = 1 << self.grid
        beta = tuple(Fraction(b, one) for b in self.beta)
        return At(beta, Fraction(self.null, one), self.last, self.last, self.bits > MIDDLE)

    def units(self, problem: Problem) -> tuple[int, ...]:
        """For each entry the power of two that 1 stands for."""
        layout, weight = problem.layout, log2(problem.weight)
        far, near = root_of(weight) + self.residual, root_of(self.size) + 1
        found = [self.size - self.bits] * layout.hessian.stop
        found += [(near if self.near and any(self.beta) else far) - self.bits] * layout.columns
        if layout.offset:
            found += [weight + self.size - self.bits, weight + self.residual - self.bits]
        of_statistics = weight + max(self.size, 0) + 2 - self.bits
        return (*found, *[of_statistics] * len(layout.statistics))

    @property
    def cap(self) -> int:
        return 1 << (self.bits + GUARD)

    def encode(self, problem: Problem, totals: Totals) -> tuple[list[int], bool]:
        """A party's totals as it enters them, and whether each is proven within one unit."""
        layout, units = problem.layout, self.units(problem)
        numbers = [
            (total + (1 << (SHIFT + unit - 1))) >> (SHIFT + unit)
            for total, unit in zip(totals.sums, units, strict=True)
        ]
        withheld = ["pearson"] * totals.withheld
        if layout.offset and not problem.null_told:
            numbers[layout.null] = [0, 0]
            numbers[-1] = 0
            withheld += ["null_likelihood"] * self.last
        near = all(e <= 2.0 ** (u - 1) for e, u in zip(totals.errors, units, strict=True))
        if totals.overflow or any(abs(n) >= self.cap for n in numbers[: layout.of_step]):
            raise DataError(
                "the sums of a step are beyond all range: some mean is far larger than the rest",
                hint="leave out what makes it so, or state an offset of which none is far above",
            )
        if self.bare:
            numbers[layout.score] = [0] * layout.columns
        within = [max(-self.cap, min(n, self.cap)) for n in numbers]
        for name in withheld:
            place = layout.of_step + layout.statistics.index(name)
            within[place] = self.cap + min(within[place], self.cap // (2 * problem.parties))
        return within, near


@dataclass(frozen=True)
class Opened:
    """One step's totals as numbers, the penalty among them."""

    problem: Problem
    point: Point
    totals: tuple[int, ...] = field(repr=False)

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        units = self.point.units(self.problem)
        return tuple(n * Fraction(2) ** u for n, u in zip(self.totals, units, strict=True))

    @property
    def beta(self) -> tuple[Fraction, ...]:
        return self.point.at.beta

    @cached_property
    def hessian(self) -> list[list[Fraction]]:
        n, values = self.problem.columns, self.values
        matrix = [[Fraction(0)] * n for _ in range(n)]
        for j in range(n):
            for k in range(j + 1):
                matrix[j][k] = matrix[k][j] = values[j * (j + 1) // 2 + k]
        if (penalty := self.problem.penalty) is not None:
            return [[x + y for x, y in zip(*rows, strict=True)]
                    for rows in zip(matrix, penalty, strict=True)]  # fmt: skip
        return matrix

    @cached_property
    def score(self) -> tuple[Fraction, ...]:
        own = self.values[self.problem.layout.score]
        if (penalty := self.problem.penalty) is None:
            return own
        return tuple(g - dot(row, self.beta) for g, row in zip(own, penalty, strict=True))

    @property
    def floats(self) -> Floats:
        """The rows' own Hessian, without the penalty, as doubles."""
        n, values = self.problem.columns, [float(x) for x in self.values]
        found = np.zeros((n, n))
        found[np.tril_indices(n)] = values[: len(values[self.problem.layout.hessian])]
        return np.asarray(np.tril(found) + np.tril(found, -1).T)

    @cached_property
    def certificate(self) -> Certificate | None:
        """Every party's entry is within one unit of its own sum."""
        units, layout = self.point.units(self.problem), self.problem.layout
        errors = (self.problem.parties * Fraction(2) ** units[at.start]
                  for at in (layout.hessian, layout.score))  # fmt: skip
        hessian, score = errors
        return certify(
            self.hessian, self.score, self.problem.box, self.problem.transform,
            hessian_error=hessian, score_error=score, places=self.point.bits + 64,
        )  # fmt: skip

    @property
    def statistics(self) -> dict[str, Fraction]:
        names = self.problem.layout.statistics
        return dict(zip(names, self.values[self.problem.layout.of_step :], strict=True))

    @property
    def statistics_error(self) -> Fraction:
        return self.problem.parties * Fraction(2) ** self.point.units(self.problem)[-1]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def root_of(power: int) -> int:
    """The exponent of the least power of two that is not below the root of this one."""
    return -(-power // 2)


def log2(x: Fraction) -> int:
    """The least power of two that is not below, as its exponent; -40 of nothing."""
    if x <= 0:
        return -40
    power = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** power < x:
        power += 1
    return power
