"""Digests of a party's own cells, made in the same pass as its moments.

What they are for is said in `titan.study.row_digests`.
"""

# Rule: nothing here is logged, and no error or repr shows a digest.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from titan.decimals import decimal
from titan.errors import DataError
from titan.moments import decimal_text
from titan.moments.cell_digests import CellDigests
from titan.moments.cells import Cells
from titan.moments.columns import Column, WideColumn
from titan.moments.once import once
from titan.moments.reading import Reading
from titan.moments.rows import ModelRows
from titan.moments.sources import BATCH_ROWS, Block
from titan.release.grid import Grid, shortest_decimals
from titan.study.digest_order import Counts, Words
from titan.study.row_digests import Content, OwnRows, Piece, RowKey, in_parts
from titan.study.spool import Held, Spool

_BLOCK_CELLS = 1 << 21
_LEAST_ROWS = 256


@dataclass(frozen=True, repr=False)
class _Part:
    """Rows, piece after piece; those of many blocks are not all in memory."""

    pieces: tuple[Piece, ...]
    finer: int
    in_parts: Mapping[str, Counts]
    spool: Spool | None = None

    def __add__(self, other: _Part) -> _Part:
        spool = self.spool or Spool()
        mine = self.pieces if self.spool else tuple(each.kept(spool) for each in self.pieces)
        theirs = tuple(each.kept(spool) for each in other.pieces)
        both = self.in_parts.keys() & other.in_parts.keys()
        counts = {name: self.in_parts[name] + other.in_parts[name] for name in both}
        return _Part(mine + theirs, (self.finer + other.finer) % 2**64, counts, spool)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Part, (self.pieces, self.finer, self.in_parts)  # a file is left where it is


@dataclass(frozen=True)
class DigestRows(Reading[_Part, OwnRows]):
    """The cells of all columns that questions use, and of those that the ledger knows besides.

    A question uses the rows that its model leaves, or all where it has none.
    """

    questions: Mapping[str, ModelRows | None]
    digested: Mapping[str, Content]
    """The columns, and what the study says of those that it uses."""
    key: RowKey

    @property
    def columns(self) -> Sequence[str]:
        return tuple(self.digested)

    @property
    def size(self) -> int:
        return max(_LEAST_ROWS, min(BATCH_ROWS, _BLOCK_CELLS // max(len(self.digested), 1)))

    @once
    def _digests(self) -> CellDigests:
        """It knows the digests of values from block to block, which changes none of them."""
        return CellDigests(self.key.secret)

    def block(self, rows: Block) -> _Part:
        digests = self._digests
        cells: dict[str, Held] = {}
        finer = np.zeros(rows.rows, np.uint64)
        for name, now in self.digested.items():
            first = self.key.columns.get(name, now)
            found = _values(rows.cells[name], first, digests)
            if found is not None:
                cells[name] = Held(found)
            if first != now and (other := _values(rows.cells[name], now, digests)) is not None:
                finer += other * self.key.factor(name)
        whole = np.ones(rows.rows, bool)
        used = {
            name: Held(whole if model is None else model.used(rows))
            for name, model in self.questions.items()
        }
        if not finer.any():  # as where the ledger has all columns as the study has them
            total = int(digests.rows([np.zeros((1, 2), np.uint64)])[0, 0]) * rows.rows
        else:
            total = int(digests.rows([np.stack([finer, finer], axis=1)])[:, 0].sum())
        counts = {name: in_parts(each.array) for name, each in cells.items()}
        return _Part((Piece(rows.rows, cells, used),), total % 2**64, counts)

    def finish(self, whole: _Part, label: str) -> OwnRows:
        return OwnRows(self.key, whole.pieces, whole.finer, whole.in_parts)


def _values(cells: Cells, kind: Content, digests: CellDigests) -> Words | None:
    """Digests of the values; None where they are neither numbers nor text.

    Whether cells are read as numbers or as text does not matter to the digest of a single one.
    """
    readers = (_as_text, _as_numbers) if kind.get("kind") == "category" else (_as_numbers, _as_text)
    for read in readers:
        try:
            return read(cells, kind, digests)
        except DataError:
            continue
    return None


def _as_numbers(cells: Cells, kind: Content, digests: CellDigests) -> Words:
    column, missing = cells.numbers()
    found = _numbers(column, kind, digests)
    if missing.any():
        found[missing] = 0
    return found


def _numbers(column: Column, kind: Content, digests: CellDigests) -> Words:
    """On the column's grid; without one, a double stands for the decimal that people wrote."""
    if kind.get("step") is not None and len(column):
        column = _on_grid(column, Fraction(kind["range"][0]), Fraction(kind["step"]))
    elif isinstance(column, WideColumn):
        return digests.first_words(column)
    elif column.numbers.dtype == np.float64 and column.two == column.five == 0:
        column = shortest_decimals(column)
    return digests.first_words(column)


def _on_grid(column: Column, low: Fraction, step: Fraction) -> Column:
    """At the nearest points of a grid without ends, the same for whatever else is in the column."""
    whole = column.numbers.dtype != np.float64
    if whole and (column.unit / step).denominator == (low / step).denominator == 1:
        return column  # it lies there
    least, most = (Fraction(end) * column.unit for end in _ends(column))
    below = 2 * floor((least - low) / (2 * step))  # evenly, so that the even one of two stays even
    start = low + below * step
    return Grid(start, step, ceil((most - start) / step) + 1).place(column)[0]


def _ends(column: Column) -> tuple[Any, Any]:
    ends = column.numbers.min(), column.numbers.max()
    if column.numbers.dtype == np.float64:
        return float(ends[0]), float(ends[1])
    return int(ends[0]), int(ends[1])


def _as_text(cells: Cells, kind: Content, digests: CellDigests) -> Words:
    """Each text once: those of numbers as numbers."""
    encoded = cells.text().dictionary_encode()
    texts, codes = encoded.dictionary, encoded.indices.fill_null(len(encoded.dictionary))
    found = np.append(digests.texts("value", "", texts)[:, 0], np.uint64(0))
    for at, text in enumerate(texts.to_pylist()):
        try:
            number = decimal(text)
        except ValueError:
            continue
        found[at] = _numbers(Column.constant(number, 1), kind, digests)[0]
    if len(texts):
        found[:-1][decimal_text.is_missing(texts)] = 0
    return np.ascontiguousarray(found[np.asarray(codes).astype(np.int64)])
