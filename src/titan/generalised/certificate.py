"""From one step's pooled score and Hessian: does the estimate exist, and where does it lie?

Let f be the negative log-likelihood (and penalty), β the point of the step, g = −∇f and H = ∇²f
there, ‖u‖² = uᵀHu. For both families |b‴| ≤ b″, so along any line d log f″/ds is at most
M = max ‖a‖ in H⁻¹ over all rows a, times the speed in ‖·‖ (Bach 2010, lemma 1). Hence, with
λ = ‖g‖ in H⁻¹:

1. If λM < 1, f has a minimum β*, only one, and ‖β* − β‖ ≤ t = −log(1 − λM)/M: at s > t along any
   unit vector f′ ≥ −λ + (1 − e^(−Ms))/M > 0. Where data are separated there is none, so λM ≥ 1.
2. ‖β* − β − H⁻¹g‖ ≤ t ψ(Mt), ψ(x) = (eˣ − 1)/x − 1: one step of Newton is that near.
3. e^(−Mt) H ≤ H(β*) ≤ e^(Mt) H, for the standard errors; f(β) − f(β*) ≤ λt, for the likelihood.

Known are H̃ and g̃, off by E and ε in each entry of scaled columns: rounding and evaluation. With
R = H̃⁻¹ and θ = E Σ|R|: if θ < 1, then H̃ is positive definite as H is, H ≥ (1 − θ)H̃, and

    λ ≤ (√(g̃ᵀRg̃) + ε√(Σ|R|)) / √(1 − θ)          M ≤ max ‖a‖ in R / √(1 − θ)
    |cᵀ(H⁻¹g − Rg̃)| ≤ ‖Rc‖₁ (ε + E (‖Rg̃‖₁ + εΣ|R|)/(1 − θ))     for any combination c
    |cᵀ(H⁻¹ − R)c| ≤ E ‖Rc‖₁² / (1 − θ)

Rows are Ta with a in a box m ± d, so max ‖Ta‖ ≤ ‖Tm‖ + √(Σ |TᵀRT|_jk d_j d_k). The derivation at
length is in docs/glm.md.
"""

# Rule 1: rational arithmetic alone, roots and quotients rounded outwards: the same everywhere.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any

from titan.leastsquares.balls import Ball

if TYPE_CHECKING:
    from flint import fmpq_mat

_ROOT_BITS = 96
_E_LESS_2 = Fraction(71829, 100_000)  # above e − 2
Box = Sequence[tuple[Fraction, Fraction]]


class SingularError(Exception):
    """A matrix without an inverse."""


