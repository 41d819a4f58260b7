"""CSV files as sources of rows: a range of bytes is a piece of them.

CSV is read as text and nothing but text: Arrow's own guess would be doubles, and 0.1 would be lost.

A range ends with a line, which without quotes is a record's end. Where quotes begin, a line may end
inside a cell: from there on the file is read in sequence, as is one that is compressed or whose
lines cannot be told from its bytes. Only then do workers wait for its text.
"""

# Rule 1: Arrow's messages may quote a row; ours never pass them on.
# Rule 2: ranges depend on the file and on the size of blocks, not on who reads them.

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from titan.errors import DataError, FileError
from titan.files import attempt
from titan.moments.arrow import arrow_csv, pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Piece, evenly
from titan.moments.csv_format import PLAIN, CsvFormat
from titan.moments.csv_text import UTF8, CsvPlace, CsvText
from titan.moments.sources import Source, check_distinct

_STREAM_BYTES = 2 << 20  # of which Arrow reads up to 32 ahead
_LEAST_BYTES, _MOST_BYTES = 1 << 18, 1 << 25  # of a range
_BYTEWISE = (*UTF8, "ascii", "cp125", "iso8859", "latin")
"""Encodings, or how their names begin, in which a line's end and a quote are bytes of their own."""


class CsvFile(Source):
    """A CSV file with a header; in UTF-8, and commas, or tabs where the name ends in .tsv.

    Where it is written in another way, `written` says how.

    Cells may be quoted and hold line breaks; empty lines are skipped; a compressed file (.gz, .bz2)
    is read as it is. For a file that may have no header, `names` looks at the first record's cells
    and returns names for the columns, or None where the cells are the names. Errors name the
    file, or call it `label` where that is given.
    """

    def __init__(
        self,
        path: Path,
        *,
        label: str = "",
        names: Callable[[Sequence[str]], Sequence[str] | None] = lambda first: None,
        written: CsvFormat = PLAIN,
    ) -> None:
        self.label = label or path.name
        suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
        delimiter = written.delimiter or ("\t" if ".tsv" in suffixes else ",")
        self.text = CsvText(path, self.label, delimiter, written.encoding)
        self._decimal_comma = written.decimal_comma
        first = self.text.header()
        made = names(first)
        self._named = made is not None
        self._header = tuple(first if made is None else made)
        self.column_names = tuple(name.strip() for name in self._header)
        check_distinct(self.column_names, f"{self.label}, line 1,", FileError)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for piece in self.pieces(columns, size, apart=False):
            yield from piece.blocks()

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Piece]:
        raw = tuple(self._header[self.column_names.index(name)] for name in columns)
        rows = ArrowRows(tuple(columns), decimal_comma=self._decimal_comma)
        parsing = CsvParsing(self.text, self._header, raw, rows, size)
        start = self._start() if self._is_bytewise else None
        if start is None:
            yield from parsing.stream(0, self._named)
            return
        for at, stop in self._ranges(start, size):
            if stop is None:
                yield from parsing.stream(at, named=True)
            else:
                yield CsvRange(parsing, at, stop)

    # -- where its lines end --------------------------------------------------------------------

    @property
    def _is_bytewise(self) -> bool:
        with attempt("read", self.label), self.text.open() as file:
            compressed = isinstance(file, pa.CompressedInputStream)
        return not compressed and self.text.encoding.startswith(_BYTEWISE)

    def _start(self) -> int | None:
        """Where the first record begins that is a row; None where that is not plain."""
        with attempt("read", self.label), self.text.path.open("rb") as file:
            data = file.read(_LEAST_BYTES)
        start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        if self._named:
            return start
        while data[start : start + 1] in (b"\r", b"\n"):
            start += 1
        stop = data.find(b"\n", start) + 1 or len(data)
        if stop == _LEAST_BYTES:
            return None  # a header of such length may go on
        line = data[start:stop].decode(self.text.encoding, "surrogateescape")
        try:
            first = next(csv.reader([line], delimiter=self.text.delimiter), None)
        except csv.Error:
            return None
        return stop if first is not None and tuple(first) == self._header else None

    def _ranges(self, at: int, size: int) -> Iterator[tuple[int, int | None]]:
        """Whole lines, about half as many as `size`; without an end where quotes come."""
        with attempt("read", self.label), self.text.path.open("rb") as file:
            file.seek(at)
            sample = file.read(_LEAST_BYTES)
            each = len(sample) // max(sample.count(b"\n"), 1) * size // 2
            buffer = bytearray(min(max(each, _LEAST_BYTES), _MOST_BYTES))  # one for all
            while True:
                file.seek(at)
                count = file.readinto(buffer)
                if not count:
                    return
                whole = count if count < len(buffer) else buffer.rfind(b"\n") + 1
                if not whole or buffer.find(b'"', 0, whole) >= 0:
                    yield at, None
                    return
                yield at, at + whole
                at += whole


