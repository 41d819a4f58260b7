"""Where rows come from: tables in memory and files, all read in blocks of named cells.

    open_source(…)   CSV, Parquet and .npz paths, pandas, Polars and Arrow tables, NumPy arrays,
                     mappings of sequences
    split_by(…)      one source divided among parties by a column

Only the columns asked for are read, a block at a time, so that memory stays flat however long the
file is. pandas and Polars are never imported here: their tables say themselves what they hold.
"""

# Rule 1: `Source.map_blocks` is the one way over rows. `batches` is what a source implements, and
#         only sources call it.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import itemgetter, or_
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from titan.errors import DataError, InputError
from titan.files import attempt
from titan.moments import decimal_text, headings
from titan.moments.arrow import pa, pc
from titan.moments.cells import ArrowCells, Cells, ObjectCells, Rows, place_among
from titan.moments.csv_format import CsvFormat, RowsFile

BATCH_ROWS = 65_536

P = TypeVar("P")


@dataclass(frozen=True)
class Block:
    """Some rows: the cells of each column, and where each row comes from."""

    rows: int
    cells: Mapping[str, Cells] = field(repr=False)
    place: Callable[[int], str] = field(repr=False)

    def take(self, rows: Rows) -> Block:
        cells = {name: column.take(rows) for name, column in self.cells.items()}
        return Block(len(rows), cells, place_among(self.place, rows))


