"""New rows of a fitted model: the columns of the data, of which it makes its own, as doubles.

a table, a mapping of columns, a file   by name; in a mapping one value stands for every row
a Series                                one column: the one it is called after, or the only one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, InputError
from titan.moments import headings
from titan.moments.columns import Column
from titan.moments.model import Model, Readings
from titan.moments.sources import Block, open_source

Floats = npt.NDArray[np.float64]


def columns_to_predict(model: Model) -> list[str]:
    """What the columns of A and the offset are made of: neither the outcome nor weights."""
    offset = () if model.offset_factor is None else model.offset_factor.columns_needed()
    factors = [name for term in model.terms for f in term for name in f.columns_needed()]
    return list(dict.fromkeys([*factors, *offset]))


def evaluated(model: Model, rows: Any) -> Floats:
    """The columns of A, and the offset where there is one; NaN in a row with a gap.

    A mapping of single values is one row, without a second dimension.
    """
    needed = columns_to_predict(model)
    single = isinstance(rows, Mapping) and all(_is_single(value) for value in rows.values())
    if isinstance(rows, Mapping):
        missing = [name for name in needed if name not in rows]
        if missing:
            raise DataError(
                "the rows have no column " + " nor ".join(f'"{name}"' for name in missing),
                hint=headings.instead(missing, list(map(str, rows))),
            )
        rows = _together(rows, needed, single=single)
    source = open_source(rows)
    read = needed or source.column_names[:1]  # of a constant alone: as many as there are rows
    parts = list(source.each_block(lambda block: _of_block(model, block), columns=read))
    width = len(model.design) + (model.offset is not None)
    made: Floats = np.concatenate(parts) if parts else np.empty((0, width))
    return made[0] if single else made


def one_column(series: Any, needed: Sequence[str]) -> dict[str, Any]:
    """A Series as a table: the column it is called after, or the only one there is."""
    if series.name in needed:
        return {series.name: series}
    if not series.name and len(needed) == 1:
        return {needed[0]: series}
    raise InputError(
        f"a Series called {series.name!r} is one column, and not one of the model's",
        hint=f"give a table with {', '.join(needed)}; of one row, such as table.iloc[[0]]",
    )


def is_file(rows: Any) -> bool:
    return isinstance(rows, str | PathLike)


def is_series(rows: Any) -> bool:
    """Whether it is one column with a name, as pandas and Polars have them."""
    return hasattr(rows, "name") and not is_file(rows) and not hasattr(rows, "columns")


def _is_single(value: Any) -> bool:
    return isinstance(value, str) or np.ndim(value) == 0


def _together(rows: Mapping[Any, Any], needed: Sequence[str], *, single: bool) -> dict[str, Any]:
    """Those of the columns that are needed, one value standing for as many as the others have."""
    found = {name: rows[name] for name in needed or list(rows)[:1]}
    lengths = (len(v) for v in found.values() if not _is_single(v))
    length = 1 if single else max(lengths, default=1)
    return {n: [v] * length if _is_single(v) else v for n, v in found.items()}


def _of_block(model: Model, block: Block) -> Floats:
    """Rows without a gap are evaluated exactly, then rounded."""
    numbers, codes, gaps = {}, {}, np.zeros(block.rows, bool)
    for name in model.number_columns:
        if name in block.cells:  # the outcome need not be there
            numbers[name], gap = block.cells[name].numbers()
            gaps |= gap
    for category in model.categories:
        codes[category], gap = block.cells[category.column].codes(category.levels)
        gaps |= gap
    there = np.flatnonzero(~gaps)
    readings = Readings(block.rows, numbers, codes, block.place).take(there)
    columns, offset = model.evaluate_design(readings), model.evaluate_offset(readings)
    made = np.full((block.rows, len(columns) + (offset is not None)), np.nan)
    for j, column in enumerate([*columns, *([] if offset is None else [offset])]):
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
