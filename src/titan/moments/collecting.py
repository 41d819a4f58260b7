"""From a source and a model to a party's exact moments, reading every row once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titan.moments.gram import Accumulator
from titan.moments.model import Model
from titan.moments.moments import Moments
from titan.moments.rows import Check, Missing, read_rows


@dataclass(frozen=True)
class Collected:
    """A party's moments, and how many of its rows were left out as incomplete.

    `weightless` rows, of weight zero, are among the moments' rows but hide nobody.
    """

    moments: Moments
    dropped: int
    weightless: int = 0


def collect(
    data: Any,
    model: Model,
    *,
    missing: Missing = "refuse",
    progress: Callable[[int], None] | None = None,
    check: Check | None = None,
) -> Collected:
    """Σ a aᵀ over the rows of [A b], or Σ w a aᵀ where the model has weights.

    `progress` is called with the number of rows read so far, `check` with each batch of rows before
    anything is made of them.
    """
    total, dropped, weightless = Accumulator(model.names), 0, 0
    for batch in read_rows(data, model, missing=missing, check=check):
        total.add(batch.columns, batch.weights)
        dropped += batch.dropped
        if batch.weights is not None:
            weightless += int(np.count_nonzero(batch.weights.numbers == 0))
        if progress is not None:
            progress(total.moments().rows + dropped)
    constant = tuple(model.constant or ())
    moments = replace(total.moments(), constant=constant, weights=model.weights)
    return Collected(moments, dropped, weightless)
