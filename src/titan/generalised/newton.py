"""Newton's method on pooled sums: from one step's totals to where the next one is taken.

Everybody follows the same public rules and so holds the same bits:

start     β = 0. With a constant in the model the first step goes to the best constant and one step
          of Newton further: at that point all μ are known multiples of those at 0.
step      β + H⁻¹g, rounded to a grid. Where Δη would be large on average it is cut; where the next
          score shows that it went far beyond the maximum, a quarter of it is taken.
digits    entries are opened to 16 bits of their range; to 24 once λ ≤ 1/8; to all that was agreed
          once λ² is so small that the next step may be the last. That step tells the statistics.
end       a proof (`certificate`) from a step with all digits. No proof after the last step, or a
          Hessian that may be singular: there is no answer.

The range of an entry: columns are made orthonormal by a public matrix T, so that Σ w a² ≤ 1, and
v ≤ 1/4 for logistic regression; so entries of H lie within 1/4 and those of the score within √Σw.
Near the maximum (λ ≤ 1/8) the score is within its standard errors, √v ≤ 1/2. Poisson's μ has no
such bound. There κ, a power of two above the average μ so far, takes the place of 1/4; sums far
beyond are told as such.
"""

# Rule 1: rational arithmetic; what logarithms estimate is rounded to the grid.
# Rule 2: nothing here knows a row.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from titan.errors import DataError
from titan.generalised.certificate import Certificate, Inverse, SingularError, certify
from titan.generalised.families import FamilyName
from titan.generalised.rows import SHIFT, At, Layout, Totals
from titan.leastsquares.balls import fraction_of
from titan.moments.precision import working_precision

