"""Keyed digests of cells and rows, a whole block at a time.

A digest is two words of 64 bits. Digests add, word by word and modulo 2^64. With AES-256 as the
permutation F, under keys that follow from one secret key, and with κ a secret odd number of every
column's name (1 for the name "", where the caller has numbers of its own),

    cell   κ_column · Σ F(part)   over the parts of eight bytes of its text, each with its place and
                                  the text's length; or, of a number n · 2^a · 5^b, the one part
                                  (n, a, b), and one more for the digits of a long n
    row    F_row(Σ cells)
    rows   Σ rows                 the same in any order, and for all parts of the rows added up

Whoever lacks the key cannot do better than chance. If two rows differ, some part is in other
columns in one of them than in the other. Its F is as good as uniform whatever the rest, and counts
with a number: the κ of some columns less those of others. That is odd if the part is in one column
more or less, and the sums of cells are equal once in 2^128. Where it moved from column to column,
2^t divides that number once in about 2^t, and the number is 0 once in 2^63: together, the sums are
equal once in about 2^62. So are the rows' digests, F being a permutation, cut to 64 bits or not.

If a value moves to another row, both rows' digests are new: F_row is applied before rows are added.
If two collections of rows differ, some row is held m times more in one of them; m · F_row(…) is a
given pair of words with a chance of 2^-128 times the square of the largest power of two in m, which
is below 2^-64 up to four thousand million rows. To all of that the difference between AES and a
random function adds q² / 2^129 for q parts.
"""

# Rule 1: a cell's digest depends on that cell alone, never on the others of its block.
# Rule 2: rows are secret: nothing here is logged, no error quotes one, and keys are not shown.
# Rule 3: what is not there adds nothing.

from __future__ import annotations

import hmac
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments import decimal_text
from titan.moments.arrow import kinds, pa
from titan.moments.canonical_numbers import canonical
from titan.moments.cells import ArrowCells, Cells, ObjectCells, Written, is_pandas_gap
from titan.moments.columns import Column, WideColumn
from titan.moments.known_texts import KnownTexts, Texts
from titan.moments.once import once

Digests = npt.NDArray[np.uint64]
"""Of shape (cells or rows, 2)."""

_WORD = np.dtype("<u8")
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], _WORD)  # the first n bytes of a word
_NONE = np.empty((0, 2), _WORD)
_MOST_KNOWN = 1 << 18  # values of a unit: a few megabytes, however many blocks there are
_MOST_PARTS = 1 << 18  # at a time: long texts must not need many times their length


@dataclass(frozen=True)
class _Values:
    """The digests of all whole numbers from `start` on, of one unit."""

    start: int
    digests: Digests = field(repr=False)

    @once
    def first_words(self) -> npt.NDArray[np.uint64]:
        return np.ascontiguousarray(self.digests[:, 0])


