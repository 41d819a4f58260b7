"""A source that remembers how often it was read, and which columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from titan.moments.sources import BATCH_ROWS, Block, Source


class Counted(Source):
    def __init__(self, source: Source) -> None:
        self.source, self.label = source, source.label
        self.column_names = source.column_names
        self.passes: list[set[str]] = []

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        self.passes.append(set(columns))
        return self.source.batches(columns, size)
