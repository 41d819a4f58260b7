"""Standard errors without equal variances (HC0), or with dependence inside each party (cluster).

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   e = b − A x̂,   x̂ the solution, rounded,

    HC0      M = Σ_rows e_r² a_r a_rᵀ              c = 1
    cluster  M = Σ_parties s_p s_pᵀ, s_p = A_pᵀe_p   c = G/(G−1) · (N−1)/(N−K), G parties

as statsmodels has them; with weights w the vectors e a become w e a.

M itself is sums of fourth powers of what the rows hold, and to the last digit it tells every one
of them; of few parties, lattice reduction finds the summands. So each party adds its part of
M' = W M Wᵀ instead, W the inverse Cholesky factor of the pooled AᵀA (`whitening`), rounded to a
unit of 2^-bits of a typical entry: of the diagonal's mean is about ‖e‖²/N. Nothing is lost by W, as
V = c · WᵀM'W, and all entries have the same relative precision. The sum's size is known before: a
row's image W a is at most 1 long, so that |M'_jk| ≤ ‖b − A x̂‖² for both kinds.

x̂, W and the unit follow from the pooled moments by integers alone, so that they are the same at
every party. x̂ is rounded where that moves no residual by more than 2^-56 of ‖e‖.

How far V can be from the truth is proven. With E = W G Wᵀ − I for the true G and ‖E‖ ≤ η < 1,
V/c = Wᵀ(I+E)⁻¹M'(I+E)⁻¹W. Every entry of M' is within parties · unit/2 (rounding) and
(2‖e‖ + d) d / (1−η) (as M' belongs to x̂, d ≥ ‖A(x̂ − x)‖) of what was opened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from titan import canonical
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball, nearest
from titan.leastsquares.bounds import Floats
from titan.leastsquares.certified import Certificate
from titan.leastsquares.pooled import (
    Integers,
    PooledMoments,
    column_scales,
    integers,
    symmetric,
)
from titan.leastsquares.whitening import Whitening, eliminate, whiten

CovType = Literal["nonrobust", "HC0", "cluster"]

RING_BITS = 48
"""Of the ring of M' beyond `bits`: for 2^40 rows, the sign, and 7 to spare."""
_SPARE_BITS = 56
_WALD_DIGITS = 1024


def clusters_hidden(parties: int, tau: int, coefficients: int) -> bool:
    """Whether the vectors s_p of those outside a coalition of τ are more than M can tell apart.

    They add up to what the coalition knows, so that m − τ − 1 are free; M is their Gram matrix, and
    where it has as many rows as there are of them it tells all of them, up to a rotation.
    """
    return parties - tau - 1 > coefficients


@dataclass(frozen=True, eq=False)
class Agreed:
    """What everybody makes of the pooled moments before the sum of M'."""

    whitening: Whitening
    x: tuple[Fraction, ...]
    """x̂, whose residuals all parties take."""
    residual_sum: Fraction
    """‖b − A x̂‖², by the pooled moments."""
    unit: Fraction
    """Of M', a power of two."""

    @classmethod
    def of(cls, moments: PooledMoments, bits: int) -> Agreed:
        """For a fit that is not exact: there is a residual to speak of."""
        assert moments.bb is not None  # noqa: S101 - it is released with inference
        whitening, g = whiten(moments), list(moments.rhs)
        along = whitening.image(g)
        explained = sum((value**2 for value in along), Fraction(0))
        t = _half_exponent(max(moments.bb - explained, moments.bb / (1 << 2 * _SPARE_BITS)))
        unit = Fraction(2) ** (t - _SPARE_BITS - len(g).bit_length())
        scaled = [round(value / unit) * unit for value in whitening.transposed(along)]
        residual = _residual(moments, scaled)
        pairs = zip(scaled, moments.scales, strict=True)
        x = tuple(value / Fraction(2) ** s for value, s in pairs)
        typical = _exponent(residual / max(moments.rows, 1))
        return cls(whitening, x, residual, Fraction(2) ** (typical - bits))


