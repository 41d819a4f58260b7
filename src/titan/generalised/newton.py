"""Newton's method on pooled sums: from one step's totals to where the next one is taken.

Everybody follows the same public rules and so holds the same bits:

start     β = 0. Of Cox's model the Hessian is opened there before the score, so that rows can be
          looked at. With a constant in the model the first step goes to the best constant and one
          step of Newton further: at that point all μ are known multiples of those at 0.
step      β + H⁻¹g, rounded to a grid. Where Δη would be large on average it is cut; where the next
          score shows that it went far beyond the maximum, a quarter of it is taken.
digits    entries are opened to 16 bits of their range; to 24 once λ ≤ 1/8, or is no larger than
          rounding can make it; to all that was agreed once λ² is so small that the next step may be
          the last. That step tells the statistics. Where fewer than 24 are agreed, early steps have
          two thirds of them.
null      of the model of a constant alone, where an offset is in it, steps go beside. A party that
          would know too much of others' rows by them marks the place of its likelihood in the first
          step, where nothing is told yet: from then on they are left out.
end       a proof (`certificate`) from a step with all digits. No proof after the last step, or a
          Hessian that may be singular: there is no answer.
"""

# Rule 1: rational arithmetic; what logarithms estimate is rounded to the grid.
# Rule 2: nothing here knows a row.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from titan.errors import DataError
from titan.generalised.certificate import Inverse, SingularError
from titan.generalised.steps import (
    FINER,
    MIDDLE,
    Opened,
    Point,
    Problem,
    dot,
    early_bits,
    log2,
    root_of,
)
from titan.leastsquares.balls import fraction_of
from titan.moments.precision import working_precision

MOST_STEPS = 22
_STEPS_WITHOUT_PROOF = 12
"""After so many steps λM must be below 1."""
_FAR = {"binomial": Fraction(4), "poisson": Fraction(2), "cox": Fraction(4)}
_NEAR, _NEARER = Fraction(1, 64), Fraction(1, 1 << 20)  # of λ²
_PRECISION = 192


@dataclass(frozen=True)
class Tried:
    """The step that led to where the next one is taken."""

    beta: tuple[Fraction, ...]
    step: tuple[Fraction, ...]
    slope: Fraction
    """g · step: how fast the likelihood rose at its beginning."""


