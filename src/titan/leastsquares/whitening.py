"""A public matrix W that makes the pooled columns orthonormal: W G Wᵀ = I, all but exactly.

G is the scaled Gram matrix of `PooledMoments`, W the inverse of its Cholesky factor. Two things are
seen in these coordinates as they are. The squared length of a row's image W a is its leverage, from
0 to 1. And the meat of robust errors is M' = W M Wᵀ, whose entries are of one size, that of the
residual variance, so that one unit rounds them all alike.

Elimination is in integers of fixed point, so that all machines find the same W. How far it is from
the truth is not estimated but computed: every entry of W G Wᵀ − I, exactly.
"""

# Rule 1: nothing here depends on floats, or on the order in which a machine adds.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from titan.leastsquares.dependence import no_rows, rank_error
from titan.leastsquares.pooled import (
    Integers,
    PooledMoments,
    bit_length,
    integers,
    over_common,
)
from titan.leastsquares.precise import rank_of

if TYPE_CHECKING:
    from flint import fmpz_mat

    from titan.moments import Moments

_FIRST_DIGITS = 384
_MOST_DIGITS = 1536  # where the moments are rounded
_GOOD_BITS = 128
"""Every entry of W G Wᵀ is within 2^-128 of the identity's."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """W, one row for each column that does not depend on those before it."""

    scales: tuple[int, ...]
    """The column j of A enters divided by 2^scales_j."""
    matrix: Integers = field(repr=False)
    """W in units of 2^-digits, (rank, columns), lower triangular."""
    digits: int
    defect: Fraction
    """No entry of W G̃ Wᵀ is farther from the identity's."""

    def flint(self) -> fmpz_mat:
        from flint import fmpz_mat

        return fmpz_mat(self.matrix.tolist())

    def reach(self) -> Fraction:
        """The largest Σ_k |W_jk|: an error e in every entry of G is e · reach² in W G Wᵀ."""
        return Fraction(int(np.abs(self.matrix).sum(axis=1).max()), 1 << self.digits)

    def distance(self, moments: PooledMoments) -> Fraction:
        """η ≥ ‖W G Wᵀ − I‖ for the true G, of which these are the moments."""
        error = max(moments.gram_error, *moments.diagonal_error)
        return len(self.matrix) * (self.defect + error * self.reach() ** 2)

    def images(self, rows: Sequence[Sequence[Fraction]]) -> tuple[fmpz_mat, Fraction]:
        """R Wᵀ as whole numbers times a unit, for rows R in the units of the columns."""
        from flint import fmpz_mat

        units = [Fraction(2) ** -s for s in self.scales]
        scaled = [[r * u for r, u in zip(row, units, strict=True)] for row in rows]
        common = math.lcm(*(value.denominator for row in scaled for value in row))
        whole = fmpz_mat([[int(value * common) for value in row] for row in scaled])
        return whole * self.flint().transpose(), Fraction(1, common << self.digits)

    def image(self, vector: list[Fraction]) -> list[Fraction]:
        """W v."""
        whole, common = over_common(vector)
        return [Fraction(int(x), common << self.digits) for x in self.matrix.dot(whole)]

    def transposed(self, vector: list[Fraction]) -> list[Fraction]:
        """Wᵀ v."""
        whole, common = over_common(vector)
        return [Fraction(int(x), common << self.digits) for x in whole.dot(self.matrix)]

    def of_moments(self, moments: Moments, unit: Fraction) -> list[int]:
        """W M Wᵀ for the exact moments M of the columns of A, in units of `unit`.

        The lower triangle, row after row; every entry is rounded once, half to even.
        """
        from flint import fmpz_mat

        pairs = zip(moments.units, self.scales, strict=True)
        factors = [Fraction(2) ** (two - s) * Fraction(5) ** five for (two, five), s in pairs]
        common = math.lcm(*(factor.denominator for factor in factors))
        whole = self.matrix * integers([int(factor * common) for factor in factors])
        left = fmpz_mat(whole.tolist())
        product = left * moments.matrix() * left.transpose()
        inverse = 1 / (unit * common**2 * (1 << 2 * self.digits))
        lower = zip(*np.tril_indices(len(whole)), strict=True)
        return [round(int(product[int(j), int(k)]) * inverse) for j, k in lower]


def whiten(moments: PooledMoments, *, full_rank: bool = True) -> Whitening:
    """RankError, naming columns, where they depend on each other and that is not allowed."""
    digits, n = _FIRST_DIGITS, len(moments.names)
    rank = None  # found out only where it matters
    while digits <= _most_digits(moments):
        fixed: Integers = (moments.gram << digits) // moments.denominator
        found = eliminate(fixed, digits)
        if len(found) < n and rank is None:
            rank = rank_of(moments)
            if full_rank and rank < n:
                break
        if len(found) == n or (not full_rank and (len(found) == rank or not moments.exact)):
            defect = _defect(moments, found, digits)
            if defect <= Fraction(1, 1 << _GOOD_BITS):
                return Whitening(moments.scales, found, digits, defect)
        digits *= 2
    raise rank_error(moments)


def _most_digits(moments: PooledMoments) -> int:
    """Where nothing was rounded, by Hadamard's bound on the determinant: any rank must be found."""
    n, bits = len(moments.names), bit_length(moments.gram)
    if not moments.exact:
        return _MOST_DIGITS
    return 8 * n * (bits + n.bit_length() + 4) + 2 * _FIRST_DIGITS


def eliminate(matrix: Integers, digits: int) -> Integers:
    """The rows of L⁻¹ for a symmetric matrix L Lᵀ, all in units of 2^-digits.

    A column whose pivot is at most 2^-(digits/2), the matrix having entries up to 1, has no row.
    One that is below zero by more than was rounded is an error: no rows have such a matrix.
    """
    n, schur = len(matrix), matrix.copy()
    expansion = integers(np.eye(n, dtype=int).tolist()) << digits
    rows = []
    for j in range(n):
        pivot, below = int(schur[j, j]), slice(j + 1, n)
        if pivot < -1 << (3 * digits // 4):
            raise no_rows("a square below zero")
        if pivot <= 1 << (digits // 2):
            continue
        rows.append((expansion[j] << digits) // math.isqrt(pivot << digits))
        factors = (schur[below, j] << digits) // pivot
        schur[below, below] -= np.multiply.outer(factors, schur[j, below]) >> digits
        expansion[below, : j + 1] -= np.multiply.outer(factors, expansion[j, : j + 1]) >> digits
    return integers(rows) if rows else np.empty((0, n), object)


def _defect(moments: PooledMoments, rows: Integers, digits: int) -> Fraction:
    """The largest entry of |W G̃ Wᵀ − I|, exactly."""
    from flint import fmpz_mat

    if not len(rows):
        return Fraction(0)
    left, one = fmpz_mat(rows.tolist()), moments.denominator << (2 * digits)
    product = left * fmpz_mat(moments.gram.tolist()) * left.transpose()
    r = range(len(rows))
    largest = max(abs(int(product[i, j]) - (one if i == j else 0)) for i in r for j in r)
    return Fraction(largest, one)
