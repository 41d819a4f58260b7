"""From a source and a model to batches of the exact columns of [A b]."""

# Rule 1: what is missing is refused, counted over the whole source, unless the caller says drop.
# Rule 2: rows that are dropped are counted, and every batch says how many.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.moments.cells import Mask
from titan.moments.columns import Column
from titan.moments.model import Model, Readings
from titan.moments.sources import BATCH_ROWS, RawBatch, Source, open_source
from titan.moments.terms import Category

Missing = Literal["refuse", "drop"]
Check = Callable[[Readings], None]

_BATCH_ENTRIES = 1 << 22
_LEAST_ROWS = 1024


@dataclass(frozen=True)
class Batch:
    """The columns of [A b] over some rows, in the order of the model's names."""

    columns: list[Column] = field(repr=False)
    rows: int
    dropped: int = 0
    weights: Column | None = field(default=None, repr=False)
    """w in Σ w a aᵀ, where the model has analytic weights: multiply one side by it."""


def read_rows(
    data: Any,
    model: Model,
    *,
    missing: Missing = "refuse",
    batch_rows: int | None = None,
    check: Check | None = None,
) -> Iterator[Batch]:
    """The rows of a source (or of anything `open_source` takes), a batch at a time.

    With missing="refuse" a value that is not there ends the reading with a DataError that counts
    them by column; with "drop" its row is left out. Columns that the source lacks are refused at
    once, everything else as it is met. `check` looks at the rows that are kept, before anything is
    made of them, and may refuse them.
    """
    source = open_source(data)
    if missing not in ("refuse", "drop"):
        raise DataError(f'missing={missing!r}, where "refuse" or "drop" was expected')
    source.check(model.columns_needed)
    size = batch_rows or max(_LEAST_ROWS, min(BATCH_ROWS, _BATCH_ENTRIES // len(model.names)))
    return _batches(source, model, missing, size, check)


def _batches(
    source: Source, model: Model, missing: Missing, size: int, check: Check | None
) -> Iterator[Batch]:
    counts: Counter[str] = Counter()
    rows = kept = 0
    for raw in source.batches(model.columns_needed, size):
        rows += raw.rows
        readings, gaps = _read(raw, model)
        counts.update({name: int(mask.sum()) for name, mask in gaps.items()})
        if counts.total() and missing == "refuse":
            continue  # the rest is only counted
        batch = _batch(readings, gaps, model, check)
        kept += batch.rows
        yield batch
    if counts.total() and missing == "refuse":
        raise _refusal(source, counts)
    if not kept:
        raise DataError(
            f"{source.label} has no rows" if not rows else f"{source.label} has no complete rows"
        )


def _batch(readings: Readings, gaps: dict[str, Mask], model: Model, check: Check | None) -> Batch:
    incomplete = np.logical_or.reduce(list(gaps.values()))
    dropped = int(incomplete.sum())
    if dropped:
        readings = _take(readings, np.flatnonzero(~incomplete))
    if check is not None:
        check(readings)
    weights = model.evaluate_weights(readings)
    return Batch(model.evaluate(readings), readings.rows, dropped, weights)


def _read(raw: RawBatch, model: Model) -> tuple[Readings, dict[str, Mask]]:
    """What the model needs of some rows, and where it is missing."""
    numbers: dict[str, Column] = {}
    codes: dict[Category, npt.NDArray[Any]] = {}
    gaps: dict[str, Mask] = {}
    for name in model.number_columns:
        numbers[name], gaps[name] = raw.cells[name].numbers()
    for category in model.categories:
        name = category.column
        codes[category], gap = raw.cells[name].codes(category.levels)
        gaps[name] = gap | gaps[name] if name in gaps else gap
    return Readings(raw.rows, numbers, codes, raw.place), gaps


def _take(readings: Readings, rows: npt.NDArray[np.intp]) -> Readings:
    place = readings.place
    return Readings(
        len(rows),
        {name: column.take(rows) for name, column in readings.numbers.items()},
        {category: codes[rows] for category, codes in readings.codes.items()},
        lambda row: place(int(rows[row])),
    )


def _refusal(source: Source, counts: Counter[str]) -> DataError:
    first, *others = [f'{n} in "{name}"' for name, n in counts.items() if n]
    listed = ", ".join([first.replace(" in ", " missing in ", 1), *others])
    return DataError(
        f"{source.label} has values that are not there: {listed}",
        hint='missing="drop" leaves such rows out',
    )