def _residual(moments: PooledMoments, scaled: list[Fraction]) -> Fraction:
    """bᵀb − 2x̂ᵀg + x̂ᵀGx̂, exactly."""
    common = math.lcm(*(value.denominator for value in scaled))
    whole = integers([value.numerator * (common // value.denominator) for value in scaled])
    square = Fraction(int(whole.dot(moments.gram).dot(whole)), common**2 * moments.denominator)
    along = sum((x * g for x, g in zip(scaled, moments.rhs, strict=True)), Fraction(0))
    return (moments.bb or 0) - 2 * along + square


def _half_exponent(square: Fraction) -> int:
    (t,) = column_scales([square])
    return t


def _exponent(number: Fraction) -> int:
    """⌊log2⌋ of a positive number, or one less."""
    return number.numerator.bit_length() - number.denominator.bit_length() - 1


@dataclass(frozen=True, eq=False)
class Robust:
    """The covariance V of the coefficients from the pooled meat."""

    certificate: Certificate = field(repr=False)
    agreed: Agreed = field(repr=False)
    meat: Integers = field(repr=False)
    """M' in units of `agreed.unit`."""
    bits: int
    """Of a typical entry of M'."""
    parties: int
    """How many have rounded their part of it."""
    clusters: int | None = None
    """G, where the parties are clusters."""

    def to_state(self) -> dict[str, Any]:
        meat = canonical.triangle_text(self.meat.tolist())
        numbers = {"bits": self.bits, "parties": self.parties, "clusters": self.clusters}
        return {"meat": meat, **numbers}

    @classmethod
    def from_state(cls, state: object, certificate: Certificate) -> Robust:
        found = canonical.keys(state, ("meat", "bits", "parties", "clusters"))
        n, clusters = len(certificate.moments.names), found["clusters"]
        bits = canonical.whole(found["bits"], 1, canonical.MOST_EXPONENT)
        agreed = Agreed.of(certificate.moments, bits)
        meat = symmetric(n, canonical.read_triangle(found["meat"], n))
        if np.abs(meat).max() * agreed.unit > 2 * agreed.residual_sum:
            raise ValueError("its robust errors are larger than its residuals")
        clusters = None if clusters is None else canonical.whole(clusters, 2)
        parties = canonical.whole(found["parties"], 1)
        return cls(certificate, agreed, meat, bits, parties, clusters)

    @property
    def _correction(self) -> Fraction:
        """c."""
        k, rows, groups = len(self.meat), self.certificate.moments.rows, self.clusters
        if groups is None:
            return Fraction(1)
        return Fraction(groups, groups - 1) * Fraction(rows - 1, rows - k)

    @cached_property
    def scaled(self) -> list[list[Fraction]]:
        """WᵀM'W · c: V in units of the scaled columns."""
        from flint import fmpz_mat

        left = self.agreed.whitening.flint()
        product = left.transpose() * fmpz_mat(self.meat.tolist()) * left
        unit = self._correction * self.agreed.unit / (1 << 2 * self.agreed.whitening.digits)
        k = range(len(self.meat))
        return [[int(product[i, j]) * unit for j in k] for i in k]

    @cached_property
    def spread(self) -> Fraction:
        """How far, in the norm, (I+E)⁻¹M'(I+E)⁻¹ may be from the meat; inf where nobody knows."""
        moments, whitening, k = self.certificate.moments, self.agreed.whitening, len(self.meat)
        error = max(moments.gram_error, *moments.diagonal_error)
        eta = k * (whitening.defect + error * whitening.reach() ** 2)
        if eta >= 1:
            return self.agreed.residual_sum * (1 << 64)
        triples = zip(self.certificate.enclosures, self.agreed.x, moments.scales, strict=True)
        moved = sum(
            ((abs(ball.mid - x) + ball.rad) * Fraction(2) ** s for ball, x, s in triples),
            Fraction(0),
        )
        root = Fraction(2) ** _half_exponent(self.agreed.residual_sum)
        entry = self.parties * self.agreed.unit / 2 + (2 * root + moved) * moved / (1 - eta)
        trace = int(np.trace(self.meat)) * self.agreed.unit
        return k * entry + (trace + k * entry) * (1 / (1 - eta) ** 2 - 1)

    def standard_error(self, j: int) -> Ball:
        """√V_jj in the column's unit."""
        column = self.agreed.whitening.matrix[:, j]
        length = Fraction(int((column * column).sum()), 1 << 2 * self.agreed.whitening.digits)
        unit = Fraction(4) ** -self.certificate.moments.scales[j]
        radius = length * self.spread * self._correction
        return inference.root(Ball(self.scaled[j][j] * unit, radius * unit))

    def covariance(self) -> Floats:
        """V in the units of the columns."""
        units = integers([Fraction(2) ** -s for s in self.certificate.moments.scales])
        whole = integers(self.scaled) * np.multiply.outer(units, units)
        return np.array([[nearest(v) for v in row] for row in whole])

    # -- Wald's test that all coefficients but the constant are zero -------------------------------

    def fvalue(self, constant: int | None) -> float:
        """F, not defined (NaN) where the covariance of the coefficients tested is singular."""
        tested = [j for j in range(len(self.meat)) if j != constant]
        if not tested or (self.clusters is not None and len(tested) >= self.clusters):
            return math.nan  # the scores of G parties add up to zero: V has rank G − 1 at most
        solved = self._solved(tested)
        return math.nan if solved is None else solved / len(tested)

    def _solved(self, tested: list[int]) -> float | None:
        """x̂ᵀV⁻¹x̂ over some coefficients; None where V may be singular.

        That is where V less the spread, V − c · spread · WᵀW, is not positive.
        """
        whitening, at = self.agreed.whitening, np.ix_(tested, tested)
        columns = whitening.matrix[:, tested]
        bread = columns.T.dot(columns) * Fraction(1, 1 << 2 * whitening.digits)
        whole = integers(self.scaled)[at]
        for matrix in (whole - bread * (self.spread * self._correction), whole):
            units = [Fraction(2) ** -_half_exponent(square) for square in np.diagonal(whole)]
            by = np.multiply.outer(integers(units), integers(units)) * (1 << _WALD_DIGITS)
            found = eliminate(np.vectorize(int, [object])(matrix * by), _WALD_DIGITS)
            if len(found) < len(tested):
                return None
        scales = self.certificate.moments.scales
        x = [self.agreed.x[j] * Fraction(2) ** scales[j] for j in tested]
        fixed = integers([int(v * u * (1 << _WALD_DIGITS)) for v, u in zip(x, units, strict=True)])
        return nearest(Fraction(int((found.dot(fixed) ** 2).sum()), 1 << 4 * _WALD_DIGITS))

    def f_pvalue(self, f: float, tested: int, df_resid: int) -> float:
        from scipy.special import fdtrc

        freedom = df_resid if self.clusters is None else self.clusters - 1
        return math.nan if math.isnan(f) else float(fdtrc(tested, freedom, f))


# -- the normal distribution, in place of Student's: statsmodels' choice for robust errors -------


def normal_two_sided(z: float) -> float:
    """P(|Z| > |z|)."""
    from scipy.special import erfc

    return float(erfc(abs(z) / math.sqrt(2)))


def normal_quantile(alpha: float) -> float:
    """z with P(|Z| > z) = alpha."""
    from scipy.special import ndtri

    return -float(ndtri(alpha / 2))
