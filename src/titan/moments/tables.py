"""Tables in memory as sources of rows, and streams of Arrow's.

pandas and Polars are never imported here: their tables say themselves what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from titan.errors import DataError
from titan.moments.arrow import pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Place
from titan.moments.cells import ArrowCells, Cells, ObjectCells
from titan.moments.sources import Source, check_distinct


class Table(Source):
    """Columns in memory: NumPy arrays, pandas series, or any sequences, all of one length."""

    def __init__(self, columns: Mapping[str, Any], *, decimal: bool, label: str) -> None:
        self.columns = {str(name): _sequence(name, values) for name, values in columns.items()}
        self.column_names = tuple(self.columns)
        self.label, self.decimal = label, decimal
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            (a, m), (b, n) = (of(lengths.items(), key=itemgetter(1)) for of in (min, max))
            raise DataError(f'{label}: column "{a}" has {m} rows and column "{b}" has {n}')
        self.rows = next(iter(lengths.values()), 0)

    @classmethod
    def of_frame(cls, frame: Any, *, decimal: bool, label: str) -> Table:
        """Of a pandas DataFrame, whose columns may have names of any type."""
        names = check_distinct([str(name) for name in frame.columns], label)
        columns = {name: frame.iloc[:, at] for at, name in enumerate(names)}
        return cls(columns, decimal=decimal, label=label)

    @classmethod
    def of_array(
        cls,
        array: np.ndarray[Any, Any],
        names: Sequence[str] | None,
        *,
        decimal: bool,
        label: str,
    ) -> Table:
        return cls(_array_columns(array, names), decimal=decimal, label=label)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for start in range(0, self.rows, size):
            stop, place = min(start + size, self.rows), Place(self.label, start)
            cells = {name: self._cells(name, start, stop, place) for name in columns}
            yield Block(stop - start, cells, place)

    def _cells(self, name: str, start: int, stop: int, place: Place) -> Cells:
        column = self.columns[name]
        values = getattr(column, "iloc", column)[start:stop]
        array = None if _holds_objects(values) else _arrow_array(name, values)
        if array is None:
            return ObjectCells(name, list(values), place, self.decimal)
        return ArrowCells(name, array, place, self.decimal)


class ArrowTable(Source):
    """Anything that speaks Arrow's stream interface: Arrow itself, Polars, DuckDB and others."""

    def __init__(self, data: Any, *, decimal: bool, label: str) -> None:
        self.data, self.decimal, self.label = data, decimal, label
        self._was_read = False
        names = getattr(getattr(data, "schema", None), "names", None)
        if not isinstance(names, list):  # as Arrow's own have it, whose streams are read only once
            names = self._reader().schema.names
        self.column_names = tuple(check_distinct(names, label))

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        rows = ArrowRows(tuple(columns), self.decimal)
        return rows.blocks(self._record_batches(), size, Place(self.label))

    def _reader(self) -> Any:
        try:
            return pa.RecordBatchReader.from_stream(self.data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise _not_arrow(self.data, self.label) from None
        except Exception as error:  # of the library that it comes from
            raise self._unreadable(error) from None

    def _record_batches(self) -> Iterator[Any]:
        """A reader of Arrow's forgets what it has read, and would have no rows the next time."""
        once = isinstance(self.data, pa.RecordBatchReader)
        before, self._was_read = once and self._was_read, True
        empty = True
        try:
            for batch in () if before else self._reader():
                empty = False
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from None
        if once and empty:
            found = "was read before" if before else "has no rows, or was read before"
            raise DataError(
                f"{self.label} {found}: a stream of Arrow's can be read only once",
                hint="pass a table: reader.read_all()",
            )

    def _unreadable(self, error: Exception) -> DataError:
        """Its message may quote a cell: only the kind of error is told."""
        return DataError(
            f"{self.label} cannot be read: {type(error).__name__}",
            hint="look at it with the library that it comes from",
        )


def _not_arrow(data: Any, label: str) -> DataError:
    """The table has a column of a type (such as Polars' Int128) that Arrow does not know."""
    for name in getattr(data, "columns", []):
        try:
            pa.chunked_array(data[name])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return DataError(
                f'column "{name}" of {label} holds {data[name].dtype}, which Arrow does not know',
                hint="turn it into decimals, text or shorter integers, or leave it out",
            )
        except (TypeError, LookupError, AttributeError):
            break
    return DataError(f"{label} holds columns that Arrow does not know")


def _array_columns(data: np.ndarray[Any, Any], names: Sequence[str] | None) -> dict[str, Any]:
    if data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    if data.ndim != 2 or names is None:
        raise DataError(
            f"an array of {data.ndim} dimensions"
            + (" whose columns have no names" if names is None else ""),
            hint='give a data frame, a mapping of columns such as {"y": y, "x": A[:, 0]}, or a '
            "structured array",
        )
    if len(names) != data.shape[1]:
        raise DataError(f"{len(names)} names for {data.shape[1]} columns")
    return {name: data[:, at] for at, name in enumerate(check_distinct(names, "the array"))}


def _sequence(name: Any, values: Any) -> Any:
    if isinstance(values, str | bytes) or not hasattr(values, "__getitem__"):
        raise DataError(f'column "{name}" is {type(values).__name__}, not a sequence')
    if isinstance(dimensions := getattr(values, "ndim", 1), int) and dimensions != 1:
        raise DataError(
            f'column "{name}" has {dimensions} dimensions, not one',
            hint="tables of several parties need a network between them",
        )
    return values


def _holds_objects(values: Any) -> bool:
    """Whether Arrow should not even try: Python's numbers, of which it may round some."""
    kind = getattr(values, "dtype", None)
    if kind is not None:
        return isinstance(kind, np.dtype) and kind.hasobject
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return False
    return not all(isinstance(value, float | str | None.__class__) for value in values)


def _arrow_array(name: str, values: Any) -> Any:
    try:
        if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
            return pa.chunked_array(values)
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        kind = getattr(values, "dtype", None)
        if kind is None:
            return None
        raise DataError(
            f'column "{name}" holds {kind}, where numbers or text were expected'
        ) from None
