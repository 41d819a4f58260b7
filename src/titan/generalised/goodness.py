"""Deviance, likelihood, χ² and what is made of them, from the statistics of the last step.

They are sums at β, which is within t of the estimate β* (`certificate`): the likelihood at β* is
higher by λt at most, and every term of Pearson's χ² changes by a factor of e^(Mt) at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.generalised.certificate import Certificate, root_up
from titan.generalised.steps import Opened
from titan.leastsquares.balls import Ball, of_arb
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 192
OF_OFFSET = "with sums of the offset alone its values could be found"
OF_OUTCOMES = "from sums of outcomes alone it could be found how many rows have each"
OF_ONE_ROW = "one row would be a large part of it"


@dataclass(frozen=True, eq=False)
class Goodness:
    """Of one fit."""

    opened: Opened
    certificate: Certificate
    rows: int

    def _told(self, name: str) -> Ball:
        return Ball(self.opened.statistics[name], self.opened.statistics_error)

    def withheld(self, name: str) -> bool:
        """Whether some party does not tell it: a row is too much of it, or it is beyond range."""
        names = self.opened.problem.layout.statistics
        if name not in names:
            return True
        total = self.opened.totals[self.opened.problem.layout.of_step + names.index(name)]
        return abs(total) >= self.opened.point.cap

    @property
    def _binomial(self) -> bool:
        return self.opened.problem.family == "binomial"

    @cached_property
    def weight(self) -> Ball:
        """Σw, which without weights is the number of rows."""
        weighted = self.opened.problem.layout.weighted
        return self._told("weight") if weighted else Ball(Fraction(self.rows))

    @cached_property
    def response(self) -> Ball:
        """Σwy, which without weights is a whole number."""
        found = self._told("response")
        whole = not self.opened.problem.layout.weighted and found.rad < Fraction(1, 2)
        return Ball(Fraction(round(found.mid))) if whole else found

    @cached_property
    def _kernel(self) -> Ball:
        """Σ w (y η − b(η)) at the estimate."""
        return told_at_estimate(self.opened, self.certificate, "likelihood")

    @cached_property
    def llf(self) -> Quantity:
        return self._likelihood(self._kernel)

    def _likelihood(self, kernel: Quantity) -> Quantity:
        if self._binomial or not isinstance(kernel, Ball):
            return kernel
        if self.withheld("log_factorial"):
            return math.nan
        return compute(lambda k, f: k - f, kernel, self._told("log_factorial"))

    @cached_property
    def deviance(self) -> Quantity:
        return self._deviance(self._kernel)

    def _deviance(self, kernel: Quantity) -> Quantity:
        if not isinstance(kernel, Ball):
            return kernel
        if self._binomial:
            return compute(lambda k: -2 * k, kernel)
        if self.withheld("saturated"):
            return math.nan
        return compute(lambda s, k: 2 * (s - k), self._told("saturated"), kernel)

    @cached_property
    def _null_kernel(self) -> Quantity:
        """The same of the model of a constant alone."""
        layout = self.opened.problem.layout
        if not layout.offset:
            if self.response.lower <= 0 or (self._binomial and self._others.lower <= 0):
                return math.nan
            return compute(self._of_shares, self.response, self.weight)
        if self.withheld("null_likelihood"):
            return math.nan
        told, (h, s) = self._told("null_likelihood"), self.opened.values[layout.null]
        units = self.opened.point.units(self.opened.problem)[layout.null]
        parties = self.opened.problem.parties
        off_h, off_s = (parties * Fraction(2) ** unit for unit in units)
        if h <= off_h:
            return math.nan
        # the same theorem for one column of ones: M = 1/√h
        curvature = h - off_h
        decrement = root_up((abs(s) + off_s) ** 2 / curvature)
        x = decrement * root_up(1 / curvature)
        if x >= Fraction(1, 2):
            return math.nan
        gain = decrement * decrement * (1 + x)
        return Ball(told.mid + gain / 2, told.rad + gain / 2)

    @property
    def _others(self) -> Ball:
        return compute(lambda w, y: w - y, self.weight, self.response)

    def _of_shares(self, y: arb, w: arb) -> arb:
        if self._binomial:
            return y * (y / w).log() + (w - y) * ((w - y) / w).log()
        return y * (y / w).log() - y

    @cached_property
    def null_deviance(self) -> Quantity:
        return self._deviance(self._null_kernel)

    @cached_property
    def llnull(self) -> Quantity:
        return self._likelihood(self._null_kernel)

    @cached_property
    def pearson_chi2(self) -> Quantity:
        if self.withheld("pearson"):
            return math.nan
        told = self._told("pearson")
        size = told.upper + (0 if self._binomial else 2 * self.response.upper)
        return Ball(told.mid, told.rad + size * self.certificate.growth)

    def pseudo_rsquared(self, kind: str) -> Quantity:
        if kind not in ("cs", "mcf"):
            raise InputError(f"kind is {kind!r}", hint="cs (Cox and Snell) or mcf (McFadden)")
        own, null = self.llf, self.llnull
        if kind == "cs":  # of their difference alone, in which Σ log y! is not
            own, null = self._kernel, self._null_kernel
        if not isinstance(own, Ball) or not isinstance(null, Ball):
            return math.nan
        if kind == "mcf":
            return compute(lambda f, n: 1 - f / n, own, null)
        return compute(lambda f, n: 1 - ((n - f) * 2 / self.rows).exp(), own, null)

    @cached_property
    def not_told(self) -> dict[str, str]:
        """Which of its statistics a study does not tell, and why."""
        layout = self.opened.problem.layout
        found = dict[str, str]()
        if layout.offset and self.withheld("null_likelihood"):
            found |= dict.fromkeys(("llnull", "null_deviance", "pseudo_rsquared"), OF_OFFSET)
        if not self._binomial and self.withheld("log_factorial"):
            names = "llf", "llnull", "aic", "bic", "deviance", "null_deviance"
            found |= dict.fromkeys(names, OF_OUTCOMES)
        if self.withheld("pearson"):
            found["pearson_chi2"] = OF_ONE_ROW if "pearson" in layout.statistics else OF_OUTCOMES
        return found


def told_at_estimate(opened: Opened, c: Certificate, name: str) -> Ball:
    """A log-likelihood that was told at β, as it is at the estimate."""
    told = Ball(opened.statistics[name], opened.statistics_error)
    if opened.problem.penalty is None:
        gain = c.decrement * c.distance
        return Ball(told.mid + gain / 2, told.rad + gain / 2)
    score = c.inverse.length(opened.values[opened.problem.layout.score])
    slope = (score + c.score_error * root_up(c.inverse.total)) * root_up(1 / (1 - c.theta))
    return Ball(told.mid, told.rad + (slope + c.distance) * c.distance * (1 + c.growth))


def quantile(alpha: float) -> Ball:
    """z with P(|Z| > z) = alpha."""
    from flint import arb

    with working_precision(_PRECISION):
        return of_arb((1 - arb(alpha)).erfinv() * arb(2).sqrt())
