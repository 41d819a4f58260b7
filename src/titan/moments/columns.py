"""Exact columns: numbers as they were written, never as they were rounded.

A column of n numbers is an array and a unit: value_i = numbers_i · 2^two · 5^five, where numbers is

    float64   each entry the exact binary number it is (finite),
    int64     whole numbers,
    object    Python integers of any size.

Decimal text "37.20" is 3720 · 10^-2, so numbers = 3720, two = five = -2: a tenth stays a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Column:
    """n exact numbers: numbers · 2^two · 5^five. The numbers are secret and never printed."""

    numbers: npt.NDArray[Any] = field(repr=False)
    two: int = 0
    five: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def fractions(self) -> list[Fraction]:
        """Each entry as a fraction; slow, for tests and for small inputs."""
        unit = Fraction(2) ** self.two * Fraction(5) ** self.five
        if self.numbers.dtype == np.float64:
            return [Fraction(float(x)) * unit for x in self.numbers]
        return [int(x) * unit for x in self.numbers]