@dataclass(frozen=True, eq=False)
class Inverse:
    """R = H̃⁻¹ in whole multiples of 2^-places, each within one of the truth."""

    numbers: tuple[tuple[int, ...], ...] = field(repr=False)
    places: int

    @classmethod
    def of(cls, matrix: Sequence[Sequence[Fraction]], places: int) -> Inverse:
        from flint import fmpq, fmpq_mat

        n = len(matrix)
        entries = [fmpq(x.numerator, x.denominator) for row in matrix for x in row]
        try:
            inverse: fmpq_mat = fmpq_mat(n, n, entries).inv()
        except ZeroDivisionError:
            raise SingularError from None
        one = 1 << places

        def cut(q: Any) -> int:
            return int(q.p) * one // int(q.q)

        table = inverse.tolist()
        return cls(tuple(tuple(cut(q) for q in row) for row in table), places)

    @cached_property
    def total(self) -> Fraction:
        """Σ|R|, rounded up."""
        n = len(self.numbers)
        return self._up(sum(abs(x) for row in self.numbers for x in row) + n * n)

    def times(self, vector: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """R v, but for `slack` in each."""
        rows = (sum((x * v for x, v in zip(row, vector, strict=True)), Fraction(0))
                for row in self.numbers)  # fmt: skip
        return tuple(x / (1 << self.places) for x in rows)

    def slack(self, vector: Sequence[Fraction]) -> Fraction:
        return sum(map(abs, vector), Fraction(0)) * self._up(1)

    def length(self, vector: Sequence[Fraction]) -> Fraction:
        """√(vᵀRv), rounded up."""
        pairs = zip(vector, self.times(vector), strict=True)
        size = sum(map(abs, vector), Fraction(0))
        return root_up(max(sum((a * b for a, b in pairs), Fraction(0)), Fraction(0))
                       + size * self.slack(vector))  # fmt: skip

    def largest(self, box: Box, transform: Sequence[Sequence[Fraction]]) -> Fraction:
        """max ‖Ta‖ over a in the box, rounded up."""
        centre = [(low + high) / 2 for low, high in box]
        half = [(high - low) / 2 for low, high in box]
        rows = list(zip(*transform, strict=True))  # each the image of one column
        middle = [sum((t * x for t, x in zip(row, centre, strict=True)), Fraction(0))
                  for row in transform]  # fmt: skip
        wide = [j for j, d in enumerate(half) if d]
        images = {j: self.times(rows[j]) for j in wide}
        sizes = {j: sum(map(abs, rows[j]), Fraction(0)) for j in wide}
        around = Fraction(0)
        for j in wide:
            for k in wide:
                entry = sum((t * x for t, x in zip(rows[j], images[k], strict=True)), Fraction(0))
                around += half[j] * half[k] * (abs(entry) + sizes[j] * sizes[k] * self._up(1))
        return self.length(middle) + root_up(around)

    def _up(self, number: int) -> Fraction:
        return Fraction(number, 1 << self.places)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proven of β*, given one step."""

    inverse: Inverse = field(repr=False)
    step: tuple[Fraction, ...] = field(repr=False)
    """Rg̃: β and this together are the estimate."""
    theta: Fraction
    decrement: Fraction
    """λ at most."""
    reach: Fraction
    """M at most."""
    distance: Fraction
    """t: how far β is from β* at most, in the norm of H."""
    slack: Fraction = field(repr=False)
    """How far each of `step` is from Rg̃."""
    hessian_error: Fraction = field(repr=False)
    score_error: Fraction = field(repr=False)

    def bound(self, c: Sequence[Fraction]) -> Fraction:
        """|cᵀ(β* − β − Rg̃)| at most."""
        return _short(self._rounding(c) + self._beyond(c))

    def variance(self, c: Sequence[Fraction]) -> Ball:
        """cᵀ H(β*)⁻¹ c."""
        image = self.inverse.times(c)
        size = sum(map(abs, c), Fraction(0))
        near = self.inverse.slack(c)
        mid = sum((a * b for a, b in zip(c, image, strict=True)), Fraction(0))
        length = sum(map(abs, image), Fraction(0)) + len(c) * near
        rounding = near * size + self.hessian_error * length * length / (1 - self.theta)
        rad = rounding + (mid + rounding) * self.growth
        return Ball(mid, _short(rad))

    @property
    def settled(self) -> bool:
        """Whether a further step would make no bound much smaller."""
        n = len(self.step)
        units = ([Fraction(int(j == k)) for k in range(n)] for j in range(n))
        return all(self._beyond(c) <= self._rounding(c) for c in units)

    @property
    def growth(self) -> Fraction:
        """e^(Mt) − 1 at most."""
        x = self.reach * self.distance
        return x + _E_LESS_2 * x * x

    @property
    def distance_of_estimate(self) -> Fraction:
        """‖β* − β − Rg̃‖ in H̃ at most: ‖H⁻¹g − Rg̃‖² = rᵀRr with r = H̃(H⁻¹g − Rg̃), and t ψ(Mt)."""
        rounding = self._of_entry * root_up(self.inverse.total)
        return _short(rounding + self._further)

    def _rounding(self, c: Sequence[Fraction]) -> Fraction:
        n, R = len(c), self.inverse
        size = sum(map(abs, c), Fraction(0))
        image = sum(map(abs, R.times(c)), Fraction(0)) + n * R.slack(c)
        return image * self._of_entry + size * self.slack

    @property
    def _of_entry(self) -> Fraction:
        """Every entry of H̃(H⁻¹g − Rg̃) = (g − g̃) − (H − H̃)H⁻¹g at most."""
        length = sum(map(abs, self.step), Fraction(0)) + len(self.step) * self.slack
        longest = (length + self.score_error * self.inverse.total) / (1 - self.theta)
        return self.score_error + self.hessian_error * longest

    def _beyond(self, c: Sequence[Fraction]) -> Fraction:
        """t ψ(Mt) times ‖c‖ in H⁻¹."""
        return self._further * self.inverse.length(c)

    @property
    def _further(self) -> Fraction:
        """t ψ(Mt), where ψ(x) ≤ (e − 2) x for x ≤ 1, from the norm of H to that of H̃."""
        psi = _E_LESS_2 * self.reach * self.distance
        return self.distance * psi * root_up(1 / (1 - self.theta))


def certify(
    hessian: Sequence[Sequence[Fraction]],
    score: Sequence[Fraction],
    box: Box,
    transform: Sequence[Sequence[Fraction]],
    *,
    hessian_error: Fraction,
    score_error: Fraction,
    places: int,
) -> Certificate | None:
    """None where λM < 1, or Mt ≤ 1, cannot be shown. Rows are T a with a in the box."""
    try:
        R = Inverse.of(hessian, places)
    except SingularError:
        return None
    theta = hessian_error * R.total
    if theta >= 1:
        return None
    shrink = root_up(1 / (1 - theta))
    decrement = (R.length(score) + score_error * root_up(R.total)) * shrink
    reach = R.largest(box, transform) * shrink
    x = decrement * reach
    if x >= 1:
        return None
    # −log(1 − x) ≤ x + x²/2 + x³/(3(1 − x))
    distance = _short(decrement * (1 + x / 2 + x * x / (3 * (1 - x))))
    if reach * distance > 1:
        return None
    step, slack = R.times(score), R.slack(score)
    errors = slack, hessian_error, score_error
    return Certificate(R, step, theta, decrement, reach, distance, *errors)


def root_up(square: Fraction) -> Fraction:
    """√ rounded up, to about 96 bits."""
    if square <= 0:
        return Fraction(0)
    size = square.numerator.bit_length() - square.denominator.bit_length()
    places = max(0, _ROOT_BITS - size // 2)
    return Fraction(isqrt((square.numerator << 2 * places) // square.denominator) + 1, 1 << places)


def _short(bound: Fraction) -> Fraction:
    """Rounded up to about 64 bits, so that fractions do not grow."""
    if not bound:
        return bound
    places = 64 - (bound.numerator.bit_length() - bound.denominator.bit_length())
    scaled = bound * Fraction(2) ** places
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** places
