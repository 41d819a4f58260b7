"""Datasets of Arrow's as sources of rows: a fragment, or a row group of one, is a piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from titan.errors import DataError
from titan.moments.arrow import pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Piece, Place
from titan.moments.sources import Source, check_distinct


class ArrowDataset(Source):
    """Files, or tables, that Arrow sees as one table."""

    def __init__(self, dataset: Any, *, decimal: bool, label: str) -> None:
        self.dataset, self.decimal, self.label = dataset, decimal, label
        self.column_names = tuple(check_distinct(dataset.schema.names, label))

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for piece in self._fragments(columns, size):
            yield from piece.read(use_threads=True)

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Piece]:
        if not apart:
            yield from self.batches(columns, size)
            return
        for piece in self._fragments(columns, size):
            if hasattr(piece.fragment, "path"):
                yield piece
            else:  # it is in memory
                yield from piece.read(use_threads=True)

    def _fragments(self, columns: Sequence[str], size: int) -> Iterator[Fragment]:
        rows = ArrowRows(tuple(columns), self.decimal)
        for whole in self.dataset.get_fragments():
            told = getattr(whole, "path", self.label)
            with _readable(told):
                groups = [whole]
                if hasattr(whole, "split_by_row_group"):
                    groups = whole.split_by_row_group(schema=self.dataset.schema)
            before = 0
            for each in groups:
                place = Place(told, before)
                yield Fragment(each, self.dataset.schema, rows, size, place)
                before += sum(group.num_rows for group in getattr(each, "row_groups", ()))


@dataclass(frozen=True)
class Fragment:
    """Some rows of a dataset, which Arrow reads."""

    fragment: Any = field(repr=False)
    schema: Any = field(repr=False)
    rows: ArrowRows
    size: int
    place: Place

    def blocks(self) -> Iterator[Block]:
        return self.read(use_threads=False)

    def read(self, *, use_threads: bool) -> Iterator[Block]:
        with _readable(self.place.label):
            batches = self.fragment.to_batches(
                schema=self.schema,
                columns=list(self.rows.columns),
                batch_size=self.size,
                batch_readahead=2,
                fragment_readahead=1,
                use_threads=use_threads,
            )
            yield from self.rows.blocks(batches, self.size, self.place)


@contextmanager
def _readable(told: str) -> Iterator[None]:
    """Arrow's messages may quote a row: only the kind of error is told."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{told} cannot be read: {type(error).__name__}",
            hint="copy it again from where it comes from, or look at it with Arrow",
        ) from None
