"""Logistic and Poisson regression, row by row: mean, weight, log-likelihood, Pearson's residual.

With η = aᵀβ + offset, the canonical links make the log-likelihood Σ w (y η − b(η)), so that the
score is Σ w (y − μ) a and the Hessian of its negative Σ w v a aᵀ, with μ = b′ and v = b″:

    binomial   b = log(1 + eᵑ)   μ = 1/(1 + e⁻ᵑ)   v = μ (1 − μ) ≤ 1/4
    poisson    b = eᵑ            μ = v = eᵑ

For both |b‴| ≤ b″ (|1 − 2μ| ≤ 1, and 1): all that the proof of `certificate` needs.
"""

# Rule 1: floats come with `elementary`'s bound where digits are claimed; on the way NumPy's exp
#         does, since no claim rests on it.

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from titan.errors import InputError
from titan.generalised.elementary import Floats, exp, log1p, logistic
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

FamilyName = Literal["binomial", "poisson"]
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
Likelihood = Literal["binomial", "poisson", "cox"]
"""What is made as large as it can be: that of a family, or Cox's partial one."""
LIKELIHOODS: tuple[Likelihood, ...] = get_args(Likelihood)
LINKS = {"binomial": "logit", "poisson": "log"}
_PRECISION = 128


def family_named(name: object) -> FamilyName:
    for known in FAMILIES:
        if isinstance(name, str) and name == known:
            return known
    raise InputError(f"family is {name!r}", hint=f"one of {', '.join(FAMILIES)}", choice="family")


@dataclass(frozen=True)
class Rowwise:
    """Of every row: b″(η), y − μ, and how large what was subtracted is."""

    variance: Floats
    residual: Floats
    size: Floats
    """|y − μ| is off by at most the relative error times this."""


def rowwise(family: FamilyName, eta: Floats, y: Floats, *, proven: bool) -> Rowwise:
    """With `proven`, to within `elementary.RELATIVE` of each, given η."""
    if family == "poisson":
        mu = exp(eta) if proven else np.exp(np.minimum(eta, 700.0))
        residual = y - mu
        return Rowwise(mu, residual, np.abs(residual) + mu)
    if proven:
        _, less, more = logistic(eta)
    else:
        e = np.exp(-np.abs(eta))
        more = 1 / (1 + e)
        less = e * more
    event = y != 0
    far = np.where((eta >= 0) == event, less, more)  # |y − μ|: how far the outcome was from likely
    return Rowwise(less * more, np.where(event, far, -far), far)


@dataclass(frozen=True)
class Fit:
    """Of every row: its log-likelihood without what only y is in, and its part of Pearson's χ²."""

    likelihood: Floats
    likelihood_size: Floats
    """By which a relative error of its parts counts; Σ|y − μ| times that of η comes on top."""
    pearson: Floats
    pearson_size: Floats


def goodness(family: FamilyName, eta: Floats, y: Floats) -> Fit:
    """To within `elementary.RELATIVE` of the sizes, given η."""
    if family == "poisson":
        mu = exp(eta)
        size = y * np.abs(eta) + mu
        ratio = y * y / mu
        return Fit(y * eta - mu, size, (y - mu) ** 2 / mu, ratio + mu + 2 * y)
    small, _, _ = logistic(eta)
    against = np.where(y != 0, -eta, eta)
    likelihood = -(log1p(small) + np.maximum(against, 0))
    pearson = np.where(against > 0, 1 / small, small)
    return Fit(likelihood, -likelihood, pearson, pearson)


# -- in balls -----------------------------------------------------------------------------------


@cache
def log_factorial(y: int) -> float:
    """log y!, to within two units in the last place."""
    from flint import arb

    with working_precision(_PRECISION):
        return float(arb(y + 1).lgamma())


@cache
def saturated(y: int) -> float:
    """y log y − y, likewise: the log-likelihood at μ = y, without log y!."""
    from flint import arb

    with working_precision(_PRECISION):
        return float(arb(y) * arb(y).log() - y) if y else 0.0


def mean(family: FamilyName, eta: arb) -> arb:
    return eta.exp() if family == "poisson" else 1 / (1 + (-eta).exp())


def variance(family: FamilyName, eta: arb) -> arb:
    if family == "poisson":
        return eta.exp()
    less = 1 / (1 + abs(eta).exp())
    return less * (1 - less)


def cumulant(family: FamilyName, eta: arb) -> arb:
    """b(η)."""
    return eta.exp() if family == "poisson" else eta.exp().log1p()
