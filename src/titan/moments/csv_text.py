"""The text of a CSV file: its header, its records one by one, and what is wrong in which line."""

# Rule 1: a line number is worked out only when something is wrong, by reading the file again.
# Rule 2: no error shows a cell.

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from titan.errors import FileError
from titan.moments.arrow import pa

UTF8 = ("utf-8", "utf-8-sig")
_BUFFER_BYTES = 1 << 20
_RAGGED = "every line needs as many cells as the header; put a cell that holds a comma into quotes"
_EUROPE = (
    'csv="europe" if Excel wrote it in Europe (semicolons, decimal commas, cp1252); '
    'csv={"delimiter": ";"} if only the semicolons are such; or save it with commas between cells '
    "and points in numbers, in UTF-8"
)
_TABS = 'csv={"delimiter": "tab"}; or let the file\'s name end in .tsv'
_NOT_TEXT = 'save it as UTF-8; csv={"encoding": "cp1252"} if Excel wrote it'
_WRONG = (csv.Error, OSError, UnicodeError)


@dataclass(frozen=True)
class CsvText:
    """Where a CSV file is, how it is written, and what errors call it."""

    path: Path
    label: str
    delimiter: str
    encoding: str

    def open(self) -> Any:
        """Its bytes, unpacked where it is compressed."""
        return pa.input_stream(str(self.path), compression="detect", buffer_size=_BUFFER_BYTES)

    def records(self, stop: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """Every record with the line where it begins, empty lines left out.

        With `stop` those of the first so many bytes, of a file that is not compressed.
        """
        encoding = "utf-8-sig" if self.encoding in UTF8 else self.encoding
        with self.open() as whole:
            bytes_ = whole if stop is None else io.BytesIO(whole.read(stop))
            with io.TextIOWrapper(bytes_, encoding, "surrogateescape", newline="") as text:
                reader = csv.reader(text, delimiter=self.delimiter)
                line = 1
                for record in reader:
                    if record:
                        yield line, record
                    line = reader.line_num + 1

    def header(self) -> list[str]:
        """The first record."""
        try:
            line, header = next(self.records(), (0, []))
        except _WRONG:
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

    def is_only_a_header(self) -> bool:
        """Arrow refuses a header whose line does not end: it lacks rows, and is not wrong."""
        try:
            return len(list(islice(self.records(), 2))) == 1
        except _WRONG:
            return False

    def diagnosis(self, header: Sequence[str]) -> FileError:
        """Arrow refused the file: find the first record that is not as the header says."""
        line = 1
        try:
            for line, record in self.records():
                if _not_text(record):
                    return self._not_text(line)
                if len(record) != len(header):
                    found = f"{len(record)} cells, where the header has {len(header)}"
                    return self._error(line, found, hint=_RAGGED)
        except _WRONG:
            return FileError(f"{self.label}, after line {line}: not readable as CSV")
        return FileError(f"{self.label} is not readable as CSV")

    @property
    def _between(self) -> str:
        names = {",": "commas", ";": "semicolons", "\t": "tabs"}
        return names.get(self.delimiter, f"{self.delimiter!r}")

    def _not_text(self, line: int) -> FileError:
        found = "UTF-8" if self.encoding in UTF8 else self.encoding
        return self._error(line, f"not {found} text", hint=_NOT_TEXT)

    def _error(self, line: int, found: str, *, hint: str = "") -> FileError:
        return FileError(f"{self.label}, line {line}: {found}", hint=hint)


def _not_text(record: list[str]) -> bool:
    """Whether some byte could not be decoded: it is then a lone surrogate."""
    return not "".join(record).isascii() and any("\udc80" <= c <= "\udcff" for c in "".join(record))


@dataclass(frozen=True)
class CsvPlace:
    """Rows that come `first` records after byte `offset`, in words."""

    text: CsvText
    offset: int
    first: int

    def __call__(self, row: int) -> str:
        wanted = self.first + row
        try:
            before = sum(1 for _ in self.text.records(self.offset)) if self.offset else 0
            for number, (line, _) in enumerate(self.text.records()):
                if number == before + wanted:
                    return f"{self.text.label}, line {line}"
        except _WRONG:
            pass
        return f"{self.text.label}, row {wanted + 1}"

    def after(self, rows: int) -> CsvPlace:
        """Of the rows that come after so many."""
        return replace(self, first=self.first + rows)
