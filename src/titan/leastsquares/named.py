"""A vector with names: what a regression reports for every column."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from titan.leastsquares.balls import Ball

Quantity = Ball | float
"""A number in a proven ball, or a plain one: zero, infinite or not defined."""


class Named(Mapping[str, float]):
    """Numbers by name or by position; `numpy.asarray` and `pandas.Series` take it as it is."""

    def __init__(self, names: Sequence[str], quantities: Sequence[Quantity]) -> None:
        self._at = {name: j for j, name in enumerate(names)}
        self.enclosures = tuple(quantities)

    def __getitem__(self, key: str | SupportsIndex) -> float:
        at = self._at[key] if isinstance(key, str) else operator.index(key)
        return float(self.enclosures[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array([float(quantity) for quantity in self.enclosures], dtype or np.float64)

    def enclosure(self, name: str) -> Quantity:
        """The ball around one of the numbers."""
        return self.enclosures[self._at[name]]

    def __repr__(self) -> str:
        return f"Named({', '.join(f'{name}={value:.6g}' for name, value in self.items())})"


def error_of(quantity: Quantity) -> float:
    """How far `float(quantity)` may be off; nothing is claimed where it is not defined."""
    if isinstance(quantity, Ball):
        return quantity.error
    return math.nan if math.isnan(quantity) else 0.0
