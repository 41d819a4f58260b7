"""A party's rows as float64, in public coordinates: T a, column j of a divided by 2^s_j; and sums.

Every sum comes with a bound of its error, from `elementary` and from the roundings of sums:

    a      T times the row as it was read: off by d_j = (p + 6) u Σ |T_jk a_k| at most
    η      p products and as many sums: |η̂ − η| is at most
           δ = (p + 8) u (Σ |a_j β_j| + |offset|) + Σ d_j |β_j|, where 8 is for reading β and offset
    μ, v   RELATIVE and, since |d log v/dη| ≤ 1 and |d log μ/dη| ≤ 1, as much again as δ
    sums   of n rows in one chunk: (n + 16) u of the sum of magnitudes; chunks are added exactly

The sum of magnitudes Σ w v |a_j a_k| is at most the largest on the diagonal, and
Σ w |r a_j| ≤ √(Σ w r²) √(Σ w a_j²), of which the last is at most 1 in these coordinates. That a is
off by d adds 2 d √(H Σ w v) + d² Σ w v, and d Σ w |r|.
"""

# Rule 1: rows stay here. What leaves are sums, and their owner rounds those before they leave.

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import nlargest

import numpy as np

from titan.generalised.elementary import LARGEST, RELATIVE, UNIT, Floats
from titan.generalised.families import (
    FamilyName,
    Likelihood,
    family_named,
    goodness,
    log_factorial,
    rowwise,
    saturated,
)

SHIFT = 140
"""Sums are whole multiples of 2^-SHIFT."""
CHUNK, SHORT = 8192, 1024
"""Rows that are added by one call: sums of few of them have smaller bounds."""
_MOST = 2.0**400  # of an entry; what is larger is as good as infinite


@dataclass(frozen=True)
class Layout:
    """What one step opens, entry by entry: H below the diagonal, the score, and what else."""

    columns: int
    offset: bool = False
    """With an offset the model of a constant alone needs steps of its own: two entries more."""
    weighted: bool = False
    family: Likelihood = "binomial"
    untold: tuple[str, ...] = ()
    """Statistics that are left out: they would tell of outcomes alone."""

    @property
    def hessian(self) -> slice:
        return slice(0, self.columns * (self.columns + 1) // 2)

    @property
    def score(self) -> slice:
        return slice(self.hessian.stop, self.hessian.stop + self.columns)

    @property
    def null(self) -> slice:
        """Of the model of a constant alone: −ℓ″ and ℓ′."""
        return slice(self.score.stop, self.score.stop + 2 * self.offset)

    @property
    def of_step(self) -> int:
        return self.columns * (self.columns + 3) // 2 + 2 * self.offset

    @property
    def statistics(self) -> tuple[str, ...]:
        """What is told once, in the last step."""
        if self.family == "cox":
            return "likelihood", "null_likelihood"
        names = ["weight"] * self.weighted + ["response", "likelihood", "pearson"]
        if self.family == "poisson":
            names += ["log_factorial", "saturated"]
        names += ["null_likelihood"] * self.offset
        return tuple(name for name in names if name not in self.untold)

    @property
    def entries(self) -> int:
        return self.of_step + len(self.statistics)

    def in_words(self, statistics: Iterable[str]) -> list[str]:
        """These statistics as they are told to people."""
        words = dict(_WORDS)
        if self.weighted:
            words["response"] = "the weighted sum of the outcomes"
        if self.family == "cox":
            words["null_likelihood"] = "the log-likelihood at 0"
        return [words[name] for name in statistics]


_WORDS = {
    "weight": "the sum of the weights",
    "response": "the sum of the outcomes",
    "likelihood": "the log-likelihood",
    "pearson": "Pearson's χ²",
    "log_factorial": "Σ log y!",
    "saturated": "Σ (y log y − y)",
    "null_likelihood": "the log-likelihood with only a constant",
}


@dataclass(frozen=True)
class At:
    """Where sums are taken: β of the scaled columns, and the constant of the null model."""

    beta: tuple[Fraction, ...]
    null: Fraction = Fraction(0)
    statistics: bool = False
    proven: bool = False
    short: bool = False
    kept: int = 0
    """So many of the largest parts that rows have in Pearson's χ² are kept, for their owner."""


@dataclass(frozen=True)
class Totals:
    """Sums in multiples of 2^-SHIFT, and how far each may be off, in the same."""

    sums: tuple[int, ...] = field(repr=False)
    errors: tuple[float, ...] = field(repr=False)
    """As they are, not in multiples."""
    overflow: bool = False
    """Some μ is beyond all doubles: nothing is claimed."""
    largest: tuple[float, ...] = field(default=(), repr=False)
    """The largest parts that single rows have in Pearson's χ²."""
    weight: float = field(default=0.0, repr=False)
    """Σw of these rows."""
    withheld: bool = False
    """One of them is too large for χ² to be told."""

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple((a + b) * (1 + 2.0**-50) for a, b in zip(self.errors, other.errors, strict=True)),
            self.overflow or other.overflow,
            largest_of((*self.largest, *other.largest), max(len(self.largest), len(other.largest))),
            self.weight + other.weight,
        )


