"""One party's equations A x = b, as arrays of any kind of number, to exact moments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.inputs import as_array
from titan.joint.equations import SecretMoments
from titan.moments import Column
from titan.moments.gram import gram
from titan.moments.rational import RationalMoments
from titan.ring.fixed_point import exact_number


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
