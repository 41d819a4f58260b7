"""Which kind of source some data are; packages that a kind needs are loaded when it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from titan.errors import DataError
from titan.files import attempt
from titan.moments.csv_format import CsvFormat, RowsFile
from titan.moments.several_files import SeveralFiles, WithConstants, are_several, files_of
from titan.moments.sources import Source, name_file
from titan.moments.sql import Query, SqlRows
from titan.moments.tables import ArrowTable, Table

_EXCEL = (".xlsx", ".xlsm", ".xls")


def opened(
    data: Any, names: Sequence[str] | None, decimal: bool, label: str, written: CsvFormat
) -> Source:
    """As `open_source` says."""
    if isinstance(data, RowsFile):
        written = data.written
    if are_several(data):
        return _open_several(data, decimal, label, written)
    if isinstance(data, str | PathLike):
        path = Path(fspath(data))
        return _open_file(path, decimal, label, written)
    if isinstance(data, Query):
        return SqlRows(data, decimal=decimal, label=label)
    if isinstance(data, np.ndarray):
        return Table.of_array(data, names, decimal=decimal, label=label or "the table")
    return _open_table(data, decimal=decimal, label=label or "the table")


def _open_table(data: Any, *, decimal: bool, label: str) -> Source:
    """Kinds are told apart by what they can do: most of their packages are not loaded here."""
    if isinstance(data, Mapping):
        return Table(data, decimal=decimal, label=label)
    if hasattr(data, "to_delayed") and hasattr(data, "columns"):
        from titan.moments.dask_frames import DaskFrame

        return DaskFrame(data, decimal=decimal, label=label)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return Table.of_frame(data, decimal=decimal, label=label)
    if hasattr(data, "get_fragments"):
        from titan.moments.arrow_datasets import ArrowDataset

        return ArrowDataset(data, decimal=decimal, label=label)
    if hasattr(data, "collect_schema") and hasattr(data, "explain"):
        from titan.moments.lazy_frames import LazyRows

        return LazyRows(data, decimal=decimal, label=label)
    if hasattr(data, "__arrow_c_stream__"):
        return ArrowTable(data, decimal=decimal, label=label)
    raise DataError(
        f"{type(data).__name__} is not a table",
        hint="give a path, a pandas, Polars, Arrow or Dask table, an array, or a mapping of "
        "columns",
    )


def _open_several(data: Any, decimal: bool, label: str, written: CsvFormat) -> Source:
    found = files_of(data)
    if not found:
        raise DataError("a list without a file", hint="name at least one file")
    files: list[Source] = []
    for each in found:
        file = _open_file(each.path, decimal, label, written, each.name)
        files.append(WithConstants(file, each.constants) if each.constants else file)
    told = str(data) if isinstance(data, str | PathLike) else f"{len(found)} files"
    return SeveralFiles(files, name_file(told, label))


def _open_file(path: Path, decimal: bool, label: str, written: CsvFormat, name: str = "") -> Source:
    """One file, of the kind that its first bytes or its name say; errors call it `name`."""
    told, name = name_file(path, label), name_file(name or path.name, label)
    with attempt("read", told), path.open("rb") as file:
        start = file.read(4)
    if path.suffix.lower() in _EXCEL and start in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise DataError(f"{told} is an Excel file", hint="save it as CSV, and give that file")
    if start == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        from titan.moments.parquet_file import ParquetFile

        return ParquetFile(path, decimal=decimal, label=name)
    if path.suffix.lower() == ".npz":
        from titan.moments.matrix_file import open_matrix_file

        return open_matrix_file(path, decimal=decimal, label=name)
    from titan.moments.csv_file import CsvFile

    return CsvFile(path, label=name, written=written)
