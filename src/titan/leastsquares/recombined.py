"""The same fit in other columns: A T in the place of A, T a matrix of fractions that all know.

The moments of A T are TᵀGT and Tᵀg, exactly; what A's may be off, theirs may be off |T|ᵀE|T|. The
coefficients are T⁻¹x, and their covariance, robust or not, is T⁻¹V T⁻ᵀ.
"""

# Rule 1: no rounding: numbers become longer, and bounds stay bounds.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from titan.leastsquares.pooled import PooledMoments, column_scales, integers
from titan.moments.centring import Centres, Centring, Combination

if TYPE_CHECKING:
    from flint import fmpq_mat

Matrix = Sequence[Sequence[Fraction]]


def centres_of(centring: Centring, moments: PooledMoments) -> Centres:
    """The means of what is centred, as exact as the moments are."""
    units = [Fraction(2) ** s for s in moments.scales]

    def products(one: Combination, other: Combination) -> Fraction:
        return sum(
            (
                u * v * units[j] * units[k] * Fraction(int(moments.gram[j, k]), moments.denominator)
                for j, u in enumerate(one)
                for k, v in enumerate(other)
                if u and v
            ),
            Fraction(0),
        )

    return centring.means(products, moments.rows)


def recombined(moments: PooledMoments, names: Sequence[str], matrix: Matrix) -> PooledMoments:
    """The moments of A T, whose columns are called so."""
    from flint import fmpz_mat

    n, units = len(names), [Fraction(2) ** s for s in moments.scales]
    times = [[value * unit for value in row] for row, unit in zip(matrix, units, strict=True)]
    common = lcm(*(value.denominator for row in times for value in row))
    whole = fmpz_mat([[int(value * common) for value in row] for row in times])
    gram = whole.transpose() * fmpz_mat(moments.gram.tolist()) * whole
    under = common**2 * moments.denominator
    scales = column_scales(Fraction(int(gram[j, j]), under) for j in range(n))
    smaller = [Fraction(2) ** -s for s in scales]
    shift = max(0, *scales)
    factors = integers([1 << (shift - s) for s in scales])
    numbers = integers([[int(v) for v in row] for row in gram.tolist()])
    sizes = [[abs(value) * smaller[j] for j, value in enumerate(row)] for row in times]
    errors = _errors(moments, sizes)
    return replace(
        moments,
        names=tuple(names),
        scales=scales,
        gram=numbers * factors[:, None] * factors,
        denominator=under << 2 * shift,
        rhs=tuple(
            sum((row[j] * g for row, g in zip(times, moments.rhs, strict=True)), Fraction(0)) * unit
            for j, unit in enumerate(smaller)
        ),
        gram_error=max((errors[j][k] for j in range(n) for k in range(j)), default=Fraction(0)),
        diagonal_error=tuple(errors[j][j] for j in range(n)),
        rhs_error=tuple(
            sum((row[j] * e for row, e in zip(sizes, moments.rhs_error, strict=True)), Fraction(0))
            for j in range(n)
        ),
    )


def _errors(moments: PooledMoments, sizes: Matrix) -> Matrix:
    """|T|ᵀE|T| in scaled units: E is e all over, but for the diagonal."""
    columns = list(zip(*sizes, strict=True))
    e, sums = moments.gram_error, [sum(column, Fraction(0)) for column in columns]
    more = [d - e for d in moments.diagonal_error]
    return [
        [
            e * sums[j] * sums[k]
            + sum((d * u * v for d, u, v in zip(more, one, other, strict=True)), Fraction(0))
            for k, other in enumerate(columns)
        ]
        for j, one in enumerate(columns)
    ]


def inverse_of(matrix: Matrix) -> list[list[Fraction]]:
    """T⁻¹."""
    return [
        [Fraction(int(value.p), int(value.q)) for value in row]
        for row in rational(matrix).inv().tolist()
    ]


def rational(matrix: Matrix) -> fmpq_mat:
    from flint import fmpq, fmpq_mat

    entries = [fmpq(value.numerator, value.denominator) for row in matrix for value in row]
    return fmpq_mat(len(matrix), len(matrix[0]), entries)


def applied(matrix: Matrix, vector: Sequence[Fraction]) -> list[Fraction]:
    """A matrix times a vector."""
    return [sum((r * v for r, v in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]
