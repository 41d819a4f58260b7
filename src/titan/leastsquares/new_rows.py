"""New rows for a fitted model: raw columns, which its formula is evaluated on, or its own columns.

a table, a mapping of columns, a file   by name: the model's columns if all are there, otherwise
                                        the columns of the data, by the formula
a Series                                one column, by its name
anything else                           a matrix in the order of the coefficients
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.leastsquares.bounds import Floats
from titan.moments.columns import Column
from titan.moments.model import Model, Readings
from titan.moments.sources import Block, open_source
from titan.moments.terms import Category

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


def new_rows(rows: Any, fit: Regression) -> Floats:
    """One row of the design matrix for each of `rows`; a missing intercept is 1."""
    if isinstance(rows, str | PathLike) and fit.formula is not None and Path(rows).is_file():
        return _evaluated(rows, fit)
    named = _by_name(rows, fit)
    if named is None:
        return _matrix(lambda: np.asarray(rows, float), fit.names)
    absent = [name for name in fit.names if name not in named and name != fit.intercept]
    if absent and fit.formula is not None:
        return _evaluated(named, fit)
    if absent:
        raise InputError(
            f"the rows lack the column {absent[0]!r}", hint=f"give {', '.join(fit.names)}"
        )
    return _matrix(lambda: _stacked(named, fit.names), fit.names)


def _matrix(of: Any, names: Sequence[str]) -> Floats:
    try:
        matrix: Floats = of()
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


# -- by name ----------------------------------------------------------------------------------


def _stacked(rows: Mapping[str, npt.ArrayLike], names: Sequence[str]) -> Floats:
    shape = np.broadcast_shapes(*(np.shape(column) for column in rows.values()))
    columns = [np.asarray(rows.get(name, np.ones(shape)), np.float64) for name in names]
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _by_name(rows: Any, fit: Regression) -> Mapping[str, npt.ArrayLike] | None:
    """The columns of a mapping or of any table that names them; None for a plain matrix.

    pandas, polars and pyarrow all give a column by `table[name]`; the last has its names elsewhere.
    """
    if isinstance(rows, Mapping):
        return rows
    found = getattr(rows, "column_names", getattr(rows, "columns", None))
    if found is None:
        return _one_column(rows, fit) if hasattr(rows, "name") else None
    names = list(found)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two columns are called {name!r}", hint="rename one of them")
    return {name: rows[name] for name in names}


def _one_column(series: Any, fit: Regression) -> Mapping[str, npt.ArrayLike]:
    """A Series is a column: the one it is called after, or the only one there is."""
    needed = _needed(fit)
    if series.name in needed:
        return {series.name: series}
    if not series.name and len(needed) == 1:
        return {needed[0]: series}
    raise InputError(
        f"a Series called {series.name!r} is one column, and not one of the model's",
        hint=f"give a table with {', '.join(needed)}; of one row, such as table.iloc[[0]]",
    )


def _needed(fit: Regression) -> list[str]:
    own = [name for name in fit.names if name != fit.intercept]
    return own if fit.formula is None else list(dict.fromkeys([*_raw(Model(fit.formula)), *own]))


def _raw(model: Model, *, numbers_only: bool = False) -> list[str]:
    """The columns of the data that the right side reads."""
    factors = [factor for term in model.terms for factor in term]
    if numbers_only:
        factors = [factor for factor in factors if not isinstance(factor, Category)]
    return list(dict.fromkeys(name for factor in factors for name in factor.columns_needed()))


# -- by the formula ---------------------------------------------------------------------------


def _evaluated(rows: Any, fit: Regression) -> Floats:
    """The columns that the formula makes of raw ones; NaN in a row with a gap."""
    assert fit.formula is not None  # noqa: S101 - looked at before
    model = Model(fit.formula)
    scalar = isinstance(rows, Mapping) and all(_is_scalar(value) for value in rows.values())
    if scalar:
        rows = {name: [value] for name, value in rows.items()}
    needed = _raw(model)
    source = open_source(_together(rows, needed) if isinstance(rows, Mapping) else rows)
    source.check(needed)
    parts = list(source.each_block(lambda block: _design(model, block), columns=needed))
    made = np.concatenate(parts) if parts else np.empty((0, len(model.design)))
    matrix: Floats = made[:, [model.names.index(name) for name in fit.names]]
    return matrix[0] if scalar else matrix


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str) or np.ndim(value) == 0


def _together(rows: Mapping[Any, Any], needed: Sequence[str]) -> dict[str, Any]:
    """Those of the columns that are needed, one value standing for as many as the others have."""
    found = {name: rows[name] for name in needed if name in rows}
    length = max((len(v) for v in found.values() if not _is_scalar(v)), default=1)
    return {n: [v] * length if _is_scalar(v) else v for n, v in found.items()}


def _design(model: Model, block: Block) -> Floats:
    """Of one block, whose rows without a gap are evaluated exactly, then rounded to doubles."""
    numbers, codes, gaps = {}, {}, np.zeros(block.rows, bool)
    for name in _raw(model, numbers_only=True):
        numbers[name], gap = block.cells[name].numbers()
        gaps |= gap
    for category in model.categories:
        codes[category], gap = block.cells[category.column].codes(category.levels)
        gaps |= gap
    there = np.flatnonzero(~gaps)
    readings = Readings(block.rows, numbers, codes, block.place).take(there)
    made = np.full((block.rows, len(model.design)), np.nan)
    for j, column in enumerate(model.evaluate_design(readings)):
        made[there, j] = _doubles(column)
    return made


def _doubles(column: Column) -> Floats:
    """The nearest, or next to it."""
    if column.numbers.dtype == object:
        return np.array([float(value) for value in column.fractions()])
    numbers = column.numbers.astype(np.float64)
    if column.five < 0:
        numbers = numbers / 5.0**-column.five
    elif column.five:
        numbers = numbers * 5.0**column.five
    return np.ldexp(numbers, column.two)