@dataclass(frozen=True)
class CellDigests:
    """Digests of cells and of rows under one secret key of 32 bytes."""

    key: bytes = field(repr=False)
    _known: dict[tuple[int, int], _Values] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By unit, those of all whole numbers from one on: columns on one grid share them."""
    _texts: KnownTexts = field(default_factory=KnownTexts, init=False, repr=False, compare=False)

    def held(self, cells: Cells) -> Digests:
        """Of what the source holds: its text without blanks around, or as Arrow writes it."""
        if isinstance(cells, ArrowCells) and cells.written is not None:
            return self._in_column(cells.name, self._written(cells, cells.written))
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

    def _in_column(self, name: str, digests: Digests) -> Digests:
        """Told apart from the same cells in other columns; these digests are written over."""
        if name:
            label = f"titan cells of {name}".encode(errors="surrogatepass")
            word = hmac.digest(self.key, label, "sha256")[:8]
            digests *= np.uint64(int.from_bytes(word, "big") | 1)
        return digests

    def _written(self, cells: Cells, written: Written) -> Digests:
        """Of the texts of numbers; made once for each text where the number tells how it is."""
        characters = written.characters()
        if characters is not None:
            column, _ = cells.numbers()
            known = self._texts.find(column, characters, partial(self._of_bytes, "text"))
            if known is not None:
                return known
        return self._of_bytes("text", written.texts())

    def numbers(self, name: str, column: Column) -> Digests:
        """Of the numbers that they are, however written: 1.50, 1.5 and the binary 1.5 are one."""
        known = self._values(column)
        if known is None:
            return self._in_column(name, self._one_by_one(column))
        return self._in_column(name, known.digests.take(column.numbers - known.start, axis=0))

    def first_words(self, column: Column) -> npt.NDArray[np.uint64]:
        """The first words of those under the name ""."""
        known = self._values(column)
        if known is None:
            return np.ascontiguousarray(self._one_by_one(column)[:, 0])
        return known.first_words.take(column.numbers - known.start)

    def _values(self, column: Column) -> _Values | None:
        """Of all whole numbers from the least of a column on to the largest, and perhaps more.

        None, where making those that are not known yet costs more than the column's own.
        """
        if isinstance(column, WideColumn) or column.numbers.dtype != np.int64 or not len(column):
            return None
        unit = column.two, column.five
        low, stop = int(column.numbers.min()), int(column.numbers.max()) + 1
        known = self._known.get(unit) or _Values(low, _NONE)
        start, end = known.start, known.start + len(known.digests)
        below, above = range(min(low, start), start), range(end, max(stop, end))
        more = below.stop - below.start + above.stop - above.start  # `len` has a limit
        if more > len(column) or more + len(known.digests) > _MOST_KNOWN:
            return None
        if more:
            made = [self._between(unit, below), known.digests, self._between(unit, above)]
            known = self._known[unit] = _Values(min(low, start), np.concatenate(made))
        return known

    def _between(self, unit: tuple[int, int], numbers: range) -> Digests:
        each = np.arange(numbers.stop - numbers.start)
        if len(each):  # else it may start where int64 ends
            each += numbers.start
        return self._one_by_one(Column(each, *unit))

    def _one_by_one(self, column: Column) -> Digests:
        it = canonical(column)
        found = self._encrypted("number", it.low, it.exponents)
        if it.high is not None:
            long = np.flatnonzero(it.high != it.low >> 63)
            found[long] += self._encrypted("high", it.high[long], it.exponents[long])
        if it.longer:
            texts = [f"{n:x} {it.exponents[row]}" for row, n in it.longer.items()]
            found[list(it.longer)] = self.texts("longer", "", pa.array(texts, pa.string()))
        return found

    def rows(self, cells: Iterable[Digests]) -> Digests:
        """Of whole rows, from those of their cells."""
        total = reduce(add, cells)
        return self._encrypted("rows", total[:, 0], total[:, 1])

    def texts(self, form: str, name: str, array: Any) -> Digests:
        """Of an Arrow array of strings or bytes."""
        found = self._of_bytes(form, _bytes(array))
        if array.null_count:
            found[np.asarray(array.is_null())] = 0
        return self._in_column(name, found)

    def _of_bytes(self, form: str, texts: Texts) -> Digests:
        data, places, lengths = texts
        if lengths.max(initial=0) <= _WORD.itemsize:
            words = _words(data)[places].view(_WORD)
            words &= _MASKS[lengths]
            return self._encrypted(form, words, lengths)
        parts = np.maximum((lengths + 7) // 8, 1)
        if len(places) > 1 and parts.sum() > _MOST_PARTS:
            half = len(places) // 2
            pieces = (slice(None, half), slice(half, None))
            halves = [self._of_bytes(form, (data, places[at], lengths[at])) for at in pieces]
            return np.concatenate(halves)
        first = np.cumsum(parts) - parts
        row = np.repeat(np.arange(len(places)), parts)
        place, length = np.arange(len(row)) - first[row], lengths[row]
        words = _words(data)[places[row] + 8 * place].view(_WORD)
        words &= _MASKS[np.minimum(length - 8 * place, 8)]
        found = self._encrypted(form, words, (place << 32) + length)
        return np.stack([np.add.reduceat(word, first) for word in found.T], axis=1)

    def _floats(self, name: str, floats: npt.NDArray[np.float64]) -> Digests:
        found = self._encrypted("float", floats.view(np.int64), 0)
        found[np.isnan(floats)] = 0
        return self._in_column(name, found)

    def _encrypted(
        self, form: str, first: npt.NDArray[Any], second: npt.NDArray[Any] | int
    ) -> Digests:
        """F of pairs of words. (ECB is a permutation of single blocks: what is wanted here.)"""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        pairs = np.empty((len(first), 2), _WORD)
        pairs[:, 0], pairs[:, 1] = first, second
        out = np.empty((len(first) + 1, 2), _WORD)  # as much more as the library insists on
        if len(first):
            key = hmac.digest(self.key, f"titan {form} \x01".encode(), "sha256")
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


def _bytes(array: Any) -> Texts:
    """All bytes with eight more after them, where each text begins, and its length."""
    offsets, data = decimal_text.bytes_of(array) if len(array) else (np.zeros(1), np.empty(0, "u1"))
    places = offsets.astype(np.int64)
    return np.concatenate([data, np.zeros(8, np.uint8)]), places[:-1], np.diff(places)


def _words(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.void]:
    """The eight bytes that begin at every byte; `take` would copy them all."""
    return np.ndarray((len(data) - 7,), "V8", data.data, 0, (1,))
