"""Standard errors without equal variances (HC0 to HC3), or with dependence inside each party.

    V = c · (AᵀA)⁻¹ M (AᵀA)⁻¹,   e = b − A x̂,   x̂ the solution, rounded,

    HC0      M = Σ_rows e_r² a_r a_rᵀ              c = 1
    HC1      the same                              c = N/(N−K)
    HC2      M = Σ_rows e_r²/(1−h_r) a_r a_rᵀ      c = 1,  h_r = a_rᵀ(AᵀA)⁻¹a_r
    HC3      M = Σ_rows e_r²/(1−h_r)² a_r a_rᵀ     c = 1
    cluster  M = Σ_parties s_p s_pᵀ, s_p = A_pᵀe_p   c = G/(G−1) · (N−1)/(N−K), G parties

as statsmodels has them; with weights w the vectors e a become w e a, and h becomes w h. All know
AᵀA, so that a party finds the leverage h of its own rows by itself (`titan.joint.scores`).

M itself is sums of fourth powers of what the rows hold, and to the last digit it tells every one
of them; of few parties, lattice reduction finds the summands. So each party adds its part of
M' = W M Wᵀ instead, W the inverse Cholesky factor of the pooled AᵀA (`whitening`), rounded to a
unit of 2^-bits of a typical entry: of the diagonal's mean is about ‖e‖²/N. Nothing is lost by W, as
V = c · WᵀM'W, and all entries have the same relative precision. The sum's size is known before: a
row's image W a is at most 1 long, so that |M'_jk| ≤ ‖b − A x̂‖², times the largest 1/(1−h)^p. Rows
with 1 − h below 2^-20 have no HC2 and HC3 to speak of: they are refused.

x̂, W and the unit follow from the pooled moments by integers alone, so that they are the same at
every party. x̂ is rounded where that moves no residual by more than 2^-56 of ‖e‖ (and less by as
much as a residual may be multiplied).

How far V can be from the truth is proven. With E = W G Wᵀ − I for the true G and ‖E‖ ≤ η < 1,
V/c = Wᵀ(I+E)⁻¹M'(I+E)⁻¹W. Every entry of M' is within parties · unit/2 (rounding) and
(2‖e‖ + d) d / (1−η) (as M' belongs to x̂, d ≥ ‖A(x̂ − x)‖) of what was opened.

HC2 and HC3: a residual is multiplied by m = (1−h)^-½ or (1−h)^-1, found to within a share of
δ = 2^-40 + 2^20 η/(1−η), the latter since h is that of W. In the order of matrices
(1−δ)² M ≤ M̃ ≤ (1+δ)² M. That M' belongs to x̂ moves it, by Cauchy and Schwarz, by at most
2 √‖M'‖ t + t² in the norm with t = m d / (1−η): as |a(x̂ − x)|² ≤ h d²/(1−η) of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

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
    over_common,
    symmetric,
)
from titan.leastsquares.recombined import applied
from titan.leastsquares.whitening import Whitening, whiten

if TYPE_CHECKING:
    from flint import fmpz_mat

CovType = Literal["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]
OF_ROWS: tuple[CovType, ...] = ("HC0", "HC1", "HC2", "HC3")
"""These sum over rows, which are read once more."""

RING_BITS = 48
"""Of the ring of M' beyond `bits`: for 2^40 rows, the sign, and 7 to spare."""
LEVERAGE_BITS = 20
"""HC2 and HC3 are refused where 1 − h of a row is below 2^-20."""
MULTIPLIER_ERROR = Fraction(1, 1 << 40)
"""What a party may be off in (1−h)^-½ and (1−h)^-1, as a share."""
_SPARE_BITS = 56


