"""LazyFrames of Polars as sources of rows, collected a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from titan.errors import DataError, TitanError
from titan.moments.arrow import pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Place
from titan.moments.sources import Source, check_distinct


class LazyRows(Source):
    """A LazyFrame, which is computed anew in every pass, with the columns asked for alone."""

    def __init__(self, frame: Any, *, decimal: bool, label: str) -> None:
        self.frame, self.decimal, self.label = frame, decimal, label
        with self._computed():
            self.column_names = tuple(check_distinct(frame.collect_schema().names(), label))

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        rows = ArrowRows(tuple(columns), self.decimal)
        with self._computed():
            frames = self._collected(self.frame.select(list(columns)), size)
            batches = (
                batch for frame in frames for batch in pa.RecordBatchReader.from_stream(frame)
            )
            yield from rows.blocks(batches, size, Place(self.label))

    def _collected(self, chosen: Any, size: int) -> Iterator[Any]:
        if hasattr(chosen, "collect_batches"):
            return iter(chosen.collect_batches(chunk_size=size, maintain_order=True))
        return iter([chosen.collect()])  # an older Polars: all at once

    @contextmanager
    def _computed(self) -> Iterator[None]:
        """What Polars says may quote a row: only the kind of error is told."""
        try:
            yield
        except TitanError:
            raise
        except Exception as error:
            raise DataError(
                f"{self.label} cannot be computed: {type(error).__name__}",
                hint="look at it with Polars: frame.collect()",
            ) from None
