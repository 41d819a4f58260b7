"""A party's own rows as keyed digests: enough to compare rows with earlier ones, and no more.

A cell's digest depends on its value alone, as the number or text that it is, however it was written
and in whatever file: a number is put on the grid that the ledger fixed when the column was first
used. With κ a secret odd number of every column's name, a row's digest over some columns is

    Σ κ_column · digest(value)    modulo 2^64; what is not there adds nothing

so that a column which is not among them changes nothing, and one that was renamed is counted under
its earlier name. Today's cells are kept while a study is checked (`titan.study.digesting` makes
them), and the digest of a row over the columns of any earlier question can be formed. What a ledger
keeps are the rows' digests over the columns that a question used, sorted, each with how many rows
have it, and of every column how many cells fall into each of 512 parts of all digests: those tell
how much two columns differ, without their rows.

Others lack the key and cannot choose collisions. Two different rows have one digest by chance once
in about 2^60 times.
"""

# Rule 1: digests never leave the machine; nothing here is logged, no error or repr shows one.
# Rule 2: rows come in pieces, and no more than a few pieces are in memory: see `spool`.

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.study.digest_order import Alike, Counts, InOrder, Stretch, Words
from titan.study.row_classes import Pattern, marks
from titan.study.spool import Held, Kept, Spool

Mask = npt.NDArray[np.bool_]
Content = Mapping[str, Any]
"""What a dictionary says of a column; empty where it says nothing."""
Names = tuple[tuple[str, str], ...]
"""Columns as a ledger calls them, each with its name in today's rows."""
_PARTS_BITS = 9
PARTS = 1 << _PARTS_BITS
"""Of all digests, in which the cells of a column are counted."""


def in_parts(cells: Words) -> Counts:
    """How many fall into each part of all digests."""
    return np.bincount((cells >> np.uint64(64 - _PARTS_BITS)).view(np.int64), minlength=PARTS)


@dataclass(frozen=True)
class RowKey:
    """How a ledger looks at rows: under which key, and at each column on which grid."""

    secret: bytes = field(repr=False)
    columns: Mapping[str, Content] = field(default_factory=dict)
    """What each column was when this ledger first saw it."""

    def factor(self, name: str) -> np.uint64:
        label = f"titan column {name}".encode(errors="surrogatepass")
        return np.uint64(int.from_bytes(hmac.digest(self.secret, label, "sha256")[:8], "big") | 1)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows that follow each other: their cells, and which of them each question uses."""

    rows: int
    cells: Mapping[str, Kept] = field(repr=False)
    used: Mapping[str, Kept] = field(repr=False)

    def kept(self, spool: Spool) -> Piece:
        cells = {name: spool.keep(its.load()) for name, its in self.cells.items()}
        used = {name: spool.keep(its.load()) for name, its in self.used.items()}
        return Piece(self.rows, cells, used)


@dataclass(frozen=True, eq=False)
class OwnRows:
    """The cells of some columns of one source, and which of its rows each question uses."""

    key: RowKey
    pieces: Sequence[Piece] = field(repr=False)
    finer: int = field(default=0, repr=False)
    """Of what the study sees and the ledger does not: a digest of all values on other grids."""
    in_parts: Mapping[str, Counts] = field(default_factory=dict, repr=False)
    """Of columns whose cells were counted when they were read: how many fall into each part."""

    @classmethod
    def of(cls, key: RowKey, cells: Mapping[str, Words], used: Mapping[str, Mask]) -> OwnRows:
        """Of rows that are in memory."""
        held = {name: Held(its) for name, its in cells.items()}
        masks = {name: Held(its) for name, its in used.items()}
        return cls(key, [Piece(len(next(iter(used.values()))), held, masks)])

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Those whose cells could be read in all pieces."""
        every = (piece.cells.keys() for piece in self.pieces)
        whole = set[str].intersection(*map(set, every))
        return tuple(name for name in self.pieces[0].cells if name in whole)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        return tuple(self.pieces[0].used)

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    # -- which questions use which rows ---------------------------------------------------------

    @cached_property
    def uses(self) -> Uses:
        return Uses.of(self.pieces, self.questions)

    def using(self, questions: Collection[str]) -> Mask:
        """Of each set of questions, whether one of these is in it."""
        at = [self.questions.index(name) for name in questions]
        return np.array([any(each[n] for n in at) for each in self.uses.patterns], bool)

    def count(self, questions: Collection[str]) -> int:
        """How many rows one of these questions uses."""
        return int(self.uses.counts[self.using(questions)].sum())

    # -- digests ----------------------------------------------------------------------------------

    @cached_property
    def _spool(self) -> Spool:
        return Spool()

    @cached_property
    def _orders(self) -> dict[Names, InOrder]:
        return {}

    def in_order(self, names: Names) -> InOrder:
        """All rows by their digests over these columns."""
        names = tuple(sorted(names))
        if names not in self._orders:
            found, first = InOrder(self._spool), 0
            factors = [(self.key.factor(name), here) for name, here in names]
            for piece, numbers in zip(self.pieces, self.uses.numbers, strict=True):
                total = np.zeros(piece.rows, np.uint64)
                for factor, here in factors:
                    total += piece.cells[here].load() * factor
                found.add(Alike.single(total, numbers.load(), first))
                first += piece.rows
            self._orders[names] = found
        return self._orders[names]

    @cached_property
    def _counted(self) -> dict[tuple[str, bytes], Counts]:
        return {}

    def parts(self, column: str, questions: Collection[str]) -> Counts:
        """How many cells fall into each part of all digests, of rows that one of these uses."""
        wanted = self.using(questions)
        if wanted.all() and column in self.in_parts:
            return self.in_parts[column]
        key = column, wanted.tobytes()
        if key not in self._counted:
            found = np.zeros(PARTS, np.int64)
            for piece, numbers in zip(self.pieces, self.uses.numbers, strict=True):
                cells = piece.cells[column].load()
                found += in_parts(cells if wanted.all() else cells[wanted[numbers.load()]])
            self._counted[key] = found
        return self._counted[key]


