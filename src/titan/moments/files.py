"""CSV, Parquet and .npz files as sources of rows, the former two read in batches.

CSV is read as text and nothing but text: Arrow's own guess would be doubles, and 0.1 would be lost.
"""

# Rule 1: Arrow's messages may quote a row; ours never pass them on.
# Rule 2: a line number is worked out only when something is wrong, by reading the file again.
# Rule 3: nothing in a file is executed: arrays of Python objects are refused, not unpickled.

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import FileError
from titan.moments.arrow import arrow_csv, pa, parquet
from titan.moments.csv_format import PLAIN, CsvFormat
from titan.moments.sources import ArrowSource, Table, check_distinct, name_file

_BLOCK_BYTES = 2 << 20  # of which Arrow reads up to 32 ahead
_BUFFER_BYTES = 1 << 20
_RAGGED = "every line needs as many cells as the header; put a cell that holds a comma into quotes"
_MATRICES = "write it with numpy.savez(file, A=A, b=b), A having one row for each entry of b"
_EUROPE = (
    'csv="europe" if Excel wrote it in Europe (semicolons, decimal commas, cp1252); '
    'csv={"delimiter": ";"} if only the semicolons are such; or save it with commas between cells '
    "and points in numbers, in UTF-8"
)
_TABS = 'csv={"delimiter": "tab"}; or let the file\'s name end in .tsv'
_NOT_TEXT = 'save it as UTF-8; csv={"encoding": "cp1252"} if it is of many an Excel'
_UTF8 = ("utf-8", "utf-8-sig")


