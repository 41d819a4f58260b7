"""How far the solution of the true system is from ours: one bound for every way of solving.

Let x̃ be any vector and R̃ any matrix, G̃ = G − E and g̃ = g − f with |E| ≤ Ē, |f| ≤ r, and

    ρ = g̃ − G̃x̃ (the residual),   F = I − R̃G̃ (the defect),   M = |F| + |R̃|Ē.

For the true solution x of G x = g and δ = x − x̃, multiplying G̃δ = ρ + f − Ex̃ − Eδ by R̃ gives

    δ = Fδ + R̃(ρ + f − Ex̃) − R̃Eδ,   hence   |δ| ≤ v + M|δ|,   v = |R̃|(|ρ| + r + Ē|x̃|).

If some w > 0 has Mw ≤ θw with θ < 1, the spectral radius of M is below one; so R̃G = I − F + R̃E
is invertible, which proves that G has full rank, and in the norm max|·|/w

    |δ| ≤ v + Mw · max(v/w) / (1 − θ).

With F = 0, Ē = e everywhere and w = |R|1 this is θ = eΣ|R| and
|δ|_i ≤ e(1 + ‖x̃‖₁)(|R|1)_i / (1 − eΣ|R|). Taking w = v as well gives |δ| ≤ v/(1 − θ), and the
smaller of the two holds entry by entry. The true inverse R = G⁻¹ obeys R = R̃ + (F − R̃E)R, so the
columns of |R| are bounded in the same way.
"""

# Rule 1: every number here is an upper bound of a nonnegative quantity. Sums and products of
#         such floats have a small relative error only, which `raised` makes good; no subtraction
#         but 1 − θ, taken downwards.
# Rule 2: a bound that overflows is infinite, and what is infinite proves nothing.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from titan.leastsquares.balls import up
from titan.leastsquares.pooled import PooledMoments

Floats = npt.NDArray[np.float64]

_UNIT = 2.0**-52
_LEAST = 2.0**-500
"""Nonzero bounds are kept above this, so that no product of two of them underflows."""


def raised(bound: Floats, terms: int) -> Floats:
    """An upper bound of a sum of `terms` products of nonnegative bounds, computed in any order."""
    grown = np.maximum(bound * (1 + (terms + 8) * _UNIT), _LEAST)
    return np.where(bound > 0, grown, np.where(np.isnan(bound), np.inf, 0.0))


def settled(bound: Floats) -> Floats:
    """The next number of 20 bits, at most two millionths above.

    The order of summation differs between machines; in so few bits it hardly ever shows, so that
    all parties print the same bounds.
    """
    mantissa, exponent = np.frexp(bound)
    rounded: Floats = np.ldexp(np.ceil(np.ldexp(mantissa, 20)), exponent - 20)
    return rounded


def upper(numbers: Iterable[Fraction]) -> Floats:
    """Nonnegative fractions as floats, rounded up."""
    return raised(np.array([up(number) for number in numbers], np.float64), 0)


@dataclass(frozen=True)
class Perturbation:
    """Ē and r: how far the truth may be from the pooled integers."""

    off_diagonal: float
    diagonal: Floats
    rhs: Floats

    @classmethod
    def of(cls, moments: PooledMoments) -> Perturbation:
        (off_diagonal,) = upper([moments.gram_error]).tolist()
        return cls(off_diagonal, upper(moments.diagonal_error), upper(moments.rhs_error))

    def times(self, w: Floats) -> Floats:
        """Ēw, or slightly more; w is a vector or a matrix of columns."""
        column = self.diagonal if w.ndim == 1 else self.diagonal[:, None]
        total = self.off_diagonal * w.sum(axis=0, keepdims=w.ndim > 1)
        return raised(total + column * w, len(w) + 1)


@dataclass(frozen=True)
class Contraction:
    """M = |F| + |R̃|Ē with a weight w > 0 and θ < 1 such that Mw ≤ θw: full rank is proven."""

    inverse: Floats
    defect: Floats | None
    perturbation: Perturbation
    weight: Floats
    theta: float

    def enclose(self, v: Floats) -> Floats:
        """An upper bound of every |δ| with |δ| ≤ v + M|δ|; v a vector or a matrix of columns."""
        w = self.weight
        image = _times(self.inverse, self.defect, self.perturbation, w)
        if v.ndim > 1:
            w, image = w[:, None], image[:, None]
        with np.errstate(all="ignore"):
            reach = (v / w).max(axis=0) / _one_minus(self.theta)
            bound = raised(v + image * reach, 6)
            if v.ndim == 1 and (v > 0).all():
                own = _theta(_times(self.inverse, self.defect, self.perturbation, v), v)
                if own < 1:
                    bound = np.minimum(bound, raised(v / _one_minus(own), 4))
        return np.where(np.isnan(bound), np.inf, bound)


def contract(
    inverse: Floats, defect: Floats | None, perturbation: Perturbation
) -> tuple[Contraction | None, float]:
    """The proof of full rank, or None; and θ, which is infinite where it cannot be computed."""
    best, w = np.inf, np.ones(len(inverse))
    weight = w
    with np.errstate(all="ignore"):
        for _ in range(4):  # power iteration: w approaches the Perron vector of M
            image = _times(inverse, defect, perturbation, w)
            theta = _theta(image, w)
            if theta < best:
                best, weight = theta, w
            peak = image.max()
            if not 0 < peak < np.inf:
                break
            w = np.maximum(image / peak, 1e-12)
    if not best < 1:
        return None, float(best)
    return Contraction(inverse, defect, perturbation, weight, float(best)), float(best)


def _times(inverse: Floats, defect: Floats | None, error: Perturbation, w: Floats) -> Floats:
    """Mw, or slightly more."""
    with np.errstate(all="ignore"):
        image = inverse @ error.times(w)
        if defect is not None:
            image = image + defect @ w
    return raised(image, 2 * len(inverse))


def _theta(image: Floats, w: Floats) -> float:
    theta = float(raised(np.asarray((image / w).max()), 2))
    return theta if np.isfinite(theta) else np.inf


def _one_minus(theta: float) -> float:
    return (1 - theta) * (1 - 2 * _UNIT)