@dataclass(frozen=True)
class CsvParsing:
    """How the text of a file becomes blocks of these columns."""

    text: CsvText
    header: tuple[str, ...]
    raw: tuple[str, ...]
    """The columns as the header has them, perhaps with blanks around."""
    rows: ArrowRows
    size: int

    def stream(self, start: int, named: bool) -> Iterator[Block]:
        """All from byte `start` on, in sequence; if not `named`, with the header."""
        options = self._options(_STREAM_BYTES, named)
        place = CsvPlace(self.text, start, 0 if named else 1)  # a header is a record
        with (
            self._refused(may_lack_rows=not named),
            self._from(start) as file,
            arrow_csv.open_csv(file, **options) as reader,
        ):
            batches = (batch.rename_columns(list(self.rows.columns)) for batch in reader)
            yield from self.rows.blocks(batches, self.size, place)

    def range(self, start: int, stop: int) -> Iterator[Block]:
        """Bytes `start` to `stop`, which are whole lines."""
        with attempt("read", self.text.label), self.text.path.open("rb") as file:
            file.seek(start)
            data = file.read(stop - start)
        if len(data) < stop - start:
            raise DataError(
                f"{self.text.label} became shorter while it was read",
                hint="leave the data alone until all is done",
            )
        with self._refused():
            file = pa.BufferReader(data)
            options = self._options(len(data) + 1, named=True, quotes=False, plain=data.isascii())
            table = arrow_csv.read_csv(file, **options)
        batches = table.rename_columns(list(self.rows.columns)).to_batches()
        size = evenly(table.num_rows, self.size)
        return self.rows.blocks(batches, size, CsvPlace(self.text, start, 0))

    def _from(self, start: int) -> Any:
        if not start:
            return self.text.open()
        file = pa.OSFile(str(self.text.path))
        file.seek(start)
        return file

    def _options(
        self, block_bytes: int, named: bool, *, quotes: bool = True, plain: bool = False
    ) -> dict[str, Any]:
        """Where there are no quotes, and nothing but ASCII, Arrow need not look for more."""
        encoding = "utf8" if self.text.encoding in UTF8 else self.text.encoding
        return {
            "read_options": arrow_csv.ReadOptions(
                use_threads=False,
                block_size=block_bytes,
                column_names=list(self.header) if named else None,
                encoding=encoding,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.text.delimiter,
                newlines_in_values=quotes,
                quote_char='"' if quotes else False,
            ),
            "convert_options": arrow_csv.ConvertOptions(
                check_utf8=not plain,
                column_types=dict.fromkeys(self.raw, pa.string()),
                include_columns=list(self.raw),
                strings_can_be_null=False,
            ),
        }

    @contextmanager
    def _refused(self, *, may_lack_rows: bool = False) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError):
            if not (may_lack_rows and self.text.is_only_a_header()):
                raise self.text.diagnosis(self.header) from None


@dataclass(frozen=True)
class CsvRange:
    """Whole lines of a file."""

    parsing: CsvParsing
    start: int
    stop: int

    def blocks(self) -> Iterator[Block]:
        return self.parsing.range(self.start, self.stop)
