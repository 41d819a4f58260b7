"""Parquet files as sources of rows: some row groups are a piece of them."""

# Rule 1: Arrow's messages may quote a row; ours never pass them on.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from titan.errors import FileError
from titan.moments.arrow import pa, parquet
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Piece, Place, evenly
from titan.moments.sources import Source, check_distinct

_BUFFER_BYTES = 1 << 20


class ParquetFile(Source):
    """A Parquet file; its pages are read as they are needed."""

    def __init__(self, path: Path, *, decimal: bool, label: str = "") -> None:
        self.label = label or path.name
        self.decimal = decimal
        self._file = ParquetPath(path, self.label)
        with self._file.opened() as file:
            self.column_names = tuple(file.schema_arrow.names)
        check_distinct(self.column_names, self.label, FileError)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        with self._file.opened() as file:  # whose columns are decoded by several threads
            for groups in self._groups(file, columns, size):
                yield from groups.read(file, use_threads=True)

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterable[Piece]:
        if not apart:
            return self.batches(columns, size)
        with self._file.opened() as file:
            return list(self._groups(file, columns, size))

    def _groups(self, file: Any, columns: Sequence[str], size: int) -> Iterator[RowGroups]:
        """Neighbouring row groups, at least as many rows together as a block is to have."""
        rows, known = ArrowRows(tuple(columns), self.decimal), file.metadata
        counts = [known.row_group(at).num_rows for at in range(known.num_row_groups)]
        start = before = held = 0
        for at, count in enumerate(counts, 1):
            held += count
            if held >= size or at == len(counts):
                of = (start, at, before, held)
                yield RowGroups(self._file, *of, rows, size)
                start, before, held = at, before + held, 0


@dataclass(frozen=True)
class ParquetPath:
    """Where a Parquet file is, and what errors call it."""

    path: Path
    label: str

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """What Arrow finds wrong with it, while it is open, is our error."""
        options = {"buffer_size": _BUFFER_BYTES, "pre_buffer": False}
        try:  # checksums are compared where the file has some
            with parquet.ParquetFile(self.path, page_checksum_verification=True, **options) as file:
                yield file
        except (pa.ArrowException, OSError, UnicodeError):
            raise FileError(
                f"{self.label} is not a Parquet file, or is damaged",
                hint="copy it again from where it comes from, and compare the sizes",
            ) from None


@dataclass(frozen=True)
class RowGroups:
    """Row groups `start` to `stop` of a file, `count` rows after so many others."""

    file: ParquetPath
    start: int
    stop: int
    before: int
    count: int
    rows: ArrowRows
    size: int

    def blocks(self) -> Iterator[Block]:
        with self.file.opened() as file:
            yield from self.read(file, use_threads=False)

    def read(self, file: Any, *, use_threads: bool) -> Iterator[Block]:
        size = evenly(self.count, self.size)
        batches = file.iter_batches(
            batch_size=size,
            row_groups=list(range(self.start, self.stop)),
            columns=list(self.rows.columns),
            use_threads=use_threads,
        )
        return self.rows.blocks(map(_valid, batches), size, Place(self.file.label, self.before))


def _valid(batch: Any) -> Any:
    batch.validate(full=True)  # text that is not UTF-8 would be found too late
    return batch
