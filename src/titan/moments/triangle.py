"""A symmetric matrix kept as its lower triangle, row after row: (0,0) (1,0) (1,1) (2,0) …

Taking away the last columns leaves a prefix.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


def entries(columns: int) -> int:
    """How many different entries a symmetric matrix has."""
    return columns * (columns + 1) // 2


def pairs(columns: int) -> tuple[Positions, Positions]:
    """All (j, k) with k ≤ j, in order."""
    j, k = np.tril_indices(columns)
    return j.astype(np.int64, copy=False), k.astype(np.int64, copy=False)


def place(j: Positions, k: Positions) -> Positions:
    """Where the entries (j, k) = (k, j) lie."""
    larger, smaller = np.maximum(j, k), np.minimum(j, k)
    at: Positions = larger * (larger + 1) // 2 + smaller
    return at
