"""CSV files as sources of rows: a range of bytes is a piece of them.

CSV is read as text and nothing but text: Arrow's own guess would be doubles, and 0.1 would be lost.
Lines of plain numbers need not even be text of Arrow's: see `plain_lines`.

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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, FileError
from titan.files import attempt
from titan.moments.arrow import arrow_csv, pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Piece, evenly
from titan.moments.cells import ArrowCells, Cells, Later
from titan.moments.csv_format import PLAIN, CsvFormat
from titan.moments.csv_text import UTF8, CsvPlace, CsvText
from titan.moments.known_texts import Texts
from titan.moments.once import once
from titan.moments.plain_fields import BEYOND
from titan.moments.plain_lines import PlainLines, read_lines
from titan.moments.sources import Source, check_distinct

Bytes = npt.NDArray[np.uint8]

_STREAM_BYTES = 2 << 20  # of which Arrow reads up to 32 ahead
_LEAST_BYTES, _MOST_BYTES = 1 << 18, 1 << 25  # of a range
_RANGE_BYTES = 1 << 20  # of which Arrow parses at a time
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
        for at, lines in self._ranges(start, size):
            if lines is None:
                yield from parsing.stream(at, named=True)
            else:
                stop = at + len(lines) - 1 - BEYOND
                yield CsvRange(parsing, at, stop, None if apart else lines)

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

    def _ranges(self, at: int, size: int) -> Iterator[tuple[int, Bytes | None]]:
        """Whole lines, about half as many as `size`; None where quotes come.

        After the lines there are a line's end, whether the file has one or not, and `BEYOND` bytes.
        """
        with attempt("read", self.label), self.text.path.open("rb") as file:
            file.seek(at)
            sample = file.read(_LEAST_BYTES)
            each = len(sample) // max(sample.count(b"\n"), 1) * size // 2
            most = min(max(each, _LEAST_BYTES), _MOST_BYTES)
            while True:
                file.seek(at)
                padded = np.empty(most + 1 + BEYOND, np.uint8)
                count = file.readinto(padded[:most].data)
                if not count:
                    return
                whole = count if count < most else _last_line_end(padded[:most])
                if not whole or (padded[:whole] == ord('"')).any():
                    yield at, None
                    return
                padded = padded[: whole + 1 + BEYOND]
                padded[whole:] = ord("\n")
                yield at, padded
                at += whole


def _last_line_end(data: Bytes) -> int:
    """How many bytes there are up to the last line's end; 0 without any."""
    for start in (max(len(data) - _LEAST_BYTES, 0), 0):
        at = data[start:].tobytes().rfind(b"\n")
        if at >= 0:
            return start + at + 1
    return 0


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

    def blocks(self, padded: Bytes, start: int) -> Iterator[Block]:
        """Of whole lines, which begin at byte `start`, as `CsvFile` pads them."""
        lines, place = CsvLines(self, padded), CsvPlace(self.text, start, 0)
        plain = lines.plain()
        if plain is not None and plain.rows <= self.size:
            return iter([lines.block(plain, place)])
        table = lines.table
        return self.rows.blocks(table.to_batches(), evenly(table.num_rows, self.size), place)

    def padded(self, start: int, stop: int) -> Bytes:
        """Whole lines once more, where they were not copied."""
        padded = np.full(stop - start + 1 + BEYOND, ord("\n"), np.uint8)
        with attempt("read", self.text.label), self.text.path.open("rb") as file:
            file.seek(start)
            count = file.readinto(padded[: stop - start].data)
        if count < stop - start:
            raise DataError(
                f"{self.text.label} became shorter while it was read",
                hint="leave the data alone until all is done",
            )
        return padded

    def table(self, data: Bytes) -> Any:
        """Of whole lines without quotes."""
        with self._refused():
            plain = not len(data) or bool(data.max() < 128)
            options = self._options(_RANGE_BYTES, named=True, quotes=False, plain=plain)
            table = arrow_csv.read_csv(pa.BufferReader(pa.py_buffer(data)), **options)
        return table.rename_columns(list(self.rows.columns))

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
    lines: Bytes | None = field(repr=False)
    """Those, padded; None where they are read by who works on them."""

    def blocks(self) -> Iterator[Block]:
        lines = self.parsing.padded(self.start, self.stop) if self.lines is None else self.lines
        return self.parsing.blocks(lines, self.start)


@dataclass(frozen=True)
class CsvLines:
    """Whole lines without quotes, as numbers where they are plain, and as text for who wants it."""

    parsing: CsvParsing
    padded: Bytes = field(repr=False)

    @once
    def table(self) -> Any:
        """Arrow's, of text."""
        return self.parsing.table(self.padded[: -1 - BEYOND])

    def plain(self) -> PlainLines | None:
        parsing, padded = self.parsing, self.padded
        if parsing.rows.decimal_comma:
            return None
        ended = padded[-2 - BEYOND] == padded[-1 - BEYOND]  # by a line's end of its own
        text = padded[:-1] if ended else padded
        return read_lines(text, parsing.text.delimiter, len(parsing.header), self._wanted)

    def block(self, plain: PlainLines, place: CsvPlace) -> Block:
        cells: dict[str, Cells] = {}
        for name, at, numbers, whole in zip(
            self.parsing.rows.columns, self._wanted, plain.columns, plain.whole, strict=True
        ):
            of_name = ArrowCells(name, Later(partial(self._column, name)), place)
            written = CsvColumn(self.padded, plain, at, whole)
            cells[name] = of_name if numbers is None else of_name.known_as(numbers, written)
        return Block(plain.rows, cells, place)

    @property
    def _wanted(self) -> list[int]:
        """Which of a line's fields."""
        return [self.parsing.header.index(name) for name in self.parsing.raw]

    def _column(self, name: str) -> Any:
        return self.table[name]


@dataclass(frozen=True)
class CsvColumn:
    """How the cells of one column are written."""

    padded: Bytes = field(repr=False)
    plain: PlainLines = field(repr=False)
    at: int
    """Which of all columns that lines have."""
    whole: bool

    def texts(self) -> Texts:
        return self.padded, *self.plain.written(self.at)

    def characters(self) -> int | None:
        return int(self.plain.characters[self.at]) if self.whole else None
