"""Standard errors without equal variances (HC0), or with dependence inside each party (cluster).

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   e = b − A x̂,   x̂ the solution, rounded,

    HC0      M = Σ_rows e_r² a_r a_rᵀ              c = 1
    cluster  M = Σ_parties s_p s_pᵀ, s_p = A_pᵀe_p   c = G/(G−1) · (N−1)/(N−K), G parties

as statsmodels has them; with weights w the vectors e a become w e a. M is one further private sum.
Its size is known before: |a_rj| ≤ 2^s_j for the scales s_j of the columns, so by Cauchy–Schwarz

    |M_jk| ≤ 2^(s_j + s_k) · ‖b − A x̂‖² ≤ 2^(s_j + s_k) · 4^t

for both kinds, and M_jk / 2^(s_j + s_k + 2t) lies in [−1, 1].

x̂ is what all parties make of the pooled moments, rounded where that moves no residual by more than
2^-56 of ‖e‖: float64 would do so too coarsely where large terms cancel (Filip: 9 digits left).

These errors are computed in high precision, from integers, but no digit of them is claimed as
proven: M belongs to x̂, which is not quite the solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from titan import canonical
from titan.leastsquares.balls import Ball, nearest, to_arb
from titan.leastsquares.bounds import Floats
from titan.leastsquares.certified import Certificate
from titan.leastsquares.pooled import Integers, column_scales, integers, symmetric
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb_mat

CovType = Literal["nonrobust", "HC0", "cluster"]

_INVERSE_BITS = 256
_SPARE_BITS = 56
_SINGULAR = 1e26
"""V_jj (V⁻¹)_jj beyond which V is singular but for the rounding of x̂, squared in M."""


def agreed_solution(certificate: Certificate, residual_sum: Ball) -> list[Fraction]:
    """x̂, rounded so that ‖A(x̂ − x̃)‖ ≤ Σ|x̂_j − x̃_j| 2^s_j ≤ 2^-56 ‖e‖, roughly."""
    (t,) = column_scales([residual_sum.upper])
    spare = t - _SPARE_BITS - len(certificate.enclosures).bit_length()
    rounded = []
    for ball, s in zip(certificate.enclosures, certificate.moments.scales, strict=True):
        unit = Fraction(2) ** (spare - s)
        rounded.append(round(ball.mid / unit) * unit)
    return rounded


def meat_scales(
    certificate: Certificate, residual_sum: Ball, x: Sequence[Fraction]
) -> tuple[int, ...]:
    """The exponents s_j + t, from what everybody knows.

    ‖b − Ax̂‖² exceeds the least by ‖Aδ‖², δ = x̂ − x, and ‖Aδ‖ ≤ Σ|δ_j| 2^s_j.
    """
    scales = certificate.moments.scales
    triples = zip(certificate.enclosures, x, scales, strict=True)
    parts = ((abs(ball.mid - value) + ball.rad) * Fraction(2) ** s for ball, value, s in triples)
    (t,) = column_scales([residual_sum.upper + sum(parts, Fraction(0)) ** 2])
    return tuple(s + t for s in scales)


@dataclass(frozen=True, eq=False)
class Robust:
    """The covariance V of the coefficients from the pooled meat M."""

    certificate: Certificate = field(repr=False)
    scales: tuple[int, ...]
    """Those of `meat_scales`."""
    meat: Integers = field(repr=False)
    """M_jk / 2^(scales_j + scales_k), in units of 2^-fraction_bits."""
    fraction_bits: int
    clusters: int | None = None
    """G, where the parties are clusters."""

    def to_state(self) -> dict[str, Any]:
        return {
            "scales": list(self.scales),
            "meat": canonical.triangle_text(self.meat.tolist()),
            "fraction_bits": self.fraction_bits,
            "clusters": self.clusters,
        }

    @classmethod
    def from_state(cls, state: object, certificate: Certificate, residual_sum: Ball) -> Robust:
        found = canonical.keys(state, ("scales", "meat", "fraction_bits", "clusters"))
        n, clusters = len(certificate.moments.names), found["clusters"]
        scales = canonical.exponents(found["scales"], n)
        x = agreed_solution(certificate, residual_sum)
        expected = meat_scales(certificate, residual_sum, x)
        # one more or less: another machine's BLAS may have found ‖e‖² on the other side of 4^t
        if any(abs(s - t) > 1 for s, t in zip(scales, expected, strict=True)):
            raise ValueError("the scales of its robust errors do not follow from its moments")
        meat = symmetric(n, canonical.read_triangle(found["meat"], n))
        bits = canonical.whole(found["fraction_bits"], 0, canonical.MOST_EXPONENT)
        if np.abs(meat).max() >> bits > 1:
            raise ValueError("its robust errors are beyond their scales")
        clusters = None if clusters is None else canonical.whole(clusters, 2)
        return cls(certificate, scales, meat, bits, clusters)

    @cached_property
    def _shifts(self) -> list[int]:
        """V_jk = scaled_jk · 2^(shift_j + shift_k)."""
        pairs = zip(self.scales, self.certificate.moments.scales, strict=True)
        return [both - 2 * own for both, own in pairs]

    @cached_property
    def scaled(self) -> list[list[Fraction]]:
        """B M B · c with B the inverse of the scaled Gram matrix."""
        from flint import fmpz_mat

        k, rows, groups = len(self.scales), self.certificate.moments.rows, self.clusters
        middle, one = self.certificate.approximation.best.middle, 2**_INVERSE_BITS
        inverse = fmpz_mat([[round(middle(i, j) * one) for j in range(k)] for i in range(k)])
        product = inverse * fmpz_mat(self.meat.tolist()) * inverse
        unit = Fraction(1, one**2 << self.fraction_bits)
        if groups is not None:
            unit *= Fraction(groups, groups - 1) * Fraction(rows - 1, rows - k)
        return [[int(product[i, j]) * unit for j in range(k)] for i in range(k)]

    def standard_error(self, j: int) -> float:
        """An infinity beyond the largest double."""
        variance = max(self.scaled[j][j], Fraction(0))
        with np.errstate(over="ignore"):
            return float(np.ldexp(math.sqrt(nearest(variance)), self._shifts[j]))

    def covariance(self) -> Floats:
        """V in the units of the columns."""
        units = integers([Fraction(2) ** shift for shift in self._shifts])
        whole = integers(self.scaled) * np.multiply.outer(units, units)
        return np.array([[nearest(v) for v in row] for row in whole])

    # -- Wald's test that all coefficients but the constant are zero -------------------------------

    def fvalue(self, constant: int | None) -> float:
        """F, not defined (NaN) where the covariance of the coefficients tested is singular."""
        tested = [j for j in range(len(self.scales)) if j != constant]
        if not tested or (self.clusters is not None and len(tested) >= self.clusters):
            return math.nan  # the scores of G parties add up to zero: V has rank G − 1 at most
        solved = self._solved(tested)
        return math.nan if solved is None else solved / len(tested)

    def _solved(self, tested: list[int]) -> float | None:
        """x̂ᵀV⁻¹x̂ over some coefficients."""
        with working_precision(4 * _INVERSE_BITS):
            covariance = _arb_matrix([[self.scaled[j][k] for k in tested] for j in tested])
            try:
                inverse = covariance.inv()
            except ZeroDivisionError:
                return None
            inflation = [float(covariance[j, j] * inverse[j, j]) for j in range(len(tested))]
            if not max(inflation) < _SINGULAR:
                return None
            balls, shifts = self.certificate.enclosures, self._shifts
            x = _arb_matrix([[balls[j].mid / Fraction(2) ** shifts[j]] for j in tested])
            return float((x.transpose() * inverse * x)[0, 0])

    def f_pvalue(self, f: float, tested: int, df_resid: int) -> float:
        from scipy.special import fdtrc

        freedom = df_resid if self.clusters is None else self.clusters - 1
        return math.nan if math.isnan(f) else float(fdtrc(tested, freedom, f))


def _arb_matrix(rows: list[list[Fraction]]) -> arb_mat:
    import flint

    return flint.arb_mat([[to_arb(v) for v in row] for row in rows])


# -- the normal distribution, in place of Student's: statsmodels' choice for robust errors -------


def normal_two_sided(z: float) -> float:
    """P(|Z| > |z|)."""
    from scipy.special import erfc

    return float(erfc(abs(z) / math.sqrt(2)))


def normal_quantile(alpha: float) -> float:
    """z with P(|Z| > z) = alpha."""
    from scipy.special import ndtri

    return -float(ndtri(alpha / 2))
