"""What robust standard errors need of a party's rows, once everybody knows the solution.

With e = b − aᵀx the residual of a row, w its weight (1 without weights), the row's score is the
vector w e a. The solution x is what all parties agree on, binary fractions; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from titan.moments.arithmetic import add, multiply, subtract
from titan.moments.collecting import PartialMoments
from titan.moments.columns import Column
from titan.moments.gram import gram
from titan.moments.model import Model
from titan.moments.moments import Moments
from titan.moments.reading import Reading, read
from titan.moments.rows import Batch, Check, Missing, ModelRows
from titan.moments.sources import Block, open_source


def scores(
    data: Any,
    model: Model,
    x: Sequence[Fraction],
    *,
    missing: Missing = "refuse",
    check: Check | None = None,
) -> Moments:
    """Σ w² e² a aᵀ over a party's rows, which are read once more."""
    return read(open_source(data), CollectScores(ModelRows(model, missing, check), tuple(x)))


@dataclass(frozen=True)
class CollectScores(Reading[PartialMoments, Moments]):
    """`scores` as a reading, for one pass with others."""

    rows: ModelRows
    x: tuple[Fraction, ...]

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def block(self, rows: Block) -> PartialMoments:
        names = self.rows.model.names[:-1]
        batch, count = self.rows.batch(rows)
        found = Moments.zero(names) if batch is None else gram(names, _scores(batch, self.x))
        return PartialMoments(found, 0, count)

    def finish(self, whole: PartialMoments, label: str) -> Moments:
        whole.count.check(label, self.rows.missing)
        return whole.moments


def summed_score(moments: Moments, x: Sequence[Fraction]) -> Moments:
    """s sᵀ of s = Σ w e a over a party's rows: Aᵀb − AᵀA x, so the moments of [A b] suffice."""
    n = len(x)
    sums = [
        moments.fraction(j, n) - _dot([moments.fraction(j, k) for k in range(n)], x)
        for j in range(n)
    ]
    # Denominators hold no prime but 2 and 5, as those of moments do: the divisors are 1.
    return gram(moments.names[:n], [Column.of_fractions([value])[0] for value in sums])


def _scores(batch: Batch, x: Sequence[Fraction]) -> list[Column]:
    *design, response = batch.columns
    terms = [
        multiply(Column.constant(value, batch.rows), a) for value, a in zip(x, design, strict=True)
    ]
    residual = subtract(response, reduce(add, terms))
    if batch.weights is not None:
        residual = multiply(batch.weights, residual)
    return [multiply(residual, a) for a in design]


def _dot(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))
