"""New rows for a fitted model: columns by name, or a matrix in the order of the coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.leastsquares.bounds import Floats


def design(rows: Any, names: Sequence[str], intercept: str | None) -> Floats:
    """One row of the matrix for each of `rows`; a missing intercept is 1."""
    named = _by_name(rows)
    try:
        matrix = np.asarray(rows, float) if named is None else _stacked(named, names, intercept)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(
            "the rows are not numbers, or not of one length",
            hint=f"give numbers for {', '.join(names)}",
        ) from None
    if matrix.ndim not in (1, 2) or matrix.shape[-1] != len(names):
        raise InputError(
            f"rows of shape {matrix.shape} for {len(names)} coefficients",
            hint=f"columns are {', '.join(names)}",
        )
    return matrix


def _stacked(
    rows: Mapping[str, npt.ArrayLike], names: Sequence[str], intercept: str | None
) -> Floats:
    shape = np.broadcast_shapes(*(np.shape(column) for column in rows.values()))
    missing = [name for name in names if name not in rows and name != intercept]
    if missing:
        raise InputError(f"the rows lack the column {missing[0]!r}")
    columns = [np.asarray(rows.get(name, np.ones(shape)), np.float64) for name in names]
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _by_name(rows: Any) -> Mapping[str, npt.ArrayLike] | None:
    """The columns of a mapping or of any table that names them; None for a plain matrix.

    pandas, polars and pyarrow all give a column by `table[name]`; the last has its names elsewhere.
    """
    if isinstance(rows, Mapping):
        return rows
    found = getattr(rows, "column_names", getattr(rows, "columns", None))
    if found is None:
        return None
    names = list(found)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns are called {name!r}", hint="rename one of them")
    return {name: rows[name] for name in names}
