"""What an exact solution gives away: the normal equations themselves, by lattice reduction.

Let all rows be integers, G = AᵀA and g = Aᵀb, and let somebody be told x* with G x* = g as exact
fractions, and nothing else. With a common denominator x* = p/q, every pair of a symmetric integer
matrix and an integer vector with

    Σ_k G_jk p_k − q g_j = 0        for j = 1 … n

is a point of a lattice of rank n(n+1)/2. A random lattice of its determinant, about |q|^n, has no
point much shorter than |q|^(2/(n+1)); since q is about the size of a determinant of G, that is
B^(2n/(n+1)) where G has entries of size B. The true pair has size B. It is the shortest point by
far, up to sign and a common factor, and LLL finds it. (Row by row there would be no such gap:
it is the symmetry that gives G away.)

If x* is rounded, G x − g is only small. Divided by the rounding it counts as further coordinates,
and the same reduction looks for the shortest point. The true pair stands out as long as x has more
bits in all than the pair; below that very many pairs fit as well, and nothing singles it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from titan.errors import InputError

_FINER = 1 << 10  # weights are integers; rounding them moves no size by more than this part


@dataclass(frozen=True)
class Equations:
    """G x = g in integers without a common factor, the diagonal of G not negative."""

    matrix: tuple[tuple[int, ...], ...]
    rhs: tuple[int, ...]


def equations_from(
    solution: Sequence[Fraction],
    *,
    sizes: Sequence[int] | None = None,
    error: Fraction | None = None,
) -> Equations:
    """The shortest symmetric integer equations that have this solution.

    `sizes` are rough sizes of the columns and, last, of the response, as anybody might guess them
    (an age is about 50): entries are measured against their products. `error` says how far a
    rounded solution may be from the exact one; without it the solution is taken as exact.
    """
    n = len(solution)
    sizes = [1] * (n + 1) if sizes is None else list(sizes)
    _check(solution, sizes, error)
    places = [(j, k) for j in range(n) for k in range(j, n)] + [(j, n) for j in range(n)]
    weights = _weights(places, sizes)
    conditions = [_condition(place, solution) for place in places]
    if error is None:
        factors = [Fraction(_certain(solution, weights))] * n
    else:
        factors = [Fraction(_largest(sizes), size * max(sizes)) / error for size in sizes[:n]]
    basis = [
        [weights[at] if at == other else 0 for other in range(len(places))]
        + [round(part * factor) for part, factor in zip(condition, factors, strict=True)]
        for at, condition in enumerate(conditions)
    ]
    shortest = _first_reduced(basis)
    return _equations(n, places, [v // w for v, w in zip(shortest, weights, strict=False)])


def _check(solution: Sequence[Fraction], sizes: Sequence[int], error: Fraction | None) -> None:
    if not solution:
        raise InputError(
            "the solution is empty: it has no unknowns", hint="give one fraction per column"
        )
    if len(sizes) != len(solution) + 1 or min(sizes) < 1:
        raise InputError(
            f"{len(sizes)} sizes for {len(solution)} columns and the response",
            hint="one whole number from 1 for each column, and one for the response",
        )
    if error is not None and error <= 0:
        raise InputError("the error is 0 or less", hint="leave it out if the solution is exact")


def _weights(places: Sequence[tuple[int, int]], sizes: Sequence[int]) -> list[int]:
    """What an entry is multiplied by, so that entries of the guessed sizes count alike."""
    return [_largest(sizes) // (sizes[j] * sizes[k]) for j, k in places]


def _largest(sizes: Sequence[int]) -> int:
    return max(sizes) ** 2 * _FINER


def _condition(place: tuple[int, int], x: Sequence[Fraction]) -> list[Fraction]:
    """What one more unit in this place of (G, g) adds to G x − g."""
    (j, k), n = place, len(x)
    added = [Fraction(0)] * n
    if k == n:
        added[j] = Fraction(-1)
    else:
        added[j] = x[k]
        added[k] = x[j]
    return added


def _certain(x: Sequence[Fraction], weights: Sequence[int]) -> int:
    """A factor that makes G x − g integer, and so dear that LLL's first vectors have it zero.

    q in one place of G and p in g is a point for each of the n(n+1)/2 places, so that the lattice
    has a basis within these sizes, and LLL stays within 2^((N-1)/2) times that.
    """
    q = math.lcm(*(part.denominator for part in x))
    largest = max(q, *(abs(part.numerator) * (q // part.denominator) for part in x))
    return q << (len(weights) + largest.bit_length() + max(weights).bit_length())


def _first_reduced(basis: list[list[int]]) -> list[int]:
    from flint import fmpz_mat

    reduced: Any = fmpz_mat(basis).lll()
    return [int(reduced[0, column]) for column in range(reduced.ncols())]


def _equations(n: int, places: Sequence[tuple[int, int]], entries: list[int]) -> Equations:
    common = math.gcd(*entries) * (-1 if entries[0] < 0 else 1)
    value = {place: entry // common for place, entry in zip(places, entries, strict=True)}
    matrix = tuple(tuple(value[min(j, k), max(j, k)] for k in range(n)) for j in range(n))
    return Equations(matrix, tuple(value[j, n] for j in range(n)))
