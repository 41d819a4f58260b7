"""What the pooled Gram matrix tells of the columns themselves: means, spreads, correlations, VIF.

With A c = 1 in every row and Σw rows (or the sum of their weights)

    mean_j = (cᵀAᵀA)_j / Σw,   S_jk = (AᵀA)_jk − Σw mean_j mean_k,   corr_jk = S_jk / √(S_jj S_kk),

and the same for the response, by Aᵀb and bᵀb. The standard deviation is √(S_jj/(N−1)), with weights
√(S_jj/Σw · N/(N−1)). The inflation of a coefficient's variance is VIF_j = S_jj (AᵀA)⁻¹_jj; about
zero, (AᵀA)_jj (AᵀA)⁻¹_jj, where the other columns hold no constant.
"""

# Rule 1: every number is in a proven ball.
# Rule 2: an intercept is not a column to speak of: it is left out.

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Named, NamedTable, Quantity
from titan.leastsquares.pooled import as_vector

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


@dataclass(frozen=True, eq=False)
class Screening:
    """The columns of a fit but for its intercept, and its response."""

    fit: Regression

    @cached_property
    def names(self) -> tuple[str, ...]:
        columns = tuple(name for name in self.fit.names if name != self.fit.intercept)
        return (*columns, self.fit.moments.response)

    @cached_property
    def constant(self) -> list[Fraction]:
        found = as_vector(self.fit.constant, self.fit.names)
        if found is None:
            raise InputError(
                "means need the columns' sums, and no constant is in the model",
                hint="fit a model with an intercept",
            )
        return found

    @cached_property
    def weight(self) -> Ball:
        """The number of rows, or the sum of their weights."""
        if not self.fit.weighted:
            return Ball(Fraction(self.fit.nobs))
        return inference.square_length(self.fit.moments, self.constant)

    # -- sums ---------------------------------------------------------------------------------

    def product(self, one: str, other: str) -> Ball:
        """Σ w a b of two columns, or of one and the response."""
        moments = self.fit.moments
        if one == other == moments.response and one not in moments.names:
            return Ball(moments.bb or Fraction(0), moments.bb_error)
        if moments.response in (one, other) and moments.response not in moments.names:
            j = moments.index(other if one == moments.response else one)
            unit = Fraction(2) ** moments.scales[j]
            return Ball(moments.rhs[j] * unit, moments.rhs_error[j] * unit)
        j, k = moments.index(one), moments.index(other)
        unit = Fraction(2) ** (moments.scales[j] + moments.scales[k])
        entry = Fraction(int(moments.gram[j, k]), moments.denominator)
        return Ball(entry * unit, moments.entry_error(j, k) * unit)

    def total(self, name: str) -> Ball:
        """Σ w a."""
        parts = [
            (c, self.product(column, name))
            for c, column in zip(self.constant, self.fit.names, strict=True)
            if c
        ]
        mid = sum((c * ball.mid for c, ball in parts), Fraction(0))
        return Ball(mid, sum((abs(c) * ball.rad for c, ball in parts), Fraction(0)))

    def about_means(self, one: str, other: str) -> Ball:
        """S_jk."""
        sums = self.product(one, other), self.total(one), self.total(other), self.weight
        return compute(lambda p, s, t, n: p - s * t / n, *sums)

    # -- what is asked ------------------------------------------------------------------------

    def means(self) -> Named:
        pairs = [(self.total(name), self.weight) for name in self.names]
        return Named(self.names, [compute(lambda s, n: s / n, *pair) for pair in pairs])

    def stds(self) -> Named:
        return Named(self.names, [self._std(name) for name in self.names])

    def _std(self, name: str) -> Quantity:
        n = self.fit.nobs
        if n == 1:
            return math.nan
        square = compute(
            lambda s, w: s / w * n / (n - 1), self.about_means(name, name), self.weight
        )
        return inference.root(square)

    def correlations(self) -> NamedTable:
        names, found = self.names, dict[tuple[str, str], Quantity]()
        own = {name: self.about_means(name, name) for name in names}
        for j, one in enumerate(names):
            found[one, one] = 1.0 if own[one].lower > 0 else math.nan
            for other in names[:j]:
                ball = _correlation(self.about_means(one, other), own[one], own[other])
                found[one, other] = found[other, one] = ball
        rows = {one: Named(names, [found[one, other] for other in names]) for one in names}
        return NamedTable(rows, names)

    def vif(self) -> Named:
        """Of every column but the intercept."""
        names = [name for name in self.fit.names if name != self.fit.intercept]
        return Named(names, [self._vif(name) for name in names])

    def _vif(self, name: str) -> Quantity:
        at, constant = self.fit.moments.index(name), self.fit.constant
        centred = constant is not None and not constant.get(name)
        own = self.about_means(name, name) if centred else self.product(name, name)
        return compute(lambda s, v: s * v, own, self.fit.certificate.inverse(at, at))


def _correlation(both: Ball, one: Ball, other: Ball) -> Quantity:
    if one.lower <= 0 or other.lower <= 0:
        return math.nan  # a column that may not vary
    found = compute(lambda b, s, t: b / (s * t).sqrt(), both, one, other)
    return _within_one(found)


def _within_one(ball: Ball) -> Ball:
    """The truth is never beyond ±1; neither is what is shown."""
    low, high = max(ball.lower, Fraction(-1)), min(ball.upper, Fraction(1))
    if (low, high) == (ball.lower, ball.upper):
        return ball
    return Ball((low + high) / 2, (high - low) / 2)
