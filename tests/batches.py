"""The exact columns of all rows, a batch at a time, as readings of a model make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from titan.moments.collecting import CollectScores
from titan.moments.model import Model
from titan.moments.moments import Moments
from titan.moments.reading import read
from titan.moments.rows import Batch, Check, Count, Missing, ModelRows
from titan.moments.sources import Source, open_source


def read_rows(
    data: Any, model: Model, *, missing: Missing = "refuse", batch_rows: int | None = None
) -> Iterator[Batch]:
    """Once something is missing that must not be, the rest is only counted, and then refused."""
    source, rows = open_source(data), ModelRows(model, missing)
    source.check(model.columns_needed)
    return _batches(source, rows, batch_rows or rows.size)


def _batches(source: Source, rows: ModelRows, size: int) -> Iterator[Batch]:
    whole = Count(0, 0, Counter())
    for batch, count in source.each_block(rows.batch, columns=rows.model.columns_needed, size=size):
        whole = count + whole
        if batch is not None and (rows.missing == "drop" or not whole.dropped):
            yield batch
    whole.check(source.label, rows.missing)


def scores(
    data: Any,
    model: Model,
    x: Sequence[Fraction],
    *,
    missing: Missing = "refuse",
    check: Check | None = None,
) -> Moments:
    """Σ w² e² a aᵀ over all rows."""
    return read(open_source(data), CollectScores(ModelRows(model, missing, check), tuple(x)))
