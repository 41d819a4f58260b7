"""From a source and a model to a party's exact moments, and what robust standard errors need.

With e = b − aᵀx the residual of a row, w its weight (1 without weights), the row's score is the
vector w e a. The solution x is what all parties agree on, binary fractions; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.arithmetic import add, multiply, subtract
from titan.moments.columns import Column
from titan.moments.grain import Grain, grain_of, together
from titan.moments.gram import gram, weighted
from titan.moments.log_weights import log_sum
from titan.moments.model import Model, Readings
from titan.moments.moments import Moments
from titan.moments.reading import Reading, Result, read
from titan.moments.rows import Batch, Check, Count, Missing, ModelRows
from titan.moments.sources import Block, open_source

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Collected:
    """A party's moments, and how many of its rows were left out as incomplete.

    `weightless` rows, of weight zero, are among the moments' rows but hide nobody.
    """

    moments: Moments
    dropped: int
    weightless: int = 0
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many numbers of a column the check rounded."""
    counts: tuple[int, ...] = field(default=(), repr=False)
    """Whatever else was counted of the rows."""
    grains: tuple[Grain, ...] = field(default=(), repr=False)
    """Of what the columns of [A b] are multiples."""
    log_weights: int | None = field(default=None, repr=False)
    """Σ log w in units of `log_weights.FRACTION`; None without weights, or where one is zero."""


def collect(
    data: Any, model: Model, *, missing: Missing = "refuse", check: Check | None = None
) -> Collected:
    """Σ a aᵀ over the rows of [A b], or Σ w a aᵀ where the model has weights.

    `check` is given each block of rows before anything is made of them, and returns what is used.
    """
    return read(open_source(data), CollectMoments(ModelRows(model, missing, check)))


@dataclass(frozen=True)
class PartialMoments:
    """The moments of some rows. Parts add exactly, in any order and grouping."""

    moments: Moments
    count: Count
    weightless: int = 0
    counts: Counts | int = field(default=0, repr=False)
    grains: tuple[Grain, ...] = field(default=(), repr=False)
    log_weights: int | None = field(default=0, repr=False)

    def __add__(self, other: PartialMoments) -> PartialMoments:
        return PartialMoments(
            self.moments + other.moments,
            self.count + other.count,
            self.weightless + other.weightless,
            self.counts + other.counts,
            together(self.grains, other.grains),
            None
            if self.log_weights is None or other.log_weights is None
            else self.log_weights + other.log_weights,
        )


@dataclass(frozen=True)
class _OfModel(Reading[PartialMoments, Result]):
    """What is read of the rows that a model uses."""

    rows: ModelRows

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size


@dataclass(frozen=True)
class CollectMoments(_OfModel[Collected]):
    """`collect` as a reading, for one pass with others; `counting` counts the rows used."""

    counting: Callable[[Readings], Counts] | None = None

    def block(self, rows: Block) -> PartialMoments:
        return self.of_batch(*self.rows.batch(rows))

    def of_batch(self, batch: Batch | None, count: Count) -> PartialMoments:
        """From what the model has made of a block."""
        names = self.rows.model.names
        if batch is None:
            return PartialMoments(Moments.zero(names), count)
        counts = 0 if self.counting is None else self.counting(batch.readings)
        grains = tuple(map(grain_of, batch.columns))
        if batch.weights is None:
            return PartialMoments(gram(names, batch.columns), count, 0, counts, grains)
        weightless = int(np.count_nonzero(batch.weights.numbers == 0))
        moments = weighted(names, batch.columns, batch.weights)
        logs = log_sum(batch.weights)
        return PartialMoments(moments, count, weightless, counts, grains, logs)

    def finish(self, whole: PartialMoments, label: str) -> Collected:
        count, model = whole.count, self.rows.model
        count.check(label, self.rows.missing)
        found = model.constant or {}
        constant = tuple(found) if set(found.values()) == {1} else ()
        moments = replace(whole.moments, constant=constant, weights=model.weights)
        counts = () if self.counting is None else tuple(np.asarray(whole.counts).tolist())
        left_out = count.dropped, whole.weightless
        logs = None if model.weights is None else whole.log_weights
        return Collected(moments, *left_out, count.rounded, counts, whole.grains, logs)


@dataclass(frozen=True)
class CollectScores(_OfModel[Moments]):
    """Σ w² e² a aᵀ over a party's rows, which are read once more."""

    x: tuple[Fraction, ...]

    def block(self, rows: Block) -> PartialMoments:
        names = self.rows.model.names[:-1]
        batch, count = self.rows.batch(rows)
        found = Moments.zero(names) if batch is None else gram(names, self.scores(batch))
        return PartialMoments(found, count)

    def scores(self, batch: Batch) -> list[Column]:
        """w e a of every row."""
        return _scores(batch, self.x)

    def finish(self, whole: PartialMoments, label: str) -> Moments:
        whole.count.check(label, self.rows.missing)
        return whole.moments


def _scores(batch: Batch, x: Sequence[Fraction]) -> list[Column]:
    *design, response = batch.columns
    terms = [
        multiply(Column.constant(value, batch.rows), a) for value, a in zip(x, design, strict=True)
    ]
    residual = subtract(response, reduce(add, terms))
    if batch.weights is not None:
        residual = multiply(batch.weights, residual)
    return [multiply(residual, a) for a in design]


def summed_score(moments: Moments, x: Sequence[Fraction]) -> Moments:
    """s sᵀ of s = Σ w e a over a party's rows: Aᵀb − AᵀA x, so the moments of [A b] suffice."""
    n = len(x)
    sums = [
        moments.fraction(j, n) - sum(moments.fraction(j, k) * x[k] for k in range(n))
        for j in range(n)
    ]
    # Denominators hold no prime but 2 and 5, as those of moments do: the divisors are 1.
    return gram(moments.names[:n], [Column.of_fractions([value])[0] for value in sums])
