"""Linear functions of the coefficients, and tests that several of them have given values.

With R a matrix of exact numbers and V the covariance of the coefficients, ordinary or robust,

    d = R x̂ − q,   S = R V Rᵀ,   t_i = d_i / √S_ii,   F = dᵀ S⁻¹ d / m.

x̂ and V are in balls, so d and S are: of a robust V the ball of r V sᵀ follows from the norm of what
is not known of the meat, c · spread · ‖W r‖ ‖W s‖. The quadratic form is found by the very solver
that fits models: S is taken as the Gram matrix of m columns, d as their products with a response of
length 0, and then what is left of the response is −dᵀ S⁻¹ d, with all that rounding can do to it.
"""

# Rule 1: a test whose covariance is not provably regular is not defined (NaN), and not a number.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from titan.errors import InputError, RankError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.certified import certify
from titan.leastsquares.inference import PRECISION, compute
from titan.leastsquares.named import Quantity
from titan.leastsquares.pooled import PooledMoments, column_scales, integers
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb_mat

    from titan.leastsquares.regression import Regression

Matrix = Sequence[Sequence[Fraction]]
_DIGITS = 300
"""Binary digits after the point of S, once its diagonal is about one."""


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

    @cached_property
    def covariance(self) -> list[list[Ball]]:
        """S, for a fit that is not exact."""
        if self.fit.robust is not None:
            return self.fit.robust.of_contrasts(self.rows)
        with working_precision(PRECISION):
            left = _arb_matrix(self.rows)
            scale = self._scale.arb(PRECISION)
            whole = left * inverse_gram(self.fit) * left.transpose() * scale
            return _balls(whole)

    @property
    def _scale(self) -> Ball:
        scale = self.fit.residual_variance
        assert isinstance(scale, Ball)  # noqa: S101 - asked for where the fit is not exact
        return scale

    def standard_errors(self) -> list[Quantity]:
        if not isinstance(self.fit.residual_variance, Ball):
            return [self.fit.residual_variance] * len(self.rows)
        return [inference.root(row[j]) for j, row in enumerate(self.covariance)]

    def statistic(self, targets: Sequence[Fraction]) -> Quantity:
        """dᵀ S⁻¹ d; not defined where S may be singular."""
        away = [_less(ball, q) for ball, q in zip(self.values, targets, strict=True)]
        scale = self.fit.residual_variance
        if not isinstance(scale, Ball):
            differs = any(0 not in each for each in away)
            return math.inf if scale == 0 and differs else math.nan
        robust = self.fit.robust
        if robust is not None and robust.clusters is not None and len(away) >= robust.clusters:
            return math.nan  # the scores of G parties add up to zero: V has rank G − 1 at most
        return quadratic_form(self.covariance, away)


def quadratic_form(matrix: Sequence[Sequence[Ball]], vector: Sequence[Ball]) -> Quantity:
    """vᵀ S⁻¹ v of a symmetric S; NaN where S is not provably regular."""
    squares = [row[j].mid for j, row in enumerate(matrix)]
    if min(squares) <= 0:
        return math.nan
    scales, m = column_scales(squares), range(len(matrix))
    units = [Fraction(2) ** s for s in scales]
    balls = [[_times(matrix[j][k], 1 / (units[j] * units[k])) for k in m] for j in m]
    sides = [_times(ball, 1 / unit) for ball, unit in zip(vector, units, strict=True)]
    cut = Fraction(1, 1 << _DIGITS)
    moments = PooledMoments(
        names=tuple(map(str, m)),
        response="",
        rows=len(matrix),
        scales=(0,) * len(matrix),
        gram=integers([[round(ball.mid / cut) for ball in row] for row in balls]),
        denominator=1 << _DIGITS,
        rhs=tuple(ball.mid for ball in sides),
        bb=Fraction(0),
        gram_error=cut + max((balls[j][k].rad for j in m for k in m if j != k), default=0),
        diagonal_error=tuple(cut + balls[j][j].rad for j in m),
        rhs_error=tuple(ball.rad for ball in sides),
    )
    try:
        left = inference.residual_sum(certify(moments))
    except RankError:
        return math.nan
    return Ball(-left.mid, left.rad)


def check_independent(rows: Matrix) -> None:
    """Refuse hypotheses one of which follows from others, or denies them."""
    for count in range(1, len(rows) + 1):
        if _rank(rows) < len(rows) and _rank(rows[:count]) < count:
            many = "says nothing of any coefficient" if count == 1 else "depends on those before it"
            raise InputError(f"hypothesis {count} {many}", hint="leave it out")


def _rank(rows: Matrix) -> int:
    from flint import fmpq, fmpq_mat

    entries = [fmpq(value.numerator, value.denominator) for row in rows for value in row]
    return int(fmpq_mat(len(rows), len(rows[0]), entries).rank())


def inverse_gram(fit: Regression) -> arb_mat:
    """(AᵀA)⁻¹ in balls, in the units of the columns."""
    from flint import arb_mat

    k, certificate = len(fit.names), fit.certificate
    entries = [certificate.inverse(i, j).arb(PRECISION) for i in range(k) for j in range(k)]
    return arb_mat(k, k, entries)


def _arb_matrix(rows: Matrix) -> arb_mat:
    from flint import arb_mat

    entries = [Ball(value).arb(PRECISION) for row in rows for value in row]
    return arb_mat(len(rows), len(rows[0]), entries)


def _balls(matrix: arb_mat) -> list[list[Ball]]:
    return [[of_arb(entry) for entry in row] for row in matrix.tolist()]


def _dot(row: Sequence[Fraction], balls: Sequence[Ball]) -> Ball:
    pairs = [(r, ball) for r, ball in zip(row, balls, strict=True) if r]
    mid = sum((r * ball.mid for r, ball in pairs), Fraction(0))
    return Ball(mid, sum((abs(r) * ball.rad for r, ball in pairs), Fraction(0)))


def _less(ball: Ball, value: Fraction) -> Ball:
    return Ball(ball.mid - value, ball.rad)


def _times(ball: Ball, factor: Fraction) -> Ball:
    return Ball(ball.mid * factor, ball.rad * abs(factor))


def per_hypothesis(statistic: Quantity, count: int) -> Quantity:
    """F: the quadratic form over how many hypotheses there are."""
    if not isinstance(statistic, Ball):
        return statistic
    return compute(lambda s: s / count, statistic)