def multiplied_bits(cov_type: CovType) -> int:
    """log2 of the most that a residual may be multiplied by."""
    return {"HC2": LEVERAGE_BITS // 2, "HC3": LEVERAGE_BITS}.get(cov_type, 0)


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
    def of(cls, moments: PooledMoments, bits: int, cov_type: CovType = "HC0") -> Agreed:
        """For a fit that is not exact: there is a residual to speak of."""
        spare = _SPARE_BITS + multiplied_bits(cov_type)
        assert moments.bb is not None  # noqa: S101 - it is released with inference
        whitening, g = whiten(moments), list(moments.rhs)
        along = whitening.image(g)
        explained = sum((value**2 for value in along), Fraction(0))
        t = _half_exponent(max(moments.bb - explained, moments.bb / (1 << 2 * _SPARE_BITS)))
        unit = Fraction(2) ** (t - spare - len(g).bit_length())
        scaled = [round(value / unit) * unit for value in whitening.transposed(along)]
        residual = _residual(moments, scaled)
        pairs = zip(scaled, moments.scales, strict=True)
        x = tuple(value / Fraction(2) ** s for value, s in pairs)
        typical = _exponent(residual / max(moments.rows, 1))
        return cls(whitening, x, residual, Fraction(2) ** (typical - bits))


def _residual(moments: PooledMoments, scaled: list[Fraction]) -> Fraction:
    """bᵀb − 2x̂ᵀg + x̂ᵀGx̂, exactly."""
    whole, common = over_common(scaled)
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
    cov_type: CovType = "HC0"
    change: Sequence[Sequence[Fraction]] | None = field(default=None, repr=False)
    """T⁻¹, where the coefficients are T⁻¹x: those of centred columns (`recombined`)."""

    def to_state(self) -> dict[str, Any]:
        meat = canonical.triangle_text(self.meat.tolist())
        numbers = {"bits": self.bits, "parties": self.parties, "clusters": self.clusters}
        return {"meat": meat, **numbers}

    @classmethod
    def from_state(cls, state: object, certificate: Certificate, cov_type: CovType) -> Robust:
        found = canonical.keys(state, ("meat", "bits", "parties", "clusters"))
        n, clusters = len(certificate.moments.names), found["clusters"]
        bits = canonical.whole(found["bits"], 1, canonical.MOST_EXPONENT)
        agreed = Agreed.of(certificate.moments, bits, cov_type)
        meat = symmetric(n, canonical.read_triangle(found["meat"], n))
        most = agreed.residual_sum * 4 ** multiplied_bits(cov_type)
        if np.abs(meat).max() * agreed.unit > 2 * most:
            raise ValueError("its robust errors are larger than its residuals")
        if (clusters is None) != (cov_type != "cluster"):
            raise ValueError("its standard errors are not of the kind it says")
        clusters = None if clusters is None else canonical.whole(clusters, 2)
        parties = canonical.whole(found["parties"], 1)
        return cls(certificate, agreed, meat, bits, parties, clusters, cov_type)

    @property
    def correction(self) -> Fraction:
        """c."""
        k, rows, groups = len(self.meat), self.certificate.moments.rows, self.clusters
        if groups is None:
            return Fraction(rows, rows - k) if self.cov_type == "HC1" else Fraction(1)
        return Fraction(groups, groups - 1) * Fraction(rows - 1, rows - k)

    def images(self, rows: Sequence[Sequence[Fraction]]) -> tuple[fmpz_mat, Fraction]:
        """R Wᵀ as whole numbers times a unit, for rows R in the units of the coefficients."""
        if self.change is not None:
            columns = list(zip(*self.change, strict=True))
            rows = [applied(columns, row) for row in rows]
        return self.agreed.whitening.images(rows)

    @cached_property
    def bread(self) -> tuple[fmpz_mat, Fraction]:
        """Those of the coefficients themselves."""
        k = range(len(self.meat))
        return self.images([[Fraction(i == j) for j in k] for i in k])

    @cached_property
    def scaled(self) -> tuple[fmpz_mat, Fraction]:
        """V as whole numbers times a unit."""
        from flint import fmpz_mat

        left, one = self.bread
        product = left * fmpz_mat(self.meat.tolist()) * left.transpose()
        return product, self.correction * self.agreed.unit * one * one

    @cached_property
    def spread(self) -> Fraction:
        """How far, in the norm, (I+E)⁻¹M'(I+E)⁻¹ may be from the meat; inf where nobody knows."""
        moments, k = self.certificate.moments, len(self.meat)
        eta = self.agreed.whitening.distance(moments)
        unknown = self.agreed.residual_sum * (1 << 64)
        if eta >= 1:
            return unknown
        triples = zip(self.certificate.enclosures, self.agreed.x, moments.scales, strict=True)
        moved = sum(
            ((abs(ball.mid - x) + ball.rad) * Fraction(2) ** s for ball, x, s in triples),
            Fraction(0),
        )
        trace = int(np.trace(self.meat)) * self.agreed.unit
        away = k * self.parties * self.agreed.unit / 2
        if (bits := multiplied_bits(self.cov_type)) == 0:
            root = Fraction(2) ** _half_exponent(self.agreed.residual_sum)
            away += k * (2 * root + moved) * moved / (1 - eta)
        else:
            share = MULTIPLIER_ERROR + (1 << LEVERAGE_BITS) * eta / (1 - eta)
            if share >= Fraction(1, 2):
                return unknown
            away += (trace + away) * ((1 + share) ** 2 - 1) / (1 - share) ** 2
            root = Fraction(2) ** _half_exponent(trace + away)
            t = (1 << bits) * (1 + share) * moved / (1 - eta)
            away += (2 * root + t) * t
        return away + (trace + away) * (1 / (1 - eta) ** 2 - 1)

    def standard_error(self, j: int) -> Ball:
        """√V_jj in the column's unit."""
        (product, unit), (left, one) = self.scaled, self.bread
        length = sum(int(left[j, k]) ** 2 for k in range(len(self.meat))) * one * one
        radius = length * self.spread * self.correction
        return inference.root(Ball(int(product[j, j]) * unit, radius))

    def variances(self, rows: Sequence[Sequence[Fraction]]) -> list[Ball]:
        """r V rᵀ of rows in the units of the columns, off by at most c · spread · ‖W r‖²."""
        from flint import fmpz_mat

        left, one = self.images(rows)
        meat = left * fmpz_mat(self.meat.tolist())
        bread, product = left.tolist(), meat.tolist()
        unit, off = (self.correction * one * one * by for by in (self.agreed.unit, self.spread))
        return [
            Ball(
                int(sum(x * y for x, y in zip(row, image, strict=True))) * unit,
                int(sum(x * x for x in image)) * off,
            )
            for row, image in zip(product, bread, strict=True)
        ]

    def covariance(self) -> Floats:
        """V in the units of the columns."""
        product, unit = self.scaled
        return np.array([[nearest(int(v) * unit) for v in row] for row in product.tolist()])
