"""A party's own rows as keyed digests: enough to compare rows with earlier ones, and no more.

A cell's digest depends on its value alone, as the number or text that it is, however it was written
and in whatever file: a number is put on the grid that the ledger fixed when the column was first
used. With κ a secret odd number of every column's name, a row's digest over some columns is

    Σ κ_column · digest(value)    modulo 2^64; what is not there adds nothing

so that a column which is not among them changes nothing, and one that was renamed is counted under
its earlier name. Today's cells are held while a study is checked, and the digest of a row over the
columns of any earlier question can be formed. What a ledger keeps are the rows' digests over the
columns that a question used, sorted, and of every column how many cells fall into each of 512 parts
of all digests: those tell how much two columns differ, without their rows.

Others lack the key and cannot choose collisions. Two different rows have one digest by chance once
in about 2^60 times.
"""

# Rule: digests never leave the machine; nothing here is logged, no error or repr shows one.

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal
from titan.errors import DataError, FileError
from titan.moments import decimal_text
from titan.moments.cell_digests import CellDigests
from titan.moments.cells import Cells
from titan.moments.columns import Column, WideColumn
from titan.moments.reading import Reading
from titan.moments.rows import ModelRows
from titan.moments.sources import BATCH_ROWS, Block
from titan.release.grid import Grid, shortest_decimals

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Content = Mapping[str, Any]
"""What a dictionary says of a column; empty where it says nothing."""
_PARTS_BITS = 9
_BLOCK_CELLS = 1 << 20
_LEAST_ROWS = 256


@dataclass(frozen=True)
class RowKey:
    """How a ledger looks at rows: under which key, and at each column on which grid."""

    secret: bytes = field(repr=False)
    columns: Mapping[str, Content] = field(default_factory=dict)
    """What each column was when this ledger first saw it."""

    def factor(self, name: str) -> np.uint64:
        label = f"titan column {name}".encode(errors="surrogatepass")
        return np.uint64(int.from_bytes(hmac.digest(self.secret, label, "sha256")[:8], "big") | 1)


@dataclass(frozen=True)
class OwnRows:
    """The cells of some columns of one source, and which of its rows each question uses."""

    key: RowKey
    cells: Mapping[str, Words] = field(repr=False)
    used: Mapping[str, Mask] = field(repr=False)
    finer: int = field(default=0, repr=False)
    """Of what the study sees and the ledger does not: a digest of all values on other grids."""

    def over(self, columns: Mapping[str, str]) -> Words:
        """Every row's digest over columns, each under the name that it has in the ledger."""
        total = np.zeros(len(next(iter(self.used.values()))), np.uint64)
        for name, here in columns.items():
            total += self.cells[here] * self.key.factor(name)
        return total

    def parts(self, column: str, rows: Mask) -> Counts:
        """How many of these rows' cells fall into each part of all digests."""
        at = (self.cells[column] >> np.uint64(64 - _PARTS_BITS)).astype(np.int64)
        return np.bincount(at if rows.all() else at[rows], minlength=1 << _PARTS_BITS)


@dataclass(frozen=True)
class RowSet:
    """What a ledger keeps of the rows that a question used."""

    columns: tuple[str, ...]
    digests: Words = field(repr=False)  # sorted
    parts: Mapping[str, Counts] = field(repr=False)

    @classmethod
    def of(cls, own: OwnRows, question: str, columns: Sequence[str]) -> RowSet:
        names, rows = tuple(sorted(columns)), own.used[question]
        digests = np.sort(own.over({name: name for name in names})[rows])
        return cls(names, digests, {name: own.parts(name, rows) for name in names})

    def __len__(self) -> int:
        return len(self.digests)

    @cached_property
    def encoded(self) -> bytes:
        return self.digests.astype("<u8", copy=False).tobytes()


def decode_digests(data: bytes) -> Words:
    if len(data) % 8:
        raise FileError("the ledger's digests of rows are damaged")
    return np.frombuffer(data, "<u8").astype(np.uint64)


def change(one: Counts, other: Counts) -> int:
    """The least by which two columns differ: the more of cells only here, cells only there."""
    less = one - other
    return int(max(less.clip(min=0).sum(), -less.clip(max=0).sum()))


# -- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class _Part:
    cells: Mapping[str, tuple[Words, ...] | None]
    used: Mapping[str, tuple[Mask, ...]]
    finer: int

    def __add__(self, other: _Part) -> _Part:
        cells: dict[str, tuple[Words, ...] | None] = {}
        for name, mine in self.cells.items():
            theirs = other.cells[name]
            cells[name] = None if mine is None or theirs is None else mine + theirs
        used = {name: rows + other.used[name] for name, rows in self.used.items()}
        return _Part(cells, used, (self.finer + other.finer) % 2**64)


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

    def block(self, rows: Block) -> _Part:
        digests = CellDigests(self.key.secret)
        cells: dict[str, tuple[Words, ...] | None] = {}
        finer = np.zeros(rows.rows, np.uint64)
        for name, now in self.digested.items():
            first = self.key.columns.get(name, now)
            found = _values(rows.cells[name], first, digests)
            cells[name] = None if found is None else (found,)
            if first != now and (other := _values(rows.cells[name], now, digests)) is not None:
                finer += other * self.key.factor(name)
        whole = np.ones(rows.rows, bool)
        used = {
            name: (whole if model is None else model.used(rows),)
            for name, model in self.questions.items()
        }
        total = digests.rows([np.stack([finer, finer], axis=1)])[:, 0].sum()
        return _Part(cells, used, int(total))

    def finish(self, whole: _Part, label: str) -> OwnRows:
        cells = {name: np.concatenate(c) for name, c in whole.cells.items() if c is not None}
        used = {name: np.concatenate(rows) for name, rows in whole.used.items()}
        return OwnRows(self.key, cells, used, whole.finer)


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
        return _first_words(column, digests)
    elif column.numbers.dtype == np.float64 and column.two == column.five == 0:
        column = shortest_decimals(column)
    numbers: Counts = column.numbers
    if numbers.dtype == np.int64 and len(numbers):
        low, high = (int(end) for end in _ends(column))
        if 2 * (high - low) < len(numbers):  # each value once
            values = Column(np.arange(low, high + 1), column.two, column.five)
            return _first_words(values, digests)[numbers - low]
    return _first_words(column, digests)


def _first_words(column: Column, digests: CellDigests) -> Words:
    return np.ascontiguousarray(digests.numbers("", column)[:, 0])


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
