"""The sums of `rows`, by ball arithmetic and exact products: for digits that float64 cannot claim.

η is exact; μ and v are balls of python-flint, cut to multiples of 2^-Q; Σ w v a aᵀ of those is
exact (`titan.moments.gram`), and so is its transform. With columns such that Σ w a² ≤ 1 each sum is
then off by 2^-Q at most, since Σ w |a_j a_k| ≤ 1, and the score by √(Σw) times that. It is slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.generalised.families import FamilyName, cumulant, family_named, mean, variance
from titan.generalised.rows import SHIFT, At, Layout, Totals, largest_of
from titan.leastsquares.balls import fraction_of, to_arb
from titan.moments.arithmetic import as_integers, multiply
from titan.moments.columns import Column
from titan.moments.gram import weighted
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb

Q = 160
_PRECISION = 256
Matrix = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class ExactRows:
    """Some rows: the columns of A, the response, and perhaps weights and an offset."""

    columns: Sequence[Column] = field(repr=False)
    response: Column = field(repr=False)
    weights: Column | None = field(default=None, repr=False)
    offset: Column | None = field(default=None, repr=False)

    def totals(self, layout: Layout, at: At, scales: Sequence[int], transform: Matrix) -> Totals:
        with working_precision(_PRECISION):
            return self._totals(layout, at, scales, transform)

    def _totals(self, layout: Layout, at: At, scales: Sequence[int], T: Matrix) -> Totals:
        from flint import arb

        family = family_named(layout.family)
        eta = self._eta(at, scales, T)
        y = [int(value) for value in as_integers(self.response).fractions()]
        means = [mean(family, x) for x in eta]
        v = _cut([variance(family, x) for x in eta])
        r = np.array([(n << Q) - m for n, m in zip(y, _cut(means), strict=True)], object)
        if v is None:
            return Totals((0,) * layout.entries, (0.0,) * layout.entries, overflow=True)
        names = [str(j) for j in range(layout.columns)]
        # one unit of scale is a power of two: each column is divided by it where it is read
        scaled = [shifted(c, s) for c, s in zip(self.columns, scales, strict=True)]
        weights = Column(np.array(v, object), -Q)
        hessian = weighted(names, scaled, self._times(weights))
        score = self._times(Column(r, -Q))
        n = range(layout.columns)
        H = [[hessian.fraction(j, k) for k in n] for j in n]
        g = [_product(score, column) for column in scaled]
        half = [[_dot(row, column) for column in H] for row in T]  # T H, since H is symmetric
        entries = [_whole(_dot(half[j], T[k])) for j in n for k in range(j + 1)]
        entries += [_whole(_dot(row, g)) for row in T]
        found = [*entries, *self._null(layout, at, y)]
        off = math.ldexp(2.0, -Q) * (1 + self._weight())
        errors = [off + math.ldexp(1.0, -SHIFT)] * len(found)
        terms = self._terms(layout, at, eta, means, y) if at.statistics else {}
        for total in (sum(each, arb(0)) for each in terms.values()):
            found.append(_whole(fraction_of(total.mid())))
            errors.append(float(total.rad().upper()) * 1.01 + math.ldexp(1.0, -SHIFT))
        rest = layout.entries - len(found)
        largest = largest_of(map(float, terms.get("pearson", ())), at.kept) if terms else ()
        sums = (*found, *[0] * rest), (*errors, *[0.0] * rest)
        return Totals(*sums, False, largest, self._weight())

    def _weight(self) -> float:
        if self.weights is None:
            return float(len(self.response))
        return float(sum(self.weights.fractions()))

    def _times(self, column: Column) -> Column:
        return column if self.weights is None else multiply(column, self.weights)

    def _eta(self, at: At, scales: Sequence[int], T: Matrix) -> list[arb]:
        """(Ta)ᵀβ + offset, each within a rounding to the working precision."""
        beta = [_dot(column, at.beta) for column in zip(*T, strict=True)]
        parts = [
            (as_integers(column), b / Fraction(2) ** s)
            for column, b, s in zip(self.columns, beta, scales, strict=True)
        ]
        if self.offset is not None:
            parts.append((as_integers(self.offset), Fraction(1)))
        return linear(parts, len(self.response))

    def _null_eta(self, at: At) -> list[arb]:
        assert self.offset is not None  # noqa: S101 - as the layout says
        one = Column(np.ones(len(self.response), np.int64))
        return linear([(as_integers(self.offset), Fraction(1)), (one, at.null)], len(self.response))

    def _null(self, layout: Layout, at: At, y: list[int]) -> list[int]:
        if not layout.offset:
            return []
        eta, family = self._null_eta(at), family_named(layout.family)
        v, m = _cut([variance(family, x) for x in eta]), _cut([mean(family, x) for x in eta])
        assert v is not None  # noqa: S101 - the offset alone cannot be beyond
        assert m is not None  # noqa: S101
        r = [(n << Q) - x for n, x in zip(y, m, strict=True)]
        one = Column(np.ones(len(y), np.int64))
        both = (np.array(v, object), np.array(r, object))
        return [_whole(_product(self._times(Column(x, -Q)), one)) for x in both]

    def _terms(
        self, layout: Layout, at: At, eta: list[arb], means: list[arb], y: list[int]
    ) -> dict[str, list[Any]]:
        """The parts that rows have in each statistic, in the order of the layout."""
        family = family_named(layout.family)
        pearson = [(n - m) ** 2 / _spread(family, m) for n, m in zip(y, means, strict=True)]
        found: dict[str, list[Any]] = {
            "weight": [1] * len(y),
            "response": y,
            "likelihood": _likelihood(family, eta, y),
            "pearson": pearson,
            "log_factorial": _of_counts(lambda n: (n + 1).lgamma(), y),
            "saturated": _of_counts(lambda n: n * n.log() - n if n > 0 else n, y),
        }
        if layout.offset:
            found["null_likelihood"] = _likelihood(family, self._null_eta(at), y)
        return {name: self._weighted(found[name]) for name in layout.statistics}

    def _weighted(self, terms: list[Any]) -> list[Any]:
        if self.weights is None:
            return terms
        weights = map(to_arb, self.weights.fractions())
        return [t * w for t, w in zip(terms, weights, strict=True)]


def _likelihood(family: FamilyName, eta: list[arb], y: list[int]) -> list[arb]:
    return [n * x - cumulant(family, x) for n, x in zip(y, eta, strict=True)]


def _spread(family: FamilyName, m: arb) -> arb:
    return m if family == "poisson" else m * (1 - m)


def _of_counts(function: Callable[[arb], arb], y: list[int]) -> list[arb]:
    from flint import arb

    known = {n: function(arb(n)) for n in set(y)}
    return [known[n] for n in y]


def linear(parts: Sequence[tuple[Column, Fraction]], rows: int) -> list[arb]:
    """Σ column · factor, over one common denominator."""
    from flint import arb, fmpq

    factors = [column.unit * factor for column, factor in parts]
    common = math.lcm(*(f.denominator for f in factors))
    total = np.array([0] * rows, object)
    for (column, _), factor in zip(parts, factors, strict=True):
        total = total + column.numbers.astype(object) * (
            factor.numerator * (common // factor.denominator)
        )
    return [arb(fmpq(int(n), common)) for n in total]


def _cut(balls: list[arb]) -> Any:
    """Whole multiples of 2^-Q, each within one of the truth; None where a ball is too large."""
    found = []
    for ball in balls:
        scaled = ball * arb_power()
        if not ball.is_finite() or not scaled.rad() < 0.25:
            return None
        found.append(int(fraction_of(scaled.mid()) // 1))
    return found


def arb_power() -> arb:
    from flint import arb

    return arb(1 << Q)


def shifted(column: Column, scale: int) -> Column:
    return Column(column.numbers, column.two - scale, column.five)


def _product(one: Column, other: Column) -> Fraction:
    a, b = as_integers(one), as_integers(other)
    total = int((a.numbers.astype(object) * b.numbers.astype(object)).sum()) if len(a) else 0
    return total * a.unit * b.unit


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _whole(x: Fraction) -> int:
    return int(x * (1 << SHIFT) // 1)