@dataclass(frozen=True)
class Newton:
    """How far all are: where the next step is taken, or that it was the last."""

    problem: Problem
    point: Point
    steps: int = 0
    tried: Tried | None = field(default=None, repr=False)
    fit: Opened | None = field(default=None, repr=False)
    """The step that gave a proof."""
    seen: Opened | None = field(default=None, repr=False)
    """The step that led here: its Hessian is known."""

    @classmethod
    def begin(cls, problem: Problem) -> Newton:
        return cls(problem, problem.begin())

    def learn(self, totals: Sequence[int]) -> Newton:
        """After a step's totals; DataError where no proof will come."""
        problem, point = self.problem, self.point
        if not self.steps and problem.layout.offset and totals[-1]:
            problem = replace(problem, null_told=False)
        opened = Opened(problem, point, tuple(totals))
        after = replace(self, problem=problem, steps=self.steps + 1)
        if point.bare:
            return replace(after, point=replace(point, bare=False), seen=opened)
        if self._overshot(opened):
            return after._shorter()
        try:
            R = Inverse.of(opened.hessian, point.bits + 64)
        except SingularError:
            R = None
        unit = Fraction(2) ** point.units(problem)[0]
        doubtful = R is None or problem.parties * unit * R.total >= Fraction(1, 2)
        if R is None or (doubtful and not self._capped):
            return after._finer()
        proof = opened.certificate if point.last else None
        if proof is not None and (proof.settled or after.steps >= MOST_STEPS):
            return replace(after, fit=opened)
        return after._next(opened, R)

    def _overshot(self, opened: Opened) -> bool:
        if self.tried is None:
            return False
        slope = dot(opened.score, self.tried.step)
        return slope < -self.tried.slope and slope < -Fraction(1, 4)

    def _shorter(self) -> Newton:
        """A quarter of the step that went too far."""
        if self.tried is None or self.steps >= MOST_STEPS:
            raise no_proof(self.problem)
        step = tuple(x / 4 for x in self.tried.step)
        tried = replace(self.tried, step=step, slope=self.tried.slope / 4)
        return replace(self, point=self._at(self.tried.beta, step, self.point), tried=tried)

    @property
    def _most_bits(self) -> int:
        """That there may be where this step is taken."""
        problem = self.problem
        return problem.bits if any(self.point.beta) else min(problem.bits, problem.first_bits)

    @property
    def _capped(self) -> bool:
        """Whether this step would have more, but for what it tells of an offset."""
        return self._most_bits < self.problem.bits and self.point.bits >= self._most_bits

    def _finer(self) -> Newton:
        """The Hessian may be singular as far as its digits tell: once more with more of them."""
        most = self._most_bits
        if self.point.bits >= most or self.steps >= MOST_STEPS:
            raise no_proof(self.problem)
        bits = MIDDLE if self.point.bits < MIDDLE < most else most
        shift = bits - self.point.bits
        beta = tuple(b << shift for b in self.point.beta)
        point = replace(self.point, beta=beta, null=self.point.null << shift,
                        grid=self.point.grid + shift, bits=bits)  # fmt: skip
        return replace(self, point=point)

    def _next(self, opened: Opened, R: Inverse) -> Newton:
        problem = self.problem
        step = R.times(opened.score)
        square = max(dot(step, opened.score), Fraction(0))
        if self.steps >= MOST_STEPS or (
            self.steps >= _STEPS_WITHOUT_PROOF
            and square * R.largest(problem.box, problem.transform) ** 2 >= 1
        ):
            raise no_proof(problem)
        times = Fraction(1)
        if self.steps == 1 and problem.constant is not None:
            step, times = _from_constant(opened, step, problem.constant)
            square = Fraction(1)
        step = self._cut(step)
        slope = dot(step, opened.score)
        doubt = Fraction(0) if self._capped else self._doubt(R)
        point = self._digits(opened, square, times, doubt)
        return replace(
            self,
            point=self._at(opened.beta, step, point),
            tried=Tried(opened.beta, step, slope) if slope > 0 else None,
            seen=opened,
        )

    def _cut(self, step: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """Shorter, where Δη would be large on average."""
        square = dot(step, step) / self.problem.weight  # AᵀA is nearly the identity
        far = _FAR[self.problem.family]
        while square > far * far:
            step, square = tuple(x / 2 for x in step), square / 4
        return step

    def _doubt(self, R: Inverse) -> Fraction:
        """λ² of a score that is nothing but rounding."""
        problem = self.problem
        unit = Fraction(2) ** self.point.units(problem)[problem.layout.score.start]
        off: Fraction = problem.parties * unit
        return off * off * R.total

    def _digits(self, opened: Opened, square: Fraction, times: Fraction, doubt: Fraction) -> Point:
        """How the next step is opened, from λ² of this one."""
        problem, point = self.problem, opened.point
        near = point.near or square <= max(_NEAR, doubt)
        bits = min(problem.bits, MIDDLE) if near else early_bits(problem.bits)
        if square <= _NEARER:
            bits = problem.bits
        last = square <= Fraction(1, 1 << (problem.bits // 2 + 2))
        if last:
            bits = problem.bits
        size, residual = point.size, point.residual
        if problem.family != "binomial":
            average = max(row[j] for j, row in enumerate(opened.hessian)) * times
            size = max(-40, min(log2(average) + 1, 60))
            residual = root_of(size) if problem.family == "cox" else max(size, root_of(size))
        null = self._null(opened, bits + FINER)
        near = near or last
        return Point((), null, bits + FINER, bits, last, size, residual, near)

    def _null(self, opened: Opened, grid: int) -> int:
        """One step of the model of a constant alone, where it has steps."""
        place = self.problem.layout.null
        if not self.problem.layout.offset or not self.problem.null_told:
            return 0
        curvature, slope = opened.values[place]
        if curvature <= 0:
            raise no_proof(self.problem)
        step = max(Fraction(-2), min(slope / curvature, Fraction(2)))
        return _rounded(opened.point.at.null + step, grid)

    def _at(self, beta: Sequence[Fraction], step: Sequence[Fraction], point: Point) -> Point:
        there = tuple(_rounded(b + x, point.grid) for b, x in zip(beta, step, strict=True))
        return replace(point, beta=there)


def _from_constant(
    opened: Opened, step: tuple[Fraction, ...], c: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, ...], Fraction]:
    """To the best constant and one step of Newton from there, by what is known at 0; and how many
    times larger v is there.

    Poisson: μ becomes q μ with q = Σwy/Σwμ, so that H is qH and the score g + (1 − q) Hc.
    Binomial without offset: with ȳ the share of events v is ȳ(1 − ȳ) everywhere instead of 1/4.
    """
    curved = [dot(row, c) for row in opened.hessian]
    weight, slope = dot(curved, c), dot(opened.score, c)
    if opened.problem.family == "poisson":
        q = (slope + weight) / weight if weight > 0 else Fraction(0)
        if q <= Fraction(1, 1 << 30):
            if opened.point.bits < MIDDLE:
                return step, Fraction(1)  # too few digits to tell
            raise no_events()
        moved = _log(q) + 1 / q - 1
        return tuple(x / q + moved * a for x, a in zip(step, c, strict=True)), q
    if opened.problem.layout.offset:
        return step, Fraction(1)
    share = Fraction(1, 2) + slope / (4 * weight)  # weight is Σw/4
    if not Fraction(1, 1 << 12) < share < 1 - Fraction(1, 1 << 12):
        return step, Fraction(1)  # too few digits to tell
    v = share * (1 - share)
    moved = _log(share / (1 - share)) + (Fraction(1, 2) - share) / v
    return tuple(x / (4 * v) + moved * a for x, a in zip(step, c, strict=True)), 4 * v


def no_events() -> DataError:
    return DataError("there are no events at all", hint="the outcome must vary")


def no_proof(problem: Problem) -> DataError:
    penalty = "a larger ridge penalty: alpha" if any(problem.alphas) else "a ridge penalty: alpha=1"
    if problem.family == "cox":
        return DataError(
            "the likelihood is monotone, or too ill-conditioned: it cannot be proven that a "
            "maximum partial likelihood estimate exists",
            hint="merge levels without events, leave out columns that tell who has the event next "
            f"or that are the same in all rows of a party, or add {penalty}",
        )
    hint = "merge levels that have events or non-events only, leave such columns out, or add "
    return DataError(
        "the data are separated, or too ill-conditioned: it cannot be proven that a maximum "
        "likelihood estimate exists",
        hint=hint + penalty,
    )


def _rounded(x: Fraction, grid: int) -> int:
    return round(x * (1 << grid))


def _log(x: Fraction) -> Fraction:
    from flint import arb, fmpq

    with working_precision(_PRECISION):
        near = fraction_of(arb(fmpq(x.numerator, x.denominator)).log().mid())
    return Fraction(round(near * (1 << 64)), 1 << 64)
