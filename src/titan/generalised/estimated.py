"""Coefficients of a model whose last step gave a proof, under statsmodels' names.

What generalised linear models and Cox's proportional hazards share: estimates, standard errors,
tests and limits, all from one step that all parties know (`steps`) and its proof (`certificate`).
"""

# Rule 1: every number is the middle of a proven ball, or plain where it is not defined (NaN).

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import InputError
from titan.generalised import goodness
from titan.generalised.certificate import Certificate
from titan.generalised.steps import Opened
from titan.leastsquares import inference
from titan.leastsquares.as_json import enclosures, with_errors
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Limits, Named, NamedTable, Quantity, error_of
from titan.leastsquares.tails import normal_two_sided
from titan.results.result import Result
from titan.ring.whole import real_number

if TYPE_CHECKING:
    from titan.leastsquares.tested import TTest, WaldTest


def statistic(name: str) -> float:
    """A property; its type is what readers of the attribute get."""
    return property(lambda fit: float(fit.statistics[name]))  # type: ignore[return-value]


class Estimated(Result):
    """Coefficients by name, and what is proven of them."""

    names: tuple[str, ...]
    opened: Opened
    """The step that gave the proof."""
    alpha: Fraction
    """Of the penalty alpha/2 · ‖β‖²."""

    @cached_property
    def certificate(self) -> Certificate:
        found = self.opened.certificate
        if found is None:
            raise ValueError("its last step proves nothing")
        return found

    @cached_property
    def params(self) -> Named:
        return self._named(self._enclosures)

    @cached_property
    def _enclosures(self) -> list[Ball]:
        c = self.certificate
        there = [b + x for b, x in zip(self.opened.beta, c.step, strict=True)]
        found = []
        for j in range(len(self.names)):
            of = self.opened.problem.combination(j)
            mid = sum((a * b for a, b in zip(of, there, strict=True)), Fraction(0))
            found.append(Ball(mid, c.bound(of)))
        return found

    @property
    def error_bound(self) -> Named:
        """How far each of `params` may be from the maximum likelihood estimate."""
        return self._named([error_of(ball) for ball in self._enclosures])

    @property
    def digits(self) -> int:
        """Significant digits that are proven of every coefficient."""
        return min(ball.digits for ball in self._enclosures)

    @cached_property
    def bse(self) -> Named:
        """Not defined with a penalty: the estimate is biased, and nothing says how much."""
        if self.alpha:
            return self._named([math.nan] * len(self.names))
        problem, n = self.opened.problem, range(len(self.names))
        return self._named(
            [inference.root(self.certificate.variance(problem.combination(j))) for j in n]
        )

    @cached_property
    def tvalues(self) -> Named:
        """z: coefficients over standard errors."""
        pairs = zip(self._enclosures, self.bse.enclosures, strict=True)
        return self._named([inference.ratio(ball, se) for ball, se in pairs])

    @cached_property
    def pvalues(self) -> Named:
        return self._named([normal_two_sided(z) for z in self.tvalues.enclosures])

    def conf_int(self, alpha: float = 0.05) -> NamedTable:
        """Name → (lower, upper) at level 1 − alpha."""
        limits = zip(self.names, self.intervals(alpha), strict=True)
        rows = {name: Limits(float(low), float(high)) for name, (low, high) in limits}
        return NamedTable(rows, Limits._fields)

    def intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """The confidence limits as enclosures."""
        return limits(self._enclosures, self.bse.enclosures, alpha)

    def t_test(self, hypotheses: Any) -> TTest:
        """Each hypothesis by itself: "age = 2*sex, bmi = 0", a matrix R, or a pair (R, q)."""
        from titan.generalised import tested

        return tested.t_test(self, hypotheses)

    def wald_test(self, hypotheses: Any) -> WaldTest:
        """All hypotheses together, by χ²: whether a category with several levels matters."""
        from titan.generalised import tested

        return tested.wald_test(self, hypotheses)

    def cov_params(self) -> NamedTable:
        """The covariance matrix of the coefficients, by name and in the order of `names`."""
        if self.alpha:
            covariance = np.full((len(self.names),) * 2, math.nan)
        else:
            R = self.certificate.inverse
            inverse = np.array([[x / (1 << R.places) for x in row] for row in R.numbers], float)
            of = [self.opened.problem.combination(j) for j in range(len(self.names))]
            combinations = np.array([[float(x) for x in row] for row in of])
            covariance = combinations @ inverse @ combinations.T
        rows = {n: self._named(row) for n, row in zip(self.names, covariance.tolist(), strict=True)}
        return NamedTable(rows, self.names)

    def coefficients_as_json(self) -> dict[str, Any]:
        """Estimates, standard errors, tests and limits, each with how far it may be off."""
        limits = dict(zip(self.names, self.intervals(), strict=True))
        tested = {key: enclosures(getattr(self, key)) for key in ("bse", "tvalues", "pvalues")}
        return {
            "params": self.params,
            "error_bound": self.error_bound,
            "params_error": self.error_bound,
            **with_errors(tested),
            **with_errors({"conf_int": limits}),
        }

    def _named(self, quantities: Sequence[Quantity]) -> Named:
        return Named(self.names, quantities)


def limits(
    estimates: Sequence[Quantity], errors: Sequence[Quantity], alpha: float
) -> list[tuple[Quantity, Quantity]]:
    """Confidence limits at level 1 − alpha, by the normal distribution."""
    if not sys.float_info.epsilon < real_number("alpha", alpha) < 1:
        raise InputError(f"alpha is {alpha!r}", hint="between 0 and 1, as 0.05")
    z, found = goodness.quantile(alpha), list[tuple[Quantity, Quantity]]()
    for ball, se in zip(estimates, errors, strict=True):
        if not (isinstance(ball, Ball) and isinstance(se, Ball)):
            found.append((math.nan, math.nan))
            continue
        low = compute(lambda b, s, q: b - s * q, ball, se, z)
        found.append((low, compute(lambda b, s, q: b + s * q, ball, se, z)))
    return found
