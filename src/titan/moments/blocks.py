"""Some rows: what a source hands out, and what a worker is given to read.

A block has its rows in memory. A piece says which blocks there are: one that is there already, or
some of a file, which are read where the work is done.
"""

# Rule 1: blocks and pieces can be pickled: workers may be other processes, on other machines.
# Rule 2: the blocks of a piece are the same wherever it is read, so that errors are too.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from titan.moments.cells import ArrowCells, Cells, PlaceAmong, Rows

BATCH_ROWS = 65_536


class Piece(Protocol):
    """Some rows of a source, one or several blocks of them."""

    def blocks(self) -> Iterable[Block]:
        """In order."""


@dataclass(frozen=True)
class Block:
    """Some rows: the cells of each column, and where each row comes from."""

    rows: int
    cells: Mapping[str, Cells] = field(repr=False)
    place: Callable[[int], str] = field(repr=False)

    def take(self, rows: Rows) -> Block:
        cells = {name: column.take(rows) for name, column in self.cells.items()}
        return Block(len(rows), cells, PlaceAmong(self.place, rows))

    def blocks(self) -> tuple[Block]:
        """A block is a piece, too: of one block."""
        return (self,)


class Numbered(Protocol):
    """Where rows come from that are counted."""

    def __call__(self, row: int) -> str: ...

    def after(self, rows: int) -> Numbered:
        """Where those come from that come after so many."""


@dataclass(frozen=True)
class Place:
    """Where rows come from, in words for errors; `first` is the number of the first of them."""

    label: str
    first: int = 0

    def __call__(self, row: int) -> str:
        return f"{self.label}, row {self.first + row} (counted from 0)"

    def after(self, rows: int) -> Place:
        """Of the rows that come after so many."""
        return Place(self.label, self.first + rows)


@dataclass(frozen=True)
class ArrowRows:
    """How columns of Arrow's become blocks."""

    columns: tuple[str, ...]
    decimal: bool = False
    decimal_comma: bool = False

    def block(self, table: Any, place: Callable[[int], str]) -> Block:
        """Of a table or a record batch."""
        cells: dict[str, Cells] = {
            name: ArrowCells(name, table[name], place, self.decimal, self.decimal_comma)
            for name in self.columns
        }
        return Block(table.num_rows, cells, place)

    def blocks(self, batches: Iterable[Any], size: int, place: Numbered) -> Iterator[Block]:
        """Of exactly `size` rows, but for the last."""
        for table in resized(batches, size):
            yield self.block(table, place)
            place = place.after(table.num_rows)


def evenly(rows: int, size: int) -> int:
    """At most `size`, so that no block is left with few of these rows."""
    return -(-rows // max(-(-rows // size), 1)) or size


def resized(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Tables of exactly `size` rows, but for the last; nothing is copied here."""
    from titan.moments.arrow import pa

    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= size:
            table = pa.Table.from_batches(waiting)
            whole = rows - rows % size
            yield from (table.slice(start, size) for start in range(0, whole, size))
            waiting, rows = table.slice(whole).to_batches(), rows - whole
    if rows:
        yield pa.Table.from_batches(waiting)
