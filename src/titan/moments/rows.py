"""From blocks of rows and a model to the exact columns of [A b]."""

# Rule 1: what is missing is refused, counted over the whole source, unless the caller says drop.
# Rule 2: rows that are dropped are counted.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.moments.cells import Mask
from titan.moments.columns import Column
from titan.moments.model import Model, Readings
from titan.moments.sources import BATCH_ROWS, Block
from titan.moments.terms import Category

Missing = Literal["refuse", "drop"]
Check = Callable[[Readings], Readings]
Rounding = Callable[[Sequence[Column]], list[Column]]

_BATCH_ENTRIES = 1 << 22
_LEAST_ROWS = 1024


@dataclass(frozen=True)
class Batch:
    """The columns of [A b] over some rows, in the order of the model's names."""

    columns: list[Column] = field(repr=False)
    rows: int
    readings: Readings = field(repr=False)
    """What they were made of."""
    weights: Column | None = field(default=None, repr=False)
    """w in Σ w a aᵀ, where the model has analytic weights: multiply one side by it."""


@dataclass(frozen=True)
class Count:
    """How many rows there were, how many can be used, and the gaps in each column."""

    rows: int
    used: int
    gaps: Mapping[str, int]
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many numbers the check rounded, where it did."""

    def __add__(self, other: Count) -> Count:
        gaps = {name: n + other.gaps[name] for name, n in self.gaps.items()}
        rounded = Counter(self.rounded) + Counter(other.rounded)
        return Count(self.rows + other.rows, self.used + other.used, gaps, rounded)

    @property
    def dropped(self) -> int:
        return self.rows - self.used

    def check(self, label: str, missing: Missing) -> None:
        """Refuse a source with gaps, unless they are dropped, or without a row that can be used."""
        gaps = [f'{n} in "{name}"' for name, n in self.gaps.items() if n]
        if gaps and missing == "refuse":
            listed = ", ".join([gaps[0].replace(" in ", " missing in ", 1), *gaps[1:]])
            raise DataError(
                f"{label} has values that are not there: {listed}",
                hint='missing="drop" leaves such rows out',
            )
        if not self.used:
            raise DataError(f"{label} has no {'complete ' if self.rows else ''}rows")


@dataclass(frozen=True)
class ModelRows:
    """What a model makes of blocks of rows; `check` may refuse or round those that are used.

    `rounding` is of the columns that the model makes of them.
    """

    model: Model
    missing: Missing = "refuse"
    check: Check | None = None
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.missing, str) or self.missing not in ("refuse", "drop"):
            said = f'missing={self.missing!r}, where "refuse" or "drop" was expected'
            raise DataError(said, choice="missing")

    @property
    def size(self) -> int:
        """How many rows to take at a time: fewer where the model has many columns."""
        return max(_LEAST_ROWS, min(BATCH_ROWS, _BATCH_ENTRIES // len(self.model.names)))

    def readings(self, block: Block) -> tuple[Readings, Mask, Count]:
        """What the model needs of all rows, which of these have a gap, and how many."""
        numbers: dict[str, Column] = {}
        codes: dict[Category, npt.NDArray[Any]] = {}
        gaps: dict[str, Mask] = {}
        for name in self.model.number_columns:
            numbers[name], gaps[name] = block.cells[name].numbers()
        for category in self.model.categories:
            name = category.column
            codes[category], gap = block.cells[name].codes(category.levels)
            gaps[name] = gap | gaps[name] if name in gaps else gap
        readings = Readings(block.rows, numbers, codes, block.place)
        missing = {name: int(np.count_nonzero(mask)) for name, mask in gaps.items()}
        incomplete = np.zeros(block.rows, bool)
        for name, count in missing.items():
            if count:
                incomplete |= gaps[name]
        used = block.rows - int(np.count_nonzero(incomplete))
        return readings, incomplete, Count(block.rows, used, missing)

    def used(self, block: Block) -> Mask:
        """The rows without gaps, but for those of weight 0, which are in no sum."""
        readings, incomplete, _ = self.readings(block)
        if (weights := self.model.weights) is not None:
            return np.asarray(~incomplete & (readings.numbers[weights].numbers != 0), bool)
        return ~incomplete

    def complete(self, block: Block) -> tuple[Readings | None, Count]:
        """The rows that are used, checked; None where gaps refuse the whole source."""
        readings, incomplete, count = self.readings(block)
        if count.dropped and self.missing == "refuse":
            return None, count
        if count.dropped:
            readings = readings.take(np.flatnonzero(~incomplete))
        if self.check is not None:
            readings = self.check(readings)
            count = replace(count, rounded=readings.rounded)
        return readings, count

    def batch(self, block: Block) -> tuple[Batch | None, Count]:
        """The exact columns of the rows that are used; None where gaps refuse the whole source."""
        readings, count = self.complete(block)
        if readings is None:
            return None, count
        weights = self.model.evaluate_weights(readings)
        columns = self.model.evaluate(readings)
        if self.rounding is not None:
            columns = self.rounding(columns)
        return Batch(columns, readings.rows, readings, weights), count
