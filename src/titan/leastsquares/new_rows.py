"""New rows for a fitted model: raw columns, which its formula is evaluated on, or its own columns.

a table, a mapping of columns, a file   by name: the model's columns if all are there, otherwise
                                        the columns of the data, by the formula
a Series                                one column, by its name
anything else                           a matrix in the order of the coefficients
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.leastsquares.bounds import Floats
from titan.moments.model import Model
from titan.moments.new_rows import columns_to_predict, evaluated, is_file, is_series, one_column


class Fitted(Protocol):
    """What rows are made for."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def intercept(self) -> str | None: ...
    @property
    def model(self) -> Model | None: ...


def new_rows(rows: Any, fit: Fitted) -> Floats:
    """One row of the design matrix for each of `rows`; a missing intercept is 1."""
    if rows is None:
        own = fit.names if fit.model is None else columns_to_predict(fit.model)
        raise InputError(
            "no rows are given, and a fit keeps none",
            hint=f"give a table with {', '.join(own) or 'as many rows as you like'}",
        )
    if is_file(rows) and fit.model is not None:
        return _evaluated(rows, fit)
    named = _by_name(rows, fit)
    if named is None:
        return _matrix(lambda: np.asarray(rows, float), fit.names)
    absent = [name for name in fit.names if name not in named and name != fit.intercept]
    if absent and fit.model is not None:
        return _evaluated(named, fit)
    if absent:
        raise InputError(
            f"the rows lack the column {absent[0]!r}", hint=f"give {', '.join(fit.names)}"
        )
    return _matrix(lambda: _stacked(named, fit.names), fit.names)


def _evaluated(rows: Any, fit: Fitted) -> Floats:
    """By the formula, in the order of the coefficients."""
    assert fit.model is not None  # noqa: S101 - looked at before
    matrix: Floats = evaluated(fit.model, rows)
    return matrix[..., [fit.model.names.index(name) for name in fit.names]]


def _matrix(of: Callable[[], Floats], names: Sequence[str]) -> Floats:
    try:
        matrix = of()
    except InputError:
        raise
    except Exception:  # of whatever library the numbers should come from
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


def _stacked(rows: Mapping[str, npt.ArrayLike], names: Sequence[str]) -> Floats:
    shape = np.broadcast_shapes(*(np.shape(column) for column in rows.values()))
    columns = [np.asarray(rows.get(name, np.ones(shape)), np.float64) for name in names]
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _by_name(rows: Any, fit: Fitted) -> Mapping[str, npt.ArrayLike] | None:
    """The columns of a mapping or of any table that names them; None for a plain matrix.

    pandas, polars and pyarrow all give a column by `table[name]`; the last has its names elsewhere.
    """
    if isinstance(rows, Mapping):
        return rows
    if is_series(rows):
        own = [name for name in fit.names if name != fit.intercept]
        raw = [] if fit.model is None else columns_to_predict(fit.model)
        return one_column(rows, list(dict.fromkeys([*raw, *own])))
    found = getattr(rows, "column_names", getattr(rows, "columns", None))
    if found is None:
        return None
    names = list(found)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns are called {name!r}", hint="rename one of them")
    return {name: rows[name] for name in names}
