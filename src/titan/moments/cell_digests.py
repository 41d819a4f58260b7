"""Keyed digests of cells and rows, a whole block at a time.

A digest is two words of 64 bits. Digests add, word by word and modulo 2^64. With AES-256 as the
permutation F, under keys that follow from one secret key, another for every column,

    cell   Σ F_column(part)   over the parts of eight bytes of its text, each with its place and the
                              text's length; or, of a number n · 2^a · 5^b, the one part (n, a, b),
                              and one more for the digits of a long n
    row    F_row(Σ cells)
    rows   Σ rows             the same in any order, and for all parts of the rows added up

Whoever lacks the key cannot do better than chance. If two rows differ, some part is in one of them
only, and its F is as good as uniform whatever the rest: the sums of their cells are equal once in
2^128, and so are the rows' digests, F being a permutation; cut to 64 bits, once in 2^64. A value
that moves to another column meets another key. If it moves to another row, both rows' digests are
new: F_row is applied before rows are added. If two collections of rows differ, some row is held m
times more in one of them; m · F_row(…) is a given pair of words with a chance of 2^-128 times the
square of the largest power of two in m, which is below 2^-64 up to four thousand million rows. To
all of that the difference between AES and a random function adds q² / 2^129 for q parts.
"""

# Rule 1: a cell's digest depends on that cell alone, never on the others of its block.
# Rule 2: rows are secret: nothing here is logged, no error quotes one, and keys are not shown.
# Rule 3: what is not there adds nothing.

from __future__ import annotations

import hmac
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments import decimal_text
from titan.moments.arrow import kinds, pa
from titan.moments.canonical_numbers import canonical
from titan.moments.cells import ArrowCells, Cells, ObjectCells, is_pandas_gap
from titan.moments.columns import Column, WideColumn

Digests = npt.NDArray[np.uint64]
"""Of shape (cells or rows, 2)."""
_Ints = npt.NDArray[np.int64]

_WORD = np.dtype("<u8")
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], _WORD)  # the first n bytes of a word
_NONE = np.empty((0, 2), _WORD)
_MOST_PARTS = 1 << 18  # at a time: long texts must not need many times their length