class CsvFile(ArrowSource):
    """A CSV file with a header; in UTF-8, and commas, or tabs where the name ends in .tsv.

    Where it is written in another way, `written` says how.

    Cells may be quoted and hold line breaks; empty lines are skipped; a compressed file (.gz, .bz2)
    is read as it is. For a file that may have no header, `names` looks at the first record's cells
    and returns names for the columns, or None where the cells are the names. Errors name the file,
    and `label`, where given, besides.
    """

    def __init__(
        self,
        path: Path,
        *,
        label: str = "",
        names: Callable[[Sequence[str]], Sequence[str] | None] = lambda first: None,
        written: CsvFormat = PLAIN,
    ) -> None:
        self.path = path
        self.label = name_file(path.name, label)
        suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
        self.delimiter = written.delimiter or ("\t" if ".tsv" in suffixes else ",")
        self.encoding, self.decimal_comma = written.encoding, written.decimal_comma
        first = self._read_header()
        made = names(first)
        self._named = made is not None
        self._header = first if made is None else list(made)
        self.column_names = tuple(name.strip() for name in self._header)
        check_distinct(self.column_names, f"{self.label}, line 1,", FileError)

    def record_batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        raw = [self._header[self.column_names.index(name)] for name in columns]
        options = {
            "read_options": arrow_csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                column_names=self._header if self._named else None,
                encoding="utf8" if self.encoding in _UTF8 else self.encoding,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in raw},
                include_columns=raw,
                strings_can_be_null=False,
            ),
        }
        try:
            with self._bytes() as file, arrow_csv.open_csv(file, **options) as reader:
                for batch in reader:
                    yield batch.rename_columns(list(columns))
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError):
            if not self._is_only_a_header():
                raise self._diagnosis() from None

    # -- what is wrong, and where ---------------------------------------------------------------

    def place(self, row: int) -> str:
        try:
            for number, (line, _) in enumerate(self._records()):
                if number == row + (not self._named):  # a header is a record
                    return f"{self.label}, line {line}"
        except (csv.Error, OSError, UnicodeError):
            pass
        return f"{self.label}, row {row + 1}"

    def _is_only_a_header(self) -> bool:
        """Arrow refuses a header whose line does not end: it lacks rows, and is not wrong."""
        try:
            return not self._named and len(list(islice(self._records(), 2))) == 1
        except (csv.Error, OSError, UnicodeError):
            return False

    def _diagnosis(self) -> FileError:
        """Arrow refused the file: find the first record that is not as the header says."""
        line = 1
        try:
            for line, record in self._records():
                if _not_text(record):
                    return self._not_text(line)
                if len(record) != len(self._header):
                    found = f"{len(record)} cells, where the header has {len(self._header)}"
                    return self._error(line, found, hint=_RAGGED)
        except (csv.Error, OSError, UnicodeError):
            return FileError(f"{self.label}, after line {line}: not readable as CSV")
        return FileError(f"{self.label} is not readable as CSV")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record with the line where it begins, empty lines left out."""
        bytes_ = self._bytes()
        encoding = "utf-8-sig" if self.encoding in _UTF8 else self.encoding
        with io.TextIOWrapper(bytes_, encoding, "surrogateescape", newline="") as text:
            reader = csv.reader(text, delimiter=self.delimiter)
            line = 1
            for record in reader:
                if record:
                    yield line, record
                line = reader.line_num + 1

    def _read_header(self) -> list[str]:
        try:
            line, header = next(self._records(), (0, []))
        except (csv.Error, OSError, UnicodeError):
            raise self._error(1, "not readable as CSV", hint=_EUROPE) from None
        if not header:
            raise FileError(f"{self.label} is empty", hint="the first line names the columns")
        for name, sign, hint in (("semicolons", ";", _EUROPE), ("tabs", "\t", _TABS)):
            if len(header) == 1 and sign in header[0]:
                found = f"cells between {name}, where {self._between} were expected"
                raise self._error(line, found, hint=hint)
        if len(header) == 1 and self.delimiter == ";" and "," in header[0]:
            found = "cells between commas, where semicolons were expected"
            raise self._error(line, found, hint="it needs no word on how it is written")
        if _not_text(header):
            raise self._not_text(line)
        return header

    @property
    def _between(self) -> str:
        names = {",": "commas", ";": "semicolons", "\t": "tabs"}
        return names.get(self.delimiter, f"{self.delimiter!r}")

    def _not_text(self, line: int) -> FileError:
        found = "UTF-8" if self.encoding in _UTF8 else self.encoding
        return self._error(line, f"not {found} text", hint=_NOT_TEXT)

    def _error(self, line: int, found: str, *, hint: str = "") -> FileError:
        return FileError(f"{self.label}, line {line}: {found}", hint=hint)

    def _bytes(self) -> Any:
        return pa.input_stream(str(self.path), compression="detect", buffer_size=_BUFFER_BYTES)


def _not_text(record: list[str]) -> bool:
    """Whether some byte could not be decoded: it is then a lone surrogate."""
    return not "".join(record).isascii() and any("\udc80" <= c <= "\udcff" for c in "".join(record))


class ParquetFile(ArrowSource):
    """A Parquet file; its pages are read as they are needed."""

    def __init__(self, path: Path, *, decimal: bool, label: str = "") -> None:
        self.path = path
        self.label = name_file(path.name, label)
        self.decimal = decimal
        with self._open() as file:
            self.column_names = tuple(file.schema_arrow.names)
        check_distinct(self.column_names, self.label, FileError)

    def record_batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        try:
            with self._open() as file:
                for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                    batch.validate(full=True)  # text that is not UTF-8 would be found too late
                    yield batch
        except (pa.ArrowException, OSError, UnicodeError):
            raise self._damaged() from None

    def _open(self) -> Any:
        options = {"buffer_size": _BUFFER_BYTES, "pre_buffer": False}
        try:  # checksums are compared where the file has some
            return parquet.ParquetFile(self.path, page_checksum_verification=True, **options)
        except (pa.ArrowException, OSError, UnicodeError):
            raise self._damaged() from None

    def _damaged(self) -> FileError:
        return FileError(
            f"{self.label} is not a Parquet file, or is damaged",
            hint="copy it again from where it comes from, and compare the sizes",
        )


# -- matrices ---------------------------------------------------------------------------------


def open_matrix_file(path: Path, *, decimal: bool, label: str = "") -> Table:
    """A party's equations A x = b in a file of NumPy's (.npz), as rows of columns x1, x2, … and b.

    FileError for all that is not two arrays of numbers, A and b, that fit together.
    """
    told = name_file(path.name, label)
    A, b = _array(path, told, "A"), _array(path, told, "b")
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise FileError(f"{told} has A of shape {A.shape} and b of shape {b.shape}", hint=_MATRICES)
    columns = {f"x{at}": column for at, column in enumerate(A.T, 1)}
    return Table({**columns, "b": b}, decimal=decimal, label=told)


def _array(path: Path, told: str, name: str) -> npt.NDArray[Any]:
    try:
        with zipfile.ZipFile(path) as whole:
            missing = f"{name}.npy" not in whole.namelist()
            array = None if missing else _read(whole, f"{name}.npy")
    except Exception:  # zipfile, zlib and NumPy have a dozen kinds for damaged bytes
        raise FileError(
            f"{told}: the array {name} cannot be read: it is damaged, or holds Python objects",
            hint=_MATRICES,
        ) from None
    if array is None:
        raise FileError(f"{told} has no array called {name}", hint=_MATRICES)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise FileError(f"{told}: the array {name} is of type {array.dtype}", hint=_MATRICES)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read(whole: zipfile.ZipFile, member: str) -> npt.NDArray[Any]:
    with whole.open(member) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # also lets zipfile compare the checksum, at the end
            raise ValueError("something stands behind the array")
    return array
