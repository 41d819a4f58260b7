"""The certified solve beside SciPy's Cholesky factorisation of the same matrix, in one run.

    python -m benchmarks.solve

Rows of the table: number of columns, condition of the scaled Gram matrix, time of
`scipy.linalg.cho_factor` and `cho_solve`, time from pooled integers to certified solution, their
ratio (aim: at most 100 at n = 1000 up to a condition of 1e10), proven digits of the worst
coefficient, and how it was solved. Medians of alternating runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from titan.leastsquares import PooledMoments, solve_pooled

BITS = 128
PARTIES = 3


def system(n: int, condition: float) -> tuple[npt.NDArray[np.float64], PooledMoments]:
    """A Gram matrix with a unit diagonal and roughly this condition, and its pooled integers."""
    rng = np.random.default_rng(n)
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    gram = (basis * np.geomspace(1, 1 / condition, n)) @ basis.T
    norms = np.sqrt(np.diagonal(gram))
    gram = gram / norms[:, None] / norms
    gram = (gram + gram.T) / 2
    np.fill_diagonal(gram, 1.0)
    rhs = gram @ rng.standard_normal(n)
    upper = (gram[np.triu_indices(n, 1)] * 2.0**62).astype(np.int64).tolist()
    low = rng.integers(0, 2**62, len(upper)).tolist()  # no entry is short of bits
    moments = PooledMoments.of_sums(
        [f"x{j}" for j in range(n)],
        rows=10 * n,
        diagonal=[1] * n,
        rhs=[Fraction(v) for v in rhs.tolist()],
        off_diagonal=[(a << (BITS - 64)) + b for a, b in zip(upper, low, strict=True)],
        parties=PARTIES,
        bits=BITS,
    )
    return gram, moments


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    print("     n  condition  Cholesky ms  certified ms   ratio  digits  method")
    for n, repeats in ((30, 9), (100, 9), (300, 7), (1000, 5)):
        for condition in (1e2, 1e6, 1e10):
            gram, moments = system(n, condition)
            rhs = np.ones(n)
            plain, certified = [], []
            for _ in range(repeats):
                plain.append(seconds(lambda g=gram, r=rhs: cho_solve(cho_factor(g), r)))  # type: ignore[misc]
                certified.append(seconds(lambda m=moments: solve_pooled(m)))  # type: ignore[misc]
            solution = solve_pooled(moments)
            print(
                f"{n:6d}  {solution.condition:9.1e}  {1e3 * median(plain):11.2f}"
                f"  {1e3 * median(certified):12.1f}  {median(certified) / median(plain):6.0f}"
                f"  {min(solution.digits):6d}  {solution.method}"
            )


if __name__ == "__main__":
    main()
