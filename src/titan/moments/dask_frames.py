"""Dask DataFrames as sources of rows: a partition is a piece of one.

Its rows are read and worked on where Dask has them: by the client that is there, or, without one,
by threads of this process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from titan.errors import DataError
from titan.moments.blocks import BATCH_ROWS, Block
from titan.moments.extras import needs
from titan.moments.sources import Source, check_distinct
from titan.moments.tables import Table
from titan.moments.workers import Workers


class DaskFrame(Source):
    """A Dask DataFrame, of whose partitions only the columns asked for are read."""

    def __init__(self, frame: Any, *, decimal: bool, label: str) -> None:
        self.frame, self.decimal, self.label = frame, decimal, label
        self.column_names = tuple(check_distinct([str(name) for name in frame.columns], label))
        client = _client()
        if client is not None:
            self.workers = Workers.of(client)

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Partition]:
        names = [self.frame.columns[self.column_names.index(name)] for name in columns]
        for number, each in enumerate(_apart(self.frame[names].to_delayed())):
            told = f"{self.label}, partition {number}"
            yield Partition(each, PartitionRows(told, tuple(columns), size, self.decimal))

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for piece in self.pieces(columns, size, apart=False):
            yield from piece.blocks()


@dataclass(frozen=True)
class PartitionRows:
    """What becomes of a partition, once it is a pandas DataFrame."""

    label: str
    columns: tuple[str, ...]
    size: int
    decimal: bool

    def __call__(self, frame: Any) -> LoadedPartition:
        return LoadedPartition(frame, self)


@dataclass(frozen=True)
class Partition:
    """A partition, wherever it is."""

    delayed: Any = field(repr=False)
    loader: PartitionRows

    def blocks(self) -> Iterator[Block]:
        try:
            frame = self.delayed.compute(scheduler="synchronous")
        except Exception as error:
            raise self.unreadable(error) from None
        return self.loader(frame).blocks()

    def unreadable(self, error: Exception) -> DataError:
        """Whatever reads it may quote a row: only the kind of error is told."""
        if isinstance(error, KeyError) or "do not match the columns" in str(error):
            return DataError(
                f"{self.loader.label} has other columns than the others",
                hint="all partitions need the same columns",
            )
        return DataError(
            f"{self.loader.label} cannot be read: {type(error).__name__}",
            hint="look at it with Dask: frame.get_partition(…).compute()",
        )


@dataclass(frozen=True)
class LoadedPartition:
    """A partition in memory."""

    frame: Any = field(repr=False)
    rows: PartitionRows

    def blocks(self) -> Iterator[Block]:
        label, decimal = self.rows.label, self.rows.decimal
        table = Table.of_frame(self.frame, decimal=decimal, label=label)
        table.check(self.rows.columns)
        return table.batches(self.rows.columns, self.rows.size)


def _apart(partitions: Sequence[Any]) -> Iterator[Any]:
    """Each with its own part of the graph: with all of it, a thousand took minutes."""
    from dask.delayed import Delayed
    from dask.optimization import cull
    from dask.utils import ensure_dict

    for part in partitions:
        own, _ = cull(ensure_dict(part.dask), [part.key])
        yield Delayed(part.key, own)


def _client() -> Any:
    """The one that is used where none is named; None without."""
    with needs("dask", "Dask"):
        from distributed import default_client
    try:
        return default_client()
    except ValueError:
        return None
