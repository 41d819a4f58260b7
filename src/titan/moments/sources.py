"""Where rows come from: tables in memory, files and more, all read in blocks of named cells.

    open_source(…)   the rows of a file, a folder, a table, a query, … : see `open_source`
    split_by(…)      one source divided among parties by a column

Only the columns asked for are read, a block at a time, so that memory stays flat however long the
file is. A kind of source is one file beside this one, and is loaded when it is asked for.
"""

# Rule 1: `Source.map_blocks` is the one way over rows. `batches` and `pieces` are what a source
#         implements, and only sources call them.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from operator import itemgetter, or_
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from titan.errors import DataError, InputError
from titan.moments import decimal_text, headings
from titan.moments.arrow import pc
from titan.moments.blocks import BATCH_ROWS, Block, Piece
from titan.moments.csv_format import CsvFormat, RowsFile
from titan.moments.workers import GivenExecutor, Workers

__all__ = [
    "BATCH_ROWS",
    "Block",
    "Source",
    "check_distinct",
    "name_file",
    "open_source",
    "party_names",
    "split_by",
]

P = TypeVar("P")


class Source(ABC):
    """Rows with named columns, which can be read any number of times."""

    label: str
    column_names: tuple[str, ...]
    workers = Workers()
    """Who works on the blocks."""

    @abstractmethod
    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        """All rows in order, at most `size` at a time, with the cells of these columns."""

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterable[Piece]:
        """The same blocks for workers, who are in other processes if they are `apart`.

        Those are better told where rows are than given them.
        """
        return self.batches(columns, size)

    def map_blocks(
        self,
        f: Callable[[Block], P],
        merge: Callable[[P, P], P],
        *,
        columns: Sequence[str],
        size: int = BATCH_ROWS,
    ) -> P | None:
        """`f` of every block of at most `size` rows, merged; None where there are no rows.

        Blocks go to workers, in this process or elsewhere: let `f` and `merge` be things that can
        be pickled, such as methods of a frozen dataclass, and `merge` associative. Parts are merged
        in the order of the rows.
        """
        self.check(columns)
        pieces = self.pieces(columns, size, apart=self.workers.apart)
        return self.workers.reduce(pieces, f, merge)

    def each_block(
        self, f: Callable[[Block], P], *, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[P]:
        """`f` of one block after the other, in order, for who writes rows down as they come."""
        self.check(columns)
        for block in self.batches(columns, size):
            yield f(block)  # which lives until the next is there: memory freed early is paid twice

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there."""
        missing = [name for name in columns if name not in self.column_names]
        if missing:
            raise DataError(
                f"{self.label} has no column " + " nor ".join(f'"{name}"' for name in missing),
                hint=headings.instead(missing, self.column_names),
            )


def open_source(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    decimal: bool = False,
    label: str = "",
    csv: Any = None,
    executor: GivenExecutor | None = None,
) -> Source:
    """The rows of a file or a table.

    A path of CSV, Parquet or .npz; several paths, a pattern such as "rows/*.parquet" or a folder of
    Parquet files; a pandas, Polars, Arrow or Dask table, a LazyFrame, a relation of DuckDB, an
    Arrow dataset or stream; a NumPy array, or a mapping of sequences.

    `names` are the columns of a two-dimensional array. With `decimal` a float stands for the
    shortest decimal that rounds to it (37.2 is 372/10); without, for the binary number it is.
    `label` is what errors call a table, and what they add to the name of a file. `csv` says how
    CSV files are written: "europe", or a mapping as `CsvFormat` has it.

    Blocks are worked on by all cores of this machine, or by the workers of `executor`: any
    concurrent.futures.Executor, a Dask client, or the address of a Dask scheduler.
    """
    from titan.moments.opening import opened

    is_open = isinstance(data, Source)
    source = data if is_open else opened(data, names, decimal, label, CsvFormat.of(csv))
    if executor is None and isinstance(data, RowsFile):
        executor = data.scheduler
    if executor is None:
        return source
    source = copy(source)
    source.workers = Workers.of(executor)
    return source


def split_by(source: Source, column: str) -> dict[str, Source]:
    """One source for each value of a column, in order of first appearance.

    Each party's source reads the whole one again and keeps its own rows.
    """
    parties = source.map_blocks(partial(_parties, column=column), or_, columns=[column]) or {}
    return {party: PartOf(source, column, party) for party in parties}


def _parties(block: Block, column: str) -> dict[str, None]:
    return dict.fromkeys(party_names(block, column).unique().to_pylist())


def party_names(block: Block, column: str) -> Any:
    """Who has each row, as Arrow strings; a row without a name is an error."""
    cells = block.cells[column]
    text = cells.text("name the parties by text or by whole numbers")
    missing = decimal_text.is_missing(text)
    if missing.any():
        raise cells.error(int(missing.argmax()), "no party is named")
    return text


class PartOf(Source):
    """The rows of another source where one column has a given value."""

    def __init__(self, source: Source, column: str, value: str) -> None:
        self.source, self.column, self.value = source, column, value
        self.label = f'{source.label} where {column} is "{value}"'
        self.column_names, self.workers = source.column_names, source.workers

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Piece]:
        both = list(dict.fromkeys([*columns, self.column]))
        for piece in self.source.pieces(both, size, apart=apart):
            yield _PartOfPiece(piece, self.column, self.value)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for piece in self.pieces(columns, size, apart=False):
            yield from piece.blocks()


@dataclass(frozen=True)
class _PartOfPiece:
    piece: Piece
    column: str
    value: str

    def blocks(self) -> Iterator[Block]:
        for block in self.piece.blocks():
            mine = np.asarray(pc.equal(block.cells[self.column].text(), self.value))
            if mine.any():
                yield block.take(np.flatnonzero(mine))


def check_distinct(
    names: Sequence[str], label: str, error: type[InputError] = DataError
) -> Sequence[str]:
    """The names, if no two are equal."""
    name, times = max(Counter(names).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        if not headings.may_be_shown(names):
            raise error(f"{label} has two columns of one name", hint=headings.NO_HEADER)
        raise error(f'{label} has two columns called "{name}"', hint="rename one of them")
    return names


def name_file(name: str | Path, label: str) -> str:
    """How errors speak of a file; `label` says whose it is, where that is known."""
    return f"{name} ({label})" if label else str(name)
