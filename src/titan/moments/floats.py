"""Exact columns as float64, each number within two roundings of what it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column


def floats(column: Column, scale: int = 0) -> npt.NDArray[np.float64]:
    """The numbers over 2^scale, each within two roundings."""
    factor = column.unit / Fraction(2) ** scale
    if column.numbers.dtype == object or not 2.0**-500 < factor < 2.0**500:
        return np.array([float(value / Fraction(2) ** scale) for value in column.fractions()])
    return column.numbers.astype(np.float64) * float(factor)
