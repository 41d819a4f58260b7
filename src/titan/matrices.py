"""One party's equations A x = b, as arrays of any kind of number, to exact moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, ReleaseError
from titan.inputs import as_array
from titan.joint.equations import SecretMoments
from titan.moments import Column
from titan.moments.gram import gram
from titan.moments.rational import RationalMoments
from titan.release.policy import Policy
from titan.ring.fixed_point import exact_number

_RANK, _TOLERANCE = 1e-12, 1e-6


def moments_of(party: str, part: Any, names: Sequence[str] | None) -> SecretMoments:
    """The moments of one pair (A, b)."""
    try:
        A, b = part
    except (TypeError, ValueError):
        raise DataError(f"{party!r} has no pair (A, b) of arrays") from None
    A, b = as_array(A), as_array(b)
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise DataError(
            f"{party!r} has A of shape {A.shape} and b of shape {b.shape}",
            hint="A has one row per equation, b one entry per row of A",
        )
    names = names or [f"x{j}" for j in range(1, A.shape[1] + 1)]
    if len(names) != A.shape[1]:
        raise DataError(f"{party!r} has {A.shape[1]} columns for {len(names)} names")
    response = "b"
    while response in names:  # a column of A may be called so
        response += "'"
    labels = [*names, response]
    if A.dtype == object or b.dtype == object:
        where = f"an entry of {party!r}"
        exact = [[Fraction(exact_number(x, where)) for x in column] for column in (*A.T, b)]
        return RationalMoments.of(labels, exact)
    try:
        return gram(labels, [Column(x) for x in _plain(party, A, b)])
    except DataError as error:
        raise DataError(f"{party!r}: {error.message}", hint=error.hint) from None


def refuse_leverage(parts: Mapping[str, Any], policy: Policy) -> None:
    """Refuse a row of A that is most of what all rows say in some direction, by its leverage."""
    k = policy.rows_per_cell
    if not k:
        return
    matrices = {party: np.asarray(as_array(A), np.float64) for party, (A, _) in parts.items()}
    largest = np.max([np.abs(A).max(axis=0, initial=0) for A in matrices.values()], axis=0)
    scaled = {party: A / np.where(largest > 0, largest, 1) for party, A in matrices.items()}
    _, singular, directions = np.linalg.svd(np.concatenate(list(scaled.values())), False)
    kept = singular > singular.max(initial=0) * _RANK
    whitening = directions[kept] / singular[kept, None]
    for party, A in scaled.items():
        if ((A @ whitening.T) ** 2).sum(axis=1).max(initial=0) > (1 + _TOLERANCE) / k:
            raise ReleaseError(
                f"a row of {party!r} weighs more than one of {k} in the system",
                hint=f"leave it out, use more rows, or {policy.lower('leverage')}",
                rule="leverage",
            )


def _plain(party: str, A: npt.NDArray[Any], b: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The columns of [A b] as a Column wants them, each contiguous."""
    columns = []
    for array in (*np.ascontiguousarray(A.T), b):
        if array.dtype.kind in "biu":
            fits = int(array.min(initial=0)) > -(2**63) and int(array.max(initial=0)) < 2**63
            columns.append(array.astype(np.int64 if fits else object))
        elif array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            columns.append(array.astype(np.float64))
        else:
            raise DataError(
                f"{party!r} has numbers of type {array.dtype}",
                hint="hand in floats, integers, Fractions or Decimals",
            )
    return columns
