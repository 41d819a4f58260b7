"""Matrices of exact rationals (python-flint) for finite-time least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from titan_lab.compare.case import Case
from titan_lab.compare.problem import Floats


def exact_weights(case: Case) -> Any:
    """The Metropolis weights, as fractions."""
    from flint import fmpq, fmpq_mat

    degree, W = case.network.in_degree.tolist(), fmpq_mat(case.m, case.m)
    for i, j in zip(case.network.senders.tolist(), case.network.receivers.tolist(), strict=True):
        W[i, j] = fmpq(1, 1 + max(degree[i], degree[j]))
    for i in range(case.m):
        W[i, i] = fmpq(1) - sum((W[i, j] for j in range(case.m) if j != i), fmpq(0))
    return W


def exact_moments(case: Case) -> tuple[list[Any], list[Any]]:
    """A_iᵀA_i and A_iᵀb_i of the floats as the exact numbers they are."""
    from flint import fmpq_mat

    grams, moments = [], []
    for A, b in zip(case.problem.A, case.problem.b, strict=True):
        matrix = fmpq_mat(len(b), case.n, _rationals(A))
        grams.append(matrix.transpose() * matrix)
        moments.append(matrix.transpose() * fmpq_mat(len(b), 1, _rationals(b)))
    return grams, moments


def _rationals(array: Floats) -> list[Any]:
    from flint import fmpq

    return [fmpq(*x.as_integer_ratio()) for x in array.reshape(-1).tolist()]


def zeros(rows: int, columns: int) -> Any:
    from flint import fmpq_mat

    return fmpq_mat(rows, columns)


def row(matrix: Any, i: int) -> list[Any]:
    return [matrix[i, j] for j in range(matrix.ncols())]


def longest(matrix: Any) -> int:
    """Of the longest numerator and denominator together."""
    entries: Sequence[Any] = matrix.entries()
    return max(int(x.p).bit_length() + int(x.q).bit_length() for x in entries)


def as_float(x: Any) -> float:
    try:
        return int(x.p) / int(x.q)
    except OverflowError:
        return float("inf")