@dataclass(frozen=True, eq=False)
class FloatRows:
    """Some rows."""

    a: Floats = field(repr=False)
    """(rows, columns)."""
    y: Floats = field(repr=False)
    weights: Floats | None = field(default=None, repr=False)
    offset: Floats | None = field(default=None, repr=False)
    doubt: Floats = field(default_factory=lambda: np.zeros(1), repr=False)
    """How far each column of `a` may be off."""
    largest: Floats | None = field(default=None, repr=False)
    """The largest magnitudes in its columns, or more."""

    def __len__(self) -> int:
        return len(self.y)

    def chunk(self, rows: slice) -> FloatRows:
        weights = None if self.weights is None else self.weights[rows]
        offset = None if self.offset is None else self.offset[rows]
        return FloatRows(self.a[rows], self.y[rows], weights, offset, self.doubt, self.largest)

    def totals(self, layout: Layout, at: At) -> Totals:
        size = SHORT if at.short else CHUNK
        starts = range(0, len(self), size)
        chunks = [self.chunk(slice(start, start + size)) for start in starts]
        found = [chunk.sums(layout, at) for chunk in chunks]
        table = np.array([sums for sums, _ in found])
        if not np.all(np.abs(table) < _MOST):
            nothing = (0,) * layout.entries
            return Totals(nothing, (0.0,) * layout.entries, overflow=True)
        sums = tuple(whole(math.fsum(column)) for column in table.T.tolist())
        rounded = np.abs(table).sum(axis=0) * UNIT
        errors = np.sum([errors for _, errors in found], axis=0) + rounded
        largest = [x for chunk in chunks for x in chunk.largest_parts(layout, at)]
        kept = largest_of(largest, at.kept), _dot(np.ones(len(self)), self.weights)
        return Totals(sums, tuple((errors * 1.01).tolist()), False, *kept)

    def largest_parts(self, layout: Layout, at: At) -> tuple[float, ...]:
        """Of Pearson's χ², where some are kept."""
        if not at.statistics or not at.kept:
            return ()
        eta, _ = self.eta(np.array([float(x) for x in at.beta]))
        parts = goodness(family_named(layout.family), eta, self.y).pearson
        parts = parts if self.weights is None else parts * self.weights
        return tuple(np.sort(parts)[-at.kept :].tolist())

    def eta(self, beta: Floats) -> tuple[Floats, float]:
        """The linear predictor, and how far it may be off."""
        eta = self.a @ beta
        largest = magnitudes(self.a) if self.largest is None else self.largest
        size = float(largest @ np.abs(beta))
        doubt = float((self.doubt * np.abs(beta)).sum())
        if self.offset is not None:
            eta += self.offset
            size += float(np.abs(self.offset).max(initial=0.0))
        return eta, ((len(beta) + 8) * UNIT * size + doubt) * 1.01

    def sums(self, layout: Layout, at: At) -> tuple[Floats, Floats]:
        """Of all these rows at once, and their errors."""
        beta = np.array([float(x) for x in at.beta])
        eta, delta = self.eta(beta)
        w = self.weights
        rows = rowwise(family_named(layout.family), eta, self.y, proven=at.proven)
        relative = RELATIVE + 1.02 * delta + (len(self) + 16) * UNIT
        sums, errors = np.zeros(layout.entries), np.zeros(layout.entries)
        v = rows.variance if w is None else rows.variance * w
        r = rows.residual if w is None else rows.residual * w
        hessian = (self.a * v[:, None]).T @ self.a
        sums[layout.hessian] = hessian[np.tril_indices(layout.columns)]
        top, doubt = float(hessian.diagonal().max(initial=0.0)), float(self.doubt.max())
        spread = float(v.sum()) * doubt * doubt
        errors[layout.hessian] = relative * top + 2.1 * math.sqrt(top * spread) + 1.1 * spread
        sums[layout.score] = self.a.T @ r
        errors[layout.score] = relative * math.sqrt(_dot(rows.size**2, w))
        errors[layout.score] += 1.1 * doubt * _dot(rows.size, w)
        if delta >= 2.0**-10 or np.abs(eta).max(initial=0.0) > LARGEST - 1:
            errors[:] = math.inf  # no claim can be made; on the way none is
        if layout.offset:
            self._null(layout, at, sums, errors)
        if at.statistics:
            self._statistics(layout, at, eta, delta, sums, errors)
        return sums, errors

    def _null(self, layout: Layout, at: At, sums: Floats, errors: Floats) -> None:
        assert self.offset is not None  # noqa: S101 - as the layout says
        eta = self.offset + float(at.null)
        rows = rowwise(family_named(layout.family), eta, self.y, proven=at.proven)
        relative = RELATIVE + (len(self) + 16 + 12 * np.abs(eta).max(initial=0.0)) * UNIT
        sums[layout.null] = _dot(rows.variance, self.weights), _dot(rows.residual, self.weights)
        errors[layout.null] = [relative * _dot(x, self.weights) for x in (rows.variance, rows.size)]

    def _statistics(
        self, layout: Layout, at: At, eta: Floats, delta: float, sums: Floats, errors: Floats
    ) -> None:
        w, y = self.weights, self.y
        relative = RELATIVE + 2.04 * delta + (len(self) + 24) * UNIT
        family = family_named(layout.family)
        fit = goodness(family, eta, y)
        off = delta * _dot(y + 1, w)  # |d log-likelihood/dη| = |y − μ|; what μ does is in its size
        found = {
            "weight": (_dot(np.ones(len(self)), w), 0.0),
            "response": (_dot(y, w), 0.0),
            "likelihood": (_dot(fit.likelihood, w), relative * _dot(fit.likelihood_size, w) + off),
            "pearson": (_dot(fit.pearson, w), relative * _dot(fit.pearson_size, w)),
        }
        if layout.family == "poisson":
            for name, function in (("log_factorial", log_factorial), ("saturated", saturated)):
                values, at_y = np.unique(y, return_inverse=True)
                terms = np.array([function(int(value)) for value in values.tolist()])[at_y]
                found[name] = _dot(terms, w), 8 * UNIT * _dot(np.abs(terms), w)
        if layout.offset:
            assert self.offset is not None  # noqa: S101 - as the layout says
            null = self.offset + float(at.null)
            of_null = goodness(family, null, y)
            doubt = 12 * UNIT * float(np.abs(null).max(initial=0.0)) * _dot(y + 1, w)
            size = relative * _dot(of_null.likelihood_size, w) + doubt
            found["null_likelihood"] = _dot(of_null.likelihood, w), size
        start = layout.of_step
        for place, name in enumerate(layout.statistics, start):
            sums[place], errors[place] = found[name]
            errors[place] += abs(sums[place]) * (len(self) + 4) * UNIT