class Source(ABC):
    """Rows with named columns, which can be read any number of times."""

    label: str
    column_names: tuple[str, ...]

    @abstractmethod
    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        """All rows in order, at most `size` at a time, with the cells of these columns."""

    def map_blocks(
        self,
        f: Callable[[Block], P],
        merge: Callable[[P, P], P],
        *,
        columns: Sequence[str],
        size: int = BATCH_ROWS,
    ) -> P | None:
        """`f` of every block of at most `size` rows, merged; None where there are no rows.

        A source may hand blocks to other processes and merge what comes back in any grouping: let
        `f` and `merge` be things that can be pickled, such as methods of a frozen dataclass.
        """
        parts = self.each_block(f, columns=columns, size=size)
        first = next(parts, None)
        return first if first is None else reduce(merge, parts, first)

    def each_block(
        self, f: Callable[[Block], P], *, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[P]:
        """`f` of one block after the other, in order, for who writes rows down as they come."""
        self.check(columns)
        for block in self.batches(columns, size):
            yield f(block)  # which lives until the next is there: memory freed early is paid twice

    def place(self, row: int) -> str:
        """Where a row comes from, in words, for errors."""
        return f"{self.label}, row {row} (counted from 0)"

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there."""
        missing = [name for name in columns if name not in self.column_names]
        if missing:
            raise DataError(
                f"{self.label} has no column " + " nor ".join(f'"{name}"' for name in missing),
                hint=headings.instead(missing, self.column_names),
            )


def open_source(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    decimal: bool = False,
    label: str = "",
    csv: Any = None,
) -> Source:
    """The rows of a file or a table.

    `names` are the columns of a two-dimensional array. With `decimal` a float stands for the
    shortest decimal that rounds to it (37.2 is 372/10); without, for the binary number it is.
    `label` is what errors call a table, and what they add to the name of a file. `csv` says how
    CSV files are written: "europe", or a mapping as `CsvFormat` has it.
    """
    written = data.written if isinstance(data, RowsFile) else CsvFormat.of(csv)
    if isinstance(data, Source):
        return data
    if isinstance(data, str | PathLike):
        return _open_file(Path(fspath(data)), decimal, label, written)
    label = label or "the table"
    if isinstance(data, np.ndarray):
        data = _array_columns(data, names)
    elif hasattr(data, "iloc") and hasattr(data, "columns"):
        names = check_distinct([str(name) for name in data.columns], label)
        data = {name: data.iloc[:, at] for at, name in enumerate(names)}
    if isinstance(data, Mapping):
        return Table(data, decimal=decimal, label=label)
    if hasattr(data, "__arrow_c_stream__"):
        return ArrowTable(data, decimal=decimal, label=label)
    raise DataError(
        f"{type(data).__name__} is not a table",
        hint="give a path, a pandas, Polars or Arrow table, an array, or a mapping of columns",
    )


def split_by(source: Source, column: str) -> dict[str, Source]:
    """One source for each value of a column, in order of first appearance.

    Each party's source reads the whole one again and keeps its own rows.
    """
    parties = source.map_blocks(partial(_parties, column=column), or_, columns=[column]) or {}
    return {party: PartOf(source, column, party) for party in parties}


def _parties(block: Block, column: str) -> dict[str, None]:
    return dict.fromkeys(party_names(block, column).unique().to_pylist())


def party_names(block: Block, column: str) -> Any:
    """Who has each row, as Arrow strings; a row without a name is an error."""
    cells = block.cells[column]
    text = cells.text("name the parties by text or by whole numbers")
    missing = decimal_text.is_missing(text)
    if missing.any():
        raise cells.error(int(missing.argmax()), "no party is named")
    return text


class PartOf(Source):
    """The rows of another source where one column has a given value."""

    def __init__(self, source: Source, column: str, value: str) -> None:
        self.source, self.column, self.value = source, column, value
        self.label = f'{source.label} where {column} is "{value}"'
        self.column_names = source.column_names

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for batch in self.source.batches(list(dict.fromkeys([*columns, self.column])), size):
            mine = np.asarray(pc.equal(batch.cells[self.column].text(), self.value))
            if mine.any():
                yield batch.take(np.flatnonzero(mine))


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

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for start in range(0, self.rows, size):
            stop = min(start + size, self.rows)
            place = _from(start, self.place)
            cells = {name: self._cells(name, start, stop, place) for name in columns}
            yield Block(stop - start, cells, place)

    def _cells(self, name: str, start: int, stop: int, place: Callable[[int], str]) -> Cells:
        column = self.columns[name]
        values = getattr(column, "iloc", column)[start:stop]
        array = None if _holds_objects(values) else _arrow_array(name, values)
        if array is None:
            return ObjectCells(name, list(values), place, self.decimal)
        return ArrowCells(name, array, place, self.decimal)


class ArrowSource(Source):
    """Rows that come as Arrow's record batches, here cut and joined to `size` rows each."""

    decimal = False
    decimal_comma = False

    @abstractmethod
    def record_batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """All rows, in batches of any size that have these columns and perhaps others."""

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        at = 0
        for part in _resized(self.record_batches(columns, size), size):
            place = _from(at, self.place)
            cells: dict[str, Cells] = {
                name: ArrowCells(name, part[name], place, self.decimal, self.decimal_comma)
                for name in columns
            }
            yield Block(part.num_rows, cells, place)
            at += part.num_rows


class ArrowTable(ArrowSource):
    """Anything that speaks Arrow's stream interface: Arrow itself, Polars, DuckDB and others."""

    def __init__(self, data: Any, *, decimal: bool, label: str) -> None:
        self.data, self.decimal, self.label = data, decimal, label
        self._was_read = False
        names = getattr(getattr(data, "schema", None), "names", None)
        if not isinstance(names, list):  # as Arrow's own have it, whose streams are read only once
            names = self._reader().schema.names
        self.column_names = tuple(check_distinct(names, label))

    def _reader(self) -> Any:
        try:
            return pa.RecordBatchReader.from_stream(self.data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise _not_arrow(self.data, self.label) from None

    def record_batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """A reader of Arrow's forgets what it has read, and would have no rows the next time."""
        once = isinstance(self.data, pa.RecordBatchReader)
        before, self._was_read = once and self._was_read, True
        empty = True
        for batch in () if before else self._reader():
            empty = False
            yield batch
        if once and empty:
            found = "was read before" if before else "has no rows, or was read before"
            raise DataError(
                f"{self.label} {found}: a stream of Arrow's can be read only once",
                hint="pass a table: reader.read_all()",
            )


def _resized(batches: Any, size: int) -> Iterator[Any]:
    """Tables of exactly `size` rows, but for the last; nothing is copied here."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= size:
            table = pa.Table.from_batches(waiting)
            whole = rows - rows % size
            yield from (table.slice(start, size) for start in range(0, whole, size))
            waiting, rows = table.slice(whole).to_batches(), rows - whole
    if rows:
        yield pa.Table.from_batches(waiting)


def name_file(name: str | Path, label: str) -> str:
    """How errors speak of a file; `label` says whose it is, where that is known."""
    return f"{name} ({label})" if label else str(name)


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


_EXCEL = (".xlsx", ".xlsm", ".xls")


def _open_file(path: Path, decimal: bool, label: str, written: CsvFormat) -> Source:
    from titan.moments.files import CsvFile, ParquetFile, open_matrix_file

    with attempt("read", name_file(path, label)), path.open("rb") as file:
        start = file.read(4)
    if path.suffix.lower() in _EXCEL and start in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise DataError(
            f"{name_file(path, label)} is an Excel file", hint="save it as CSV, and give that file"
        )
    if start == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        return ParquetFile(path, decimal=decimal, label=label)
    if path.suffix.lower() == ".npz":
        return open_matrix_file(path, decimal=decimal, label=label)
    return CsvFile(path, label=label, written=written)


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


def check_distinct(
    names: Sequence[str], label: str, error: type[InputError] = DataError
) -> Sequence[str]:
    """The names, if no two are equal."""
    name, times = max(Counter(names).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        if not headings.may_be_shown(names):
            raise error(f"{label} has two columns of one name", hint=headings.NO_HEADER)
        raise error(f'{label} has two columns called "{name}"', hint="rename one of them")
    return names


def _from(start: int, place: Callable[[int], str]) -> Callable[[int], str]:
    return lambda row: place(start + row)


def _sequence(name: Any, values: Any) -> Any:
    if isinstance(values, str | bytes) or not hasattr(values, "__getitem__"):
        raise DataError(f'column "{name}" is {type(values).__name__}, not a sequence')
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise DataError(f'column "{name}" has {values.ndim} dimensions, not one')
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
