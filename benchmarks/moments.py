"""Exact moments of 1,000,000 × 100 rows beside `A.T @ A` and `numpy.linalg.lstsq`, in one run.

Data are what a user has: one NumPy matrix, whose columns are strided views. The inexact product and
the moments take turns, and the shortest of their times counts; lstsq, which takes long, runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Row, ratio, seconds, side_by_side
from titan.moments import Column
from titan.moments.gram import gram

Matrix = npt.NDArray[Any]
SHAPE = (1_000_000, 100)


@dataclass(frozen=True)
class Case:
    """One kind of data, and the ratios that it must not exceed."""

    name: str
    draw: Callable[[np.random.Generator], Matrix]
    to_product: float
    to_lstsq: float
    five: int = 0


def _integers(rng: np.random.Generator) -> Matrix:
    return rng.integers(-(2**19), 2**19, SHAPE)


CASES = (
    Case("rng.random", lambda rng: rng.random(SHAPE), 12, 0.6),
    Case("rng.standard_normal", lambda rng: rng.standard_normal(SHAPE), 30, 1.2),
    Case("integers, 20 bits", _integers, 3, 0.2),
    Case("float32 of 20 bits", lambda rng: (_integers(rng) / 64).astype(np.float32), 3, 0.2),
    Case("decimals, 20 bits", _integers, 3, 0.2, five=-3),
)


def rows() -> Iterator[Row]:
    for case in CASES:
        yield from measure(case)


def measure(case: Case) -> list[Row]:
    """Both products by turns, then lstsq, on the same numbers."""
    matrix = case.draw(np.random.default_rng(1))
    floats = matrix.astype(np.float64, copy=False)
    if matrix.dtype == np.float32:
        matrix = floats
    moments, product = side_by_side(lambda: _moments(matrix, case.five), lambda: floats.T @ floats)
    response = floats.sum(axis=1)
    lstsq = seconds(lambda: np.linalg.lstsq(floats, response, rcond=None))
    what = f"exact moments, {SHAPE[0]:,} × {SHAPE[1]}, {case.name}"
    return [
        ratio(f"{what}: against A.T @ A", moments, product, case.to_product),
        ratio(f"{what}: against lstsq", moments, lstsq, case.to_lstsq),
    ]


def _moments(matrix: Matrix, five: int) -> None:
    names = [f"x{j}" for j in range(matrix.shape[1])]
    gram(names, [Column(matrix[:, j], five, five) for j in range(len(names))])
