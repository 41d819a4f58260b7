"""Integers that fit real numbers told to many digits, found by lattice reduction."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpz_mat

_FINER = 1 << 12


def integer_solution(
    coefficients: Sequence[Sequence[Fraction]],
    told: Sequence[Fraction],
    sizes: Sequence[int],
    error: Fraction,
) -> list[int] | None:
    """The integers z, of about these sizes, with |Σ coefficients_ij z_j − told_i| ≤ error.

    The shortest vector of the lattice of all (z, coefficients · z − told · t) with t = ±1, if LLL
    finds one; each z_j is measured by its size, the rest by the error.
    """
    n, largest = len(sizes), max(sizes) * _FINER
    scale = [round(c / error * largest) for row in zip(*coefficients, strict=True) for c in row]
    m = len(told)
    basis = [
        [largest // sizes[j] if j == k else 0 for k in range(n)] + [0, *scale[j * m : j * m + m]]
        for j in range(n)
    ]
    basis.append([0] * n + [largest, *(round(-value / error * largest) for value in told)])
    reduced = fmpz_mat(basis).lll()
    for row in range(n + 1):
        if abs(t := int(reduced[row, n])) == largest:
            found = [int(reduced[row, j]) // basis[j][j] for j in range(n)]
            return [z * (1 if t > 0 else -1) for z in found]
    return None
