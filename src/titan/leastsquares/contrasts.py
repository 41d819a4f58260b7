"""Linear functions of the coefficients, and tests that several of them have given values.

With R a matrix of exact numbers and V the covariance of the coefficients, ordinary or robust,

    d = R x̂ − q,   S = R V Rᵀ,   t_i = d_i / √S_ii,   F = dᵀ S⁻¹ d / m.

x̂ is in balls, so d is. In the coordinates of W (`whitening`), where AᵀA is the identity but for E,
‖E‖ ≤ η, what is not known of V is a matrix of small norm, whatever the columns. With L = R Wᵀ

    ordinary   S = σ̂² L(I+E)⁻¹Lᵀ    between σ̂² LLᵀ (1 ± η/(1−η))
    robust     S = c L(M' + N)Lᵀ     between c (L M'Lᵀ ± spread · LLᵀ)

in the order of matrices. If S lies between S̃ ± ε B, then with ρ = ε tr(S̃⁻¹B) < 1 it lies between
S̃ (1 ± ρ), and dᵀS⁻¹d between dᵀS̃⁻¹d / (1 ± ρ). S̃ and B are exact.
"""

# Rule 1: a test whose covariance is not provably regular is not defined (NaN), and not a number.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity
from titan.leastsquares.recombined import Matrix, rational
from titan.leastsquares.whitening import whiten
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import fmpz_mat

    from titan.leastsquares.regression import Regression
    from titan.leastsquares.robust import Robust

_DIGITS = 1024
"""Of S̃⁻¹: for columns that depend on each other to 300 decimal digits."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The rows of R at a fit."""

    fit: Regression
    rows: Matrix

    @cached_property
    def values(self) -> list[Ball]:
        """R x̂."""
        balls = self.fit.certificate.enclosures
        return [_dot(row, balls) for row in self.rows]

    def standard_errors(self) -> list[Quantity]:
        if self.fit.robust is not None:
            return [inference.root(ball) for ball in self.fit.robust.variances(self.rows)]
        scale = self.fit.scale_ball
        if not isinstance(scale, Ball):
            return [scale] * len(self.rows)
        squares = [compute(lambda s, v: s * v, scale, self._square(row)) for row in self.rows]
        return [inference.root(square) for square in squares]

    def _square(self, row: Sequence[Fraction]) -> Ball:
        """r (AᵀA)⁻¹ rᵀ."""
        inverse, there = self.fit.certificate.inverse, [j for j, r in enumerate(row) if r]
        return _sum([(row[j] * row[k], inverse(j, k)) for j in there for k in there])

    def statistic(self, targets: Sequence[Fraction]) -> Quantity:
        """dᵀ S⁻¹ d; not defined where S may be singular."""
        pairs = zip(self.values, targets, strict=True)
        away = [Ball(ball.mid - q, ball.rad) for ball, q in pairs]
        scale, robust = self.fit.scale_ball, self.fit.robust
        if not isinstance(scale, Ball):
            differs = any(0 not in each for each in away)
            return math.inf if scale == 0 and differs else math.nan
        if robust is None:
            return self._ordinary(away, scale)
        if robust.clusters is not None and len(away) >= robust.clusters:
            return math.nan  # the scores of G parties add up to zero: V has rank G − 1 at most
        return self._robust(away, robust)

    def _ordinary(self, away: Sequence[Ball], scale: Ball) -> Quantity:
        whitening = whiten(self.fit.moments)
        eta = whitening.distance(self.fit.moments)
        if eta >= Fraction(1, 2):
            return math.nan
        left, one = whitening.images(self.rows)
        bread = left * left.transpose()
        form = _quadratic(bread, bread, eta / (1 - eta), away)
        if form is None:
            return math.nan
        return compute(lambda q, s, u: q / (s * u * u), form, scale, Ball(one))

    def _robust(self, away: Sequence[Ball], robust: Robust) -> Quantity:
        from flint import fmpz_mat

        left, one = robust.images(self.rows)
        meat = left * fmpz_mat(robust.meat.tolist()) * left.transpose()
        unit = robust.agreed.unit
        form = _quadratic(meat, left * left.transpose(), robust.spread / unit, away)
        if form is None:
            return math.nan
        scale = Ball(unit * robust.correction * one * one)
        return compute(lambda q, s: q / s, form, scale)


def _quadratic(
    matrix: fmpz_mat, bread: fmpz_mat, epsilon: Fraction, away: Sequence[Ball]
) -> Ball | None:
    """dᵀ S⁻¹ d for an S between S̃ ± ε B; None where it may be singular."""
    from flint import arb, arb_mat

    with working_precision(_DIGITS):
        try:
            inverse = arb_mat(matrix).inv()
        except ZeroDivisionError:
            return None
        product = inverse * arb_mat(bread)
        share = Ball(epsilon).arb(_DIGITS) * sum(product[j, j] for j in range(len(away)))
        d = arb_mat(len(away), 1, [ball.arb(_DIGITS) for ball in away])
        form = (d.transpose() * (inverse * d))[0, 0]
        if not (share < 1 and form.is_finite()):
            return None
        bound = share.upper() / (1 - share.upper())
        return of_arb(form * arb(1, bound.upper()))


def check_independent(rows: Matrix) -> None:
    """Refuse hypotheses one of which follows from others, or denies them."""
    if not rows:
        raise InputError("there is no hypothesis", hint="name one, as 'age = 0'")
    if _rank(rows) == len(rows):
        return
    for count in range(1, len(rows) + 1):
        if _rank(rows[:count]) < count:
            many = "says nothing of any coefficient" if count == 1 else "depends on those before it"
            raise InputError(f"hypothesis {count} {many}", hint="leave it out")


def _rank(rows: Matrix) -> int:
    return int(rational(rows).rank())


def _dot(row: Sequence[Fraction], balls: Sequence[Ball]) -> Ball:
    return _sum([(r, ball) for r, ball in zip(row, balls, strict=True) if r])


def _sum(terms: Sequence[tuple[Fraction, Ball]]) -> Ball:
    mid = sum((r * ball.mid for r, ball in terms), Fraction(0))
    return Ball(mid, sum((abs(r) * ball.rad for r, ball in terms), Fraction(0)))


def per_hypothesis(statistic: Quantity, count: int) -> Quantity:
    """F: the quadratic form over how many hypotheses there are."""
    if not isinstance(statistic, Ball):
        return statistic
    return compute(lambda s: s / count, statistic)
