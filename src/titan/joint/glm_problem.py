"""What all know before the first step of a generalised linear model: coordinates and ranges."""

# Rule 1: from public numbers alone, in integers and fractions: the same at every party.

from __future__ import annotations

from fractions import Fraction

import numpy as np

from titan.errors import TitanError
from titan.generalised.elementary import Floats
from titan.generalised.rows import Layout
from titan.generalised.steps import Problem
from titan.joint.glm_rows import Ranges
from titan.leastsquares import PooledMoments
from titan.leastsquares.balls import nearest
from titan.leastsquares.pooled import as_vector
from titan.leastsquares.whitening import whiten
from titan.moments import Model
from titan.release.orthonormal import MOST_EXACT

_SHRINK = 1 - Fraction(1, 1 << 20)
"""So that Σ w a² is at most 1 whatever was rounded."""
_LOG2_E = Fraction(14427, 10_000)  # above 1/ln 2
_CONSTANT_BITS = 64
Matrix = tuple[tuple[Fraction, ...], ...]


def problem_of(
    moments: PooledMoments,
    layout: Layout,
    ranges: Ranges,
    model: Model,
    *,
    parties: int,
    bits: int,
    alpha: Fraction,
    rows: int,
) -> Problem:
    """From the pooled AᵀA, and where rows can lie."""
    scales = moments.scales
    transform = _transform(moments)
    scaled = [Fraction(2) ** s for s in scales]
    box = tuple((low / s, high / s) for (low, high), s in zip(ranges.columns, scaled, strict=True))
    constant = as_vector(model.constant, moments.names)
    along = None
    if constant is not None:
        along = [c * s for c, s in zip(constant, scaled, strict=True)]
    penalised = [alpha if name != model.constant_column else Fraction(0) for name in moments.names]
    return Problem(
        layout,
        parties,
        bits,
        scales,
        transform,
        _weight(moments, ranges, along, rows),
        box,
        None if along is None else _transposed_solve(transform, along),
        tuple(a / (s * s) for a, s in zip(penalised, scaled, strict=True)) if alpha else (),
        _first(layout, ranges),
    )


def in_coordinates(moments: PooledMoments, problem: Problem) -> Floats:
    """AᵀA of the columns as a problem has them, as doubles."""
    one = moments.denominator
    gram = np.array([[float(Fraction(int(x), one)) for x in row] for row in moments.gram])
    T = np.array([[float(x) for x in row] for row in problem.transform])
    return np.asarray(T @ gram @ T.T)


def _transform(moments: PooledMoments) -> Matrix:
    """As `coordinates`, where that is certain to leave no column longer than 1."""
    found = coordinates(moments)
    return found if _within(found, moments) else _identity(len(moments.names))


def coordinates(moments: PooledMoments, *, after: int = 0) -> Matrix:
    """The inverse Cholesky factor of AᵀA, as doubles; the identity where that cannot be had.

    Of the columns after the first so many it makes what these leave of them orthonormal: after the
    constant, the columns less their means.
    """
    n = len(moments.names)
    if n > MOST_EXACT:
        return _identity(n - after)
    try:
        W = whiten(moments)
    except TitanError:
        return _identity(n - after)  # with a penalty columns may depend on each other
    one, chosen = 1 << W.digits, W.matrix[after:, after:]
    rows = [[Fraction(nearest(Fraction(int(x), one) * _SHRINK)) for x in row] for row in chosen]
    return tuple(map(tuple, rows))


def _identity(n: int) -> Matrix:
    return tuple(tuple(_SHRINK * (j == k) for k in range(n)) for j in range(n))


def _within(transform: Matrix, moments: PooledMoments) -> bool:
    """Whether every column is of length 1 at most."""
    gram = [[Fraction(int(x), moments.denominator) for x in row] for row in moments.gram]
    for row in transform:
        image = [sum((t * g for t, g in zip(row, line, strict=True)), Fraction(0)) for line in gram]
        if sum((a * b for a, b in zip(row, image, strict=True)), Fraction(0)) > 1:
            return False
    return True


def _weight(
    moments: PooledMoments, ranges: Ranges, along: list[Fraction] | None, rows: int
) -> Fraction:
    """Σw at most: cᵀAᵀAc where Ac = 1, else by the largest weight."""
    most = max(ranges.weights[1], Fraction(0)) * rows
    if ranges.weights[0] == ranges.weights[1] or along is None:
        return max(most, Fraction(1, 1 << 60))
    there = [j for j, c in enumerate(along) if c]
    told = sum(
        along[j] * along[k] * Fraction(int(moments.gram[j, k]), moments.denominator)
        for j in there for k in there
    )  # fmt: skip
    return max(min(most, told * (1 + Fraction(1, 1 << 20))), Fraction(1, 1 << 60))


def _transposed_solve(transform: Matrix, along: list[Fraction]) -> tuple[Fraction, ...] | None:
    """c with Tᵀc = along, rounded."""
    from flint import fmpq, fmpq_mat

    n = len(along)
    entries = [fmpq(transform[k][j].numerator, transform[k][j].denominator)
               for j in range(n) for k in range(n)]  # fmt: skip
    right = fmpq_mat(n, 1, [fmpq(x.numerator, x.denominator) for x in along])
    try:
        found = fmpq_mat(n, n, entries).solve(right)
    except ZeroDivisionError:
        return None
    one = 1 << _CONSTANT_BITS
    return tuple(Fraction(round(Fraction(int(q.p), int(q.q)) * one), one) for q in found.entries())


def _first(layout: Layout, ranges: Ranges) -> int:
    """The power of two above every outcome and every exp(offset); 0 for 0 and 1."""
    if layout.family == "binomial":
        return 0
    largest = int(max(ranges.response[1], Fraction(1))).bit_length()
    offset = -int(-(ranges.offset[1] * _LOG2_E) // 1)
    return min(max(largest, offset, 0), 60)
