"""From a source and a model to a party's exact moments, reading every row once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from titan.moments.gram import gram, weighted
from titan.moments.model import Model
from titan.moments.moments import Moments
from titan.moments.reading import Reading, read
from titan.moments.rows import Check, Count, Missing, ModelRows
from titan.moments.sources import Block, open_source


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
    weightless: int
    count: Count

    def __add__(self, other: PartialMoments) -> PartialMoments:
        return PartialMoments(
            self.moments + other.moments,
            self.weightless + other.weightless,
            self.count + other.count,
        )


@dataclass(frozen=True)
class CollectMoments(Reading[PartialMoments, Collected]):
    """`collect` as a reading, for one pass with others."""

    rows: ModelRows

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def block(self, rows: Block) -> PartialMoments:
        names = self.rows.model.names
        batch, count = self.rows.batch(rows)
        if batch is None:
            return PartialMoments(Moments.zero(names), 0, count)
        if batch.weights is None:
            return PartialMoments(gram(names, batch.columns), 0, count)
        weightless = int(np.count_nonzero(batch.weights.numbers == 0))
        return PartialMoments(weighted(names, batch.columns, batch.weights), weightless, count)

    def finish(self, whole: PartialMoments, label: str) -> Collected:
        whole.count.check(label, self.rows.missing)
        model = self.rows.model
        constant = tuple(model.constant or ())
        moments = replace(whole.moments, constant=constant, weights=model.weights)
        count = whole.count
        return Collected(moments, count.dropped, whole.weightless, count.rounded)
