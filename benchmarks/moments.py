"""Exact moments of 1,000,000 × 100 rows beside `A.T @ A` and `numpy.linalg.lstsq`, in one run.

    python -m benchmarks.moments [--rows 1000000] [--columns 100] [--repeats 3]

A ratio says how many times longer the exact moments take. Data are what a user has: one NumPy
matrix, whose columns are strided views. The inexact product and the moments take turns, and the
shortest of their times counts; lstsq, which takes long, runs once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments import Accumulator, Column

Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One kind of data, and the ratios that it must not exceed."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int]], Matrix]
    to_product: float
    to_lstsq: float
    five: int = 0


def _integers(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return rng.integers(-(2**19), 2**19, shape)


CASES = (
    Case("rng.random", lambda rng, shape: rng.random(shape), 12, 0.6),
    Case("rng.standard_normal", lambda rng, shape: rng.standard_normal(shape), 30, 1.2),
    Case("integers, 20 bits", _integers, 3, 0.2),
    Case("float64 of 20 bits", lambda rng, shape: _integers(rng, shape) / 64, 3, 0.2),
    Case("decimals, 20 bits", _integers, 3, 0.2, five=-3),
)


@dataclass(frozen=True)
class Times:
    """Seconds."""

    product: float
    moments: float
    lstsq: float


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    options = _options(arguments)
    shape = (options.rows, options.columns)
    print(f"{shape[0]} × {shape[1]}; ratios, with what they may be at most")
    print(
        f"{'data':<20} {'A.T @ A':>9} {'moments':>9} {'lstsq':>9} {'/ A.T @ A':>14} {'/ lstsq':>14}"
    )
    for case in CASES:
        _print(case, measure(case, shape, options.repeats))


def measure(case: Case, shape: tuple[int, int], repeats: int) -> Times:
    """Both products by turns, then lstsq, on the same numbers."""
    matrix = case.draw(np.random.default_rng(1), shape)
    floats = matrix.astype(np.float64, copy=False)
    product = moments = float("inf")
    for _ in range(repeats):
        product = min(product, _seconds(lambda: floats.T @ floats))
        moments = min(moments, _seconds(lambda: _moments(matrix, case.five)))
    response = floats.sum(axis=1)
    return Times(product, moments, _seconds(lambda: np.linalg.lstsq(floats, response, rcond=None)))


def _moments(matrix: Matrix, five: int) -> None:
    names = [f"x{j}" for j in range(matrix.shape[1])]
    accumulator = Accumulator(names)
    accumulator.add([Column(matrix[:, j], five, five) for j in range(len(names))])
    accumulator.moments()


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def _print(case: Case, times: Times) -> None:
    ratios = (
        f"{times.moments / times.product:7.2f} (≤ {case.to_product:g})",
        f"{times.moments / times.lstsq:7.2f} (≤ {case.to_lstsq:g})",
    )
    print(
        f"{case.name:<20} {times.product:8.2f}s {times.moments:8.2f}s {times.lstsq:8.2f}s "
        f"{ratios[0]:>14} {ratios[1]:>14}",
        flush=True,
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