@dataclass(frozen=True)
class CellDigests:
    """Digests of cells and of rows under one secret key of 32 bytes."""

    key: bytes = field(repr=False)
    _known: dict[tuple[str, int, int], tuple[int, Digests]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By name and unit, those of all whole numbers from one on: columns on one grid share them."""

    def held(self, cells: Cells) -> Digests:
        """Of what the source holds: its text without blanks around, or as Arrow writes it."""
        if isinstance(cells, ArrowCells) and cells.written is not None:
            return self._of_bytes("text", cells.name, *cells.written())
        return self.texts("text", cells.name, _as_text(cells))

    def unchanged(self, cells: Cells) -> Digests:
        """The same, but for floats, whose bits are taken: to see whether a source has changed."""
        if isinstance(cells, ObjectCells):  # another time Arrow may hold these floats
            floats = [x if isinstance(x, float) else math.nan for x in cells.values]
            others = [None if isinstance(x, float) else x for x in cells.values]
            rest = self.texts("text", cells.name, _objects_as_text(others))
            return self._floats(cells.name, np.array(floats, np.float64)) + rest
        if isinstance(cells, ArrowCells) and cells.written is not None:
            return self.held(cells)
        if isinstance(cells, ArrowCells) and kinds.is_floating(cells.array.type):
            held = cells.array.cast(pa.float64()).fill_null(math.nan)
            return self._floats(cells.name, np.asarray(held))
        return self.held(cells)

    def numbers(self, name: str, column: Column) -> Digests:
        """Of the numbers that they are, however written: 1.50, 1.5 and the binary 1.5 are one."""
        if not isinstance(column, WideColumn) and column.numbers.dtype == np.int64 and len(column):
            low, known = self._values(name, column)
            if len(known):
                return known.take(column.numbers - low, axis=0)
        return self._one_by_one(name, column)

    def _values(self, name: str, column: Column) -> tuple[int, Digests]:
        """Of all whole numbers from the least of a column on to the largest, and perhaps more.

        None, where making those that are not known yet costs more than the column's own.
        """
        unit = name, column.two, column.five
        low, high = int(column.numbers.min()), int(column.numbers.max()) + 1
        start, known = self._known.get(unit, (low, _NONE))
        below, above = range(min(low, start), start), range(start + len(known), high)
        if len(below) + len(above) > len(column):
            return low, _NONE
        if below or above:
            made = [self._between(unit, below), known, self._between(unit, above)]
            start, known = min(low, start), np.concatenate(made)
            self._known[unit] = start, known
        return start, known

    def _between(self, unit: tuple[str, int, int], numbers: range) -> Digests:
        name, two, five = unit
        column = Column(np.arange(numbers.start, max(numbers.stop, numbers.start)), two, five)
        return self._one_by_one(name, column)

    def _one_by_one(self, name: str, column: Column) -> Digests:
        it = canonical(column)
        found = self._encrypted("number", name, it.low, it.exponents)
        if it.high is not None:
            long = np.flatnonzero(it.high != it.low >> 63)
            found[long] += self._encrypted("high", name, it.high[long], it.exponents[long])
        if it.longer:
            texts = [f"{n:x} {it.exponents[row]}" for row, n in it.longer.items()]
            found[list(it.longer)] = self.texts("longer", name, pa.array(texts, pa.string()))
        return found

    def rows(self, cells: Iterable[Digests]) -> Digests:
        """Of whole rows, from those of their cells."""
        total = reduce(add, cells)
        return self._encrypted("rows", "", total[:, 0], total[:, 1])

    def texts(self, form: str, name: str, array: Any) -> Digests:
        """Of an Arrow array of strings or bytes."""
        found = self._of_bytes(form, name, *_bytes(array))
        if array.null_count:
            found[np.asarray(array.is_null())] = 0
        return found

    def _of_bytes(
        self, form: str, name: str, data: npt.NDArray[np.uint8], places: _Ints, lengths: _Ints
    ) -> Digests:
        """Of texts at these places; there are eight bytes more than those of all texts."""
        if lengths.max(initial=0) <= _WORD.itemsize:
            words = _words(data)[places].view(_WORD)
            words &= _MASKS[lengths]
            return self._encrypted(form, name, words, lengths)
        parts = np.maximum((lengths + 7) // 8, 1)
        if len(places) > 1 and parts.sum() > _MOST_PARTS:
            half = len(places) // 2
            pieces = (slice(None, half), slice(half, None))
            halves = [self._of_bytes(form, name, data, places[at], lengths[at]) for at in pieces]
            return np.concatenate(halves)
        first = np.cumsum(parts) - parts
        row = np.repeat(np.arange(len(places)), parts)
        place, length = np.arange(len(row)) - first[row], lengths[row]
        words = _words(data)[places[row] + 8 * place].view(_WORD)
        words &= _MASKS[np.minimum(length - 8 * place, 8)]
        found = self._encrypted(form, name, words, (place << 32) + length)
        return np.stack([np.add.reduceat(word, first) for word in found.T], axis=1)

    def _floats(self, name: str, floats: npt.NDArray[np.float64]) -> Digests:
        found = self._encrypted("float", name, floats.view(np.int64), 0)
        found[np.isnan(floats)] = 0
        return found

    def _encrypted(
        self, form: str, name: str, first: npt.NDArray[Any], second: npt.NDArray[Any] | int
    ) -> Digests:
        """F of pairs of words. (ECB is a permutation of single blocks: what is wanted here.)"""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        pairs = np.empty((len(first), 2), _WORD)
        pairs[:, 0], pairs[:, 1] = first, second
        out = np.empty((len(first) + 1, 2), _WORD)  # as much more as the library insists on
        if len(first):
            label = f"titan {form} {name}\x01".encode(errors="surrogatepass")
            key = hmac.digest(self.key, label, "sha256")
            encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305
            encryptor.update_into(pairs.data.cast("B"), out.data.cast("B"))
        return out[:-1]


# -- text -------------------------------------------------------------------------------------


def _as_text(cells: Cells) -> Any:
    """An Arrow array of strings, or of bytes where cells are bytes."""
    if not isinstance(cells, ArrowCells):
        return _objects_as_text(cells.values)
    array = cells.array
    if kinds.is_binary(array.type) or kinds.is_large_binary(array.type):  # not always UTF-8
        return array.cast(pa.binary())
    try:
        return decimal_text.trimmed(array.cast(pa.string()))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and other things no model reads
        return pa.array([None if x is None else repr(x) for x in array.to_pylist()], pa.string())


def _objects_as_text(values: Sequence[Any]) -> Any:
    """Texts of Python objects; a float's is Arrow's, which may hold it in another block."""
    gone = (NoneType, float)
    texts = [None if isinstance(x, gone) or is_pandas_gap(x) else str(x).strip() for x in values]
    at = [at for at, x in enumerate(values) if isinstance(x, float) and not math.isnan(x)]
    floats = pa.array([float(values[i]) for i in at], pa.float64()).cast(pa.string())
    for i, text in zip(at, floats.to_pylist(), strict=True):
        texts[i] = text
    return pa.array(texts, pa.string())


def _bytes(array: Any) -> tuple[npt.NDArray[np.uint8], _Ints, _Ints]:
    """All bytes with eight more after them, where each text begins, and its length."""
    offsets, data = decimal_text.bytes_of(array) if len(array) else (np.zeros(1), np.empty(0, "u1"))
    places = offsets.astype(np.int64)
    return np.concatenate([data, np.zeros(8, np.uint8)]), places[:-1], np.diff(places)


def _words(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.void]:
    """The eight bytes that begin at every byte; `take` would copy them all."""
    return np.ndarray((len(data) - 7,), "V8", data.data, 0, (1,))