EARLY, MIDDLE = 16, 24
EXACT = 96
GUARD = 24
"""An entry may be 2^GUARD times its range before it is told as being beyond it."""
MOST_STEPS = 22
_STEPS_WITHOUT_PROOF = 12
"""After so many steps λM must be below 1."""
_FINER = 14
_FAR = {"binomial": Fraction(4), "poisson": Fraction(2)}
_NEAR, _NEARER = Fraction(1, 64), Fraction(1, 1 << 20)  # of λ²
_PRECISION = 192


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
    """Where entries of scaled rows, before T, can lie."""
    constant: tuple[Fraction, ...] | None = None
    """c with Ac = 1 but for rounding, for transformed columns: the start alone rests on it."""
    alphas: tuple[Fraction, ...] = ()
    """The penalty of each scaled column's coefficient, before T; none without one."""
    first: int = 0
    """The power of two above |y − μ| and μ at β = 0."""

    @property
    def family(self) -> FamilyName:
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
        return tuple(tuple(_dot(row, other) for other in self.transform) for row in rows)

    def combination(self, j: int) -> tuple[Fraction, ...]:
        """c with which coefficient j of the columns as they are is cᵀβ."""
        scale = Fraction(2) ** self.scales[j]
        return tuple(row[j] / scale for row in self.transform)

    def begin(self) -> Point:
        binomial = self.family == "binomial"
        size = -2 if binomial else self.first
        bits = min(EARLY if binomial else MIDDLE, self.bits)
        # at β = 0 the outcome alone is within `first`, later it is near its mean
        return Point((0,) * self.columns, 0, bits + _FINER, bits, False, size, self.first)


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

    @property
    def at(self) -> At:
        """For a party's own sums."""
        one = 1 << self.grid
        beta = tuple(Fraction(b, one) for b in self.beta)
        return At(beta, Fraction(self.null, one), self.last, self.last, self.bits > MIDDLE)

    def units(self, problem: Problem) -> tuple[int, ...]:
        """For each entry the power of two that 1 stands for."""
        layout, weight = problem.layout, _log2(problem.weight)
        far = (weight + 1) // 2 + self.residual
        near = (self.size + 1) // 2 + 1
        found = [self.size - self.bits] * layout.hessian.stop
        found += [
            (near if self.bits >= MIDDLE and any(self.beta) else far) - self.bits
        ] * layout.columns
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
        near = all(e <= 2.0 ** (u - 1) for e, u in zip(totals.errors, units, strict=True))
        if totals.overflow or any(abs(n) >= self.cap for n in numbers[: layout.of_step]):
            beyond = [0] * layout.entries
            for j in range(layout.columns):
                beyond[j * (j + 3) // 2] = self.cap
            return beyond, True
        return [max(-self.cap, min(n, self.cap)) for n in numbers], near


@dataclass(frozen=True)
class Tried:
    """The step that led to where the next one is taken."""

    beta: tuple[Fraction, ...]
    step: tuple[Fraction, ...]
    slope: Fraction
    """g · step: how fast the likelihood rose at its beginning."""


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
        return tuple(g - _dot(row, self.beta) for g, row in zip(own, penalty, strict=True))

    @property
    def beyond(self) -> bool:
        """Whether some party's sums were beyond all range."""
        diagonal = [self.totals[j * (j + 3) // 2] for j in range(self.problem.columns)]
        return any(n >= self.point.cap for n in diagonal)

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


@dataclass(frozen=True)
class Newton:
    """How far all are: where the next step is taken, or that it was the last."""

    problem: Problem
    point: Point
    steps: int = 0
    tried: Tried | None = field(default=None, repr=False)
    fit: Opened | None = field(default=None, repr=False)
    """The step that gave a proof."""
    inverse: Inverse | None = field(default=None, repr=False, compare=False)
    """Of the Hessian at `looked_at`: for the leverage of own rows."""
    looked_at: tuple[Fraction, ...] = field(default=(), repr=False)

    @classmethod
    def begin(cls, problem: Problem) -> Newton:
        return cls(problem, problem.begin())

    def learn(self, totals: Sequence[int]) -> Newton:
        """After a step's totals; DataError where no proof will come."""
        problem, point = self.problem, self.point
        opened = Opened(problem, point, tuple(totals))
        after = replace(self, steps=self.steps + 1)
        if opened.beyond or self._overshot(opened):
            return after._shorter()
        try:
            R = Inverse.of(opened.hessian, point.bits + 64)
        except SingularError:
            R = None
        unit = Fraction(2) ** point.units(problem)[0]
        if R is None or problem.parties * unit * R.total >= Fraction(1, 2):
            return after._finer()
        proof = opened.certificate if point.last else None
        if proof is not None and (proof.settled or after.steps >= MOST_STEPS):
            return replace(after, fit=opened)
        return after._next(opened, R)

    def _overshot(self, opened: Opened) -> bool:
        if self.tried is None:
            return False
        slope = _dot(opened.score, self.tried.step)
        return slope < -self.tried.slope and slope < -Fraction(1, 4)

    def _shorter(self) -> Newton:
        """A quarter of the step that went too far."""
        if self.tried is None or self.steps >= MOST_STEPS:
            raise no_proof(self.problem)
        step = tuple(x / 4 for x in self.tried.step)
        tried = replace(self.tried, step=step, slope=self.tried.slope / 4)
        return replace(self, point=self._at(self.tried.beta, step, self.point), tried=tried)

    def _finer(self) -> Newton:
        """The Hessian may be singular as far as its digits tell: once more with more of them."""
        if self.point.bits >= self.problem.bits or self.steps >= MOST_STEPS:
            raise no_proof(self.problem)
        bits = MIDDLE if self.point.bits < MIDDLE < self.problem.bits else self.problem.bits
        shift = bits - self.point.bits
        beta = tuple(b << shift for b in self.point.beta)
        point = replace(self.point, beta=beta, null=self.point.null << shift,
                        grid=self.point.grid + shift, bits=bits)  # fmt: skip
        return replace(self, point=point)

    def _next(self, opened: Opened, R: Inverse) -> Newton:
        problem = self.problem
        step = R.times(opened.score)
        square = max(_dot(step, opened.score), Fraction(0))
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
        slope = _dot(step, opened.score)
        point = self._digits(opened, square, times)
        return replace(
            self,
            point=self._at(opened.beta, step, point),
            tried=Tried(opened.beta, step, slope) if slope > 0 else None,
            inverse=R,
            looked_at=opened.beta,
        )

    def _cut(self, step: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """Shorter, where Δη would be large on average."""
        square = _dot(step, step) / self.problem.weight  # AᵀA is nearly the identity
        far = _FAR[self.problem.family]
        while square > far * far:
            step, square = tuple(x / 2 for x in step), square / 4
        return step

    def _digits(self, opened: Opened, square: Fraction, times: Fraction) -> Point:
        """How the next step is opened, from λ² of this one."""
        problem, point = self.problem, opened.point
        bits = min(problem.bits, EARLY if square > _NEAR else MIDDLE)
        if square <= _NEARER:
            bits = problem.bits
        last = square <= Fraction(1, 1 << (problem.bits // 2 + 2))
        if last:
            bits = problem.bits
        size, residual = point.size, point.residual
        if problem.family == "poisson":
            average = max(row[j] for j, row in enumerate(opened.hessian)) * times
            size = max(-40, min(_log2(average) + 1, 60))
            residual = max(size, -(-size // 2))
        null = self._null(opened, bits + _FINER)
        return Point((), null, bits + _FINER, bits, last, size, residual)

    def _null(self, opened: Opened, grid: int) -> int:
        """One step of the model of a constant alone, where it has steps."""
        place = self.problem.layout.null
        if not self.problem.layout.offset:
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
    curved = [_dot(row, c) for row in opened.hessian]
    weight, slope = _dot(curved, c), _dot(opened.score, c)
    if opened.problem.family == "poisson":
        q = (slope + weight) / weight if weight > 0 else Fraction(0)
        if q <= Fraction(1, 1 << 30):
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
    hint = "merge levels that have events or non-events only, leave such columns out, or add a "
    hint += "ridge penalty: alpha=1"
    return DataError(
        "the data are separated, or too ill-conditioned: it cannot be proven that a maximum "
        "likelihood estimate exists",
        hint=hint,
    )


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _rounded(x: Fraction, grid: int) -> int:
    return round(x * (1 << grid))


def _log2(x: Fraction) -> int:
    """The least power of two that is not below, as its exponent; -40 of nothing."""
    if x <= 0:
        return -40
    power = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** power < x:
        power += 1
    return power


def _log(x: Fraction) -> Fraction:
    from flint import arb, fmpq

    with working_precision(_PRECISION):
        near = fraction_of(arb(fmpq(x.numerator, x.denominator)).log().mid())
    return Fraction(round(near * (1 << 64)), 1 << 64)