def largest_of(numbers: Iterable[float], count: int) -> tuple[float, ...]:
    """So many, the largest first, with zeros where there are not as many."""
    return tuple(nlargest(count, (*numbers, *[0.0] * count)))


def _dot(x: Floats, weights: Floats | None) -> float:
    return float(x.sum() if weights is None else x @ weights)


def whole(x: float) -> int:
    """x · 2^SHIFT, what is below being cut off."""
    mantissa, exponent = math.frexp(x)
    places = exponent + SHIFT - 53
    whole = int(math.ldexp(mantissa, 53))
    return whole << places if places >= 0 else whole >> -places


def weights_of(rows: FloatRows, family: FamilyName, beta: Sequence[Fraction]) -> Floats:
    """w v of every row, as near as NumPy's exp is: no claim rests on it."""
    eta, _ = rows.eta(np.array([float(x) for x in beta]))
    v = rowwise(family, eta, rows.y, proven=False).variance
    return v if rows.weights is None else np.asarray(v * rows.weights)


def transformed(
    a: Floats, transform: Floats, y: Floats, weights: Floats | None, offset: Floats | None
) -> FloatRows:
    """From rows (rows, columns) whose entries were read to within three roundings."""
    doubt = (len(transform) + 6) * UNIT * 1.01 * (np.abs(transform) @ magnitudes(a))
    image = np.ascontiguousarray(a @ transform.T)
    return FloatRows(image, y, weights, offset, doubt, magnitudes(image))


def magnitudes(a: Floats) -> Floats:
    """The largest |a| of every column."""
    return np.asarray(np.maximum(a.max(axis=0, initial=0.0), -a.min(axis=0, initial=0.0)))