@dataclass(frozen=True)
class Uses:
    """The different sets of questions that use a row."""

    patterns: Sequence[Pattern]
    numbers: Sequence[Kept] = field(repr=False)
    """Of each piece, the number of every row's set."""
    counts: Counts = field(repr=False)
    """How many rows have each."""

    @classmethod
    def of(cls, pieces: Sequence[Piece], questions: Sequence[str]) -> Uses:
        known: dict[Pattern, int] = {}
        spool, found, total = Spool(), list[Kept](), dict[int, int]()
        for piece in pieces:
            masks = [piece.used[name].load() for name in questions]
            firsts, which = _different(masks, piece.rows)
            patterns = [tuple(bool(mask[row]) for mask in masks) for row in firsts]
            numbers = np.array([known.setdefault(each, len(known)) for each in patterns], np.uint32)
            for number, count in zip(numbers.tolist(), np.bincount(which), strict=True):
                total[number] = total.get(number, 0) + int(count)
            found.append(spool.keep(numbers[which]))
        return cls(list(known), found, np.array([total[n] for n in range(len(known))], np.int64))


def _different(masks: Sequence[Mask], rows: int) -> tuple[Sequence[int], Counts]:
    """Where each different set comes first, and the number of every row's set."""
    if not rows:
        return [], np.zeros(0, np.int64)
    if all((mask == mask[0]).all() for mask in masks):  # as most often
        return [0], np.zeros(rows, np.int64)
    total = np.zeros(rows, np.uint64)
    for mask, mark in zip(masks, marks(len(masks)), strict=True):
        total += mask * mark
    _, firsts, which = np.unique(total, return_index=True, return_inverse=True)
    return firsts.tolist(), which


# -- what a ledger keeps --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSet:
    """What a ledger keeps of the rows that a question used."""

    columns: tuple[str, ...]
    own: OwnRows = field(repr=False)
    question: str

    @classmethod
    def of(cls, own: OwnRows, question: str, columns: Sequence[str]) -> RowSet:
        return cls(tuple(sorted(columns)), own, question)

    def __len__(self) -> int:
        return self.own.count([self.question])

    def stretches(self) -> Iterator[Stretch]:
        wanted = self.own.using([self.question])
        for rows in self.own.in_order(tuple((name, name) for name in self.columns)).all():
            yield _stretch(rows, wanted)

    @cached_property
    def parts(self) -> Mapping[str, Counts]:
        return {name: self.own.parts(name, [self.question]) for name in self.columns}

    @cached_property
    def fingerprint(self) -> bytes:
        """By which the same rows over the same columns are known again."""
        found = Fingerprint(self.columns)
        for each in self.stretches():
            found.add(each)
        return found.digest()


def _stretch(rows: Alike, wanted: Mask) -> Stretch:
    """Of the rows with these uses, each digest once."""
    if not wanted.all():
        rows = rows.take(np.flatnonzero(wanted[rows.uses]))
    new = np.ones(len(rows), bool)
    new[1:] = rows.digests[1:] != rows.digests[:-1]
    if new.all():
        return Stretch(rows.digests, rows.counts)
    starts = np.flatnonzero(new)
    return Stretch(rows.digests[starts], np.add.reduceat(rows.counts, starts))


class Fingerprint:
    """Of columns and of sorted rows, in whatever stretches they come."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = json.dumps(list(columns), ensure_ascii=False).encode()
        self._digests, self._counts = hashlib.sha256(), hashlib.sha256()

    def add(self, stretch: Stretch) -> None:
        self._digests.update(stretch.digests.astype("<u8", copy=False).tobytes())
        self._counts.update(stretch.counts.astype("<u8", copy=False).tobytes())

    def digest(self) -> bytes:
        both = self._digests.digest() + self._counts.digest()
        return hashlib.sha256(self._columns + b"\0" + both).digest()


def change(one: Counts, other: Counts) -> int:
    """The least by which two columns differ: the more of cells only here, cells only there."""
    less = one - other
    return int(max(less.clip(min=0).sum(), -less.clip(max=0).sum()))
