"""The fields of lines of text: where they are, and which numbers they are, all of them at once.

A line is fields between delimiters; a field is  - digits . digits,  of which most parts may be
absent. Marks are the bytes below "/": the ends of fields, points and signs. Each end comes with its
point, where there is one, so that the digits of all fields can be fetched in words of eight
characters and moved until their points stand in one column. Then nothing has to be worked out for a
field by itself: all are whole numbers over one power of ten,

    number_i = whole_i · 10^K + decimals_i,    K the most decimals of any field.

Short fields are one word, with the point inside; longer ones are three: what is before the point,
and twice eight decimals.
"""

# Rule 1: every byte is looked at: nothing but digits, one point and one minus passes as a number.
# Rule 2: None is for what is not plain, or too long.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.digits import LOWER, eight_digits

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BEYOND = 32
"""Bytes after the text that may be fetched, though not used."""
LIMIT = 9 * 10**18
"""A little less than int64 holds."""
WORD = 8
COARSE, MOST = 16, 24
"""Decimals of all numbers, and of few."""

_SLASH, _NINE, _POINT, _MINUS = 47, 57, 46, 45
_NEWLINE, _RETURN = 10, 13
_ALL = np.uint64((1 << 64) - 1)
_NOTHING = np.empty(0, np.int64)
_AT_ONCE = 16  # lines


# -- where fields are ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Fields:
    """The fields of some lines: row by row, column by column."""

    text: Bytes
    starts: Ints
    points: Ints
    """Where the point is; where there is none, as `ends`."""
    ends: Ints
    negative: Ints
    """Those that had a sign, which comes before `starts`."""
    columns: int
    others: Ints
    """The columns in which there are other characters than those of numbers."""
    line_end: int = 1
    """Characters between the last field of a line and the next line."""

    @classmethod
    def of(cls, text: Bytes, delimiter: int, fields: int) -> Fields | None:
        lines = text[: len(text) - BEYOND]
        marks = np.flatnonzero(lines < _SLASH)
        kinds = lines.take(marks)
        at = np.flatnonzero(kinds < _MINUS)
        separators = kinds.take(at)
        returns = separators[-2:].tolist() == [_RETURN, _NEWLINE]
        line_end = [_RETURN, _NEWLINE] if returns else [_NEWLINE]
        expected = np.array([delimiter] * (fields - 1) + line_end, np.uint8)
        if len(at) % len(expected) or (separators.reshape(-1, len(expected)) != expected).any():
            return None
        ends = marks.take(at)
        at -= 1  # before the first there is the last of all, which is not a point
        pointed = kinds.take(at) == _POINT
        points = np.where(pointed, marks.take(at), ends)
        starts = np.empty_like(ends)
        starts[0] = 0
        np.add(ends[:-1], 1, out=starts[1:])
        signs = np.flatnonzero(kinds == _MINUS)
        negative = np.searchsorted(ends, marks.take(signs))
        if len(marks) != len(ends) + np.count_nonzero(pointed) + len(signs):
            return None  # two points in one field
        if (starts.take(negative) != marks.take(signs)).any():
            return None  # a minus in the middle
        starts[negative] += 1
        if len(expected) > fields:  # the second character of a line's end is not a field's
            if (ends[fields :: fields + 1] != ends[fields - 1 :: fields + 1] + 1).any():
                return None
            starts, points, ends = (_without_last(each, fields) for each in (starts, points, ends))
            negative -= negative // (fields + 1)
        if fields == 1 and (starts == ends).any():
            return None  # a line with nothing in it is not a row
        others = _others(lines, starts, fields)
        return cls(text, starts, points, ends, negative, fields, others, len(line_end))

    def written(self, column: int) -> tuple[Ints, Ints]:
        """Where the texts of a column begin, signs included, and end."""
        ends = self.ends.reshape(-1, self.columns)
        if column:
            return ends[:, column - 1] + 1, ends[:, column]
        return np.append(0, ends[:-1, -1] + self.line_end), ends[:, 0]

    def characters(self) -> Ints:
        """Of the texts of each column together, signs included."""
        rows = len(self.ends) // self.columns
        starts, ends = np.empty(self.columns, np.int64), _sums(self.ends, self.columns)
        starts[0] = ends[-1] - self.ends[-1] + (rows - 1) * self.line_end
        np.add(ends[:-1], rows, out=starts[1:])
        return ends - starts

    def only(self, wanted: Sequence[int]) -> Fields:
        """The fields of some columns."""
        if list(wanted) == list(range(self.columns)):
            return self
        table = (each.reshape(-1, self.columns) for each in (self.starts, self.points, self.ends))
        starts, points, ends = (np.ascontiguousarray(each[:, wanted]).ravel() for each in table)
        signed = np.zeros(len(self.starts), bool)
        signed[self.negative] = True
        negative = np.flatnonzero(signed.reshape(-1, self.columns)[:, wanted])
        return Fields(self.text, starts, points, ends, negative, len(wanted), self.others)


def _sums(each: Ints, columns: int) -> Ints:
    """Of columns; many lines are taken as one, since NumPy adds long lines faster."""
    many = len(each) - len(each) % (_AT_ONCE * columns)
    sums = np.zeros(columns, np.int64)
    for lines, length in ((each[:many], _AT_ONCE * columns), (each[many:], columns)):
        sums += lines.reshape(-1, length).sum(axis=0).reshape(-1, columns).sum(axis=0)
    return sums


def _without_last(each: Ints, fields: int) -> Ints:
    return np.ascontiguousarray(each.reshape(-1, fields + 1)[:, :fields]).ravel()


def _others(lines: Bytes, starts: Ints, fields: int) -> Ints:
    if lines.max() <= _NINE and not (lines == _SLASH).any():
        return _NOTHING
    other = (lines > _NINE) | (lines == _SLASH)
    return np.flatnonzero(np.logical_or.reduceat(other, starts).reshape(-1, fields).any(axis=0))


# -- what they are ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """The numbers of some fields over 10^decimals, and what some have beyond `COARSE` decimals."""

    numbers: Ints
    decimals: int
    largest: int
    """None is larger in absolute value."""
    gaps: Ints
    """Fields with nothing in them."""
    finer: Ints
    """Fields with more decimals."""
    rest: Ints
    """The next eight decimals of those."""
    written: Ints
    """How many they have in all."""
    whole: bool
    """Each field has a digit before its point."""


def read(fields: Fields) -> Numbers | None:
    """None where a field is not a number, or too long."""
    whole = fields.points - fields.starts
    decimals = fields.ends - fields.points
    decimals -= 1  # -1 without a point
    longest, most = int(whole.max()), int(decimals.max())
    if longest > WORD or most > MOST:
        return None
    has_whole = bool(whole.min())
    gaps = _NOTHING if has_whole else np.flatnonzero((whole == 0) & (decimals <= 0))
    if len(gaps) and not _are_empty(fields, gaps):
        return None
    finer = np.flatnonzero(decimals > COARSE) if most > COARSE else _NOTHING
    rest, written = _beyond(fields, finer, decimals)
    if len(finer) and not rest.all():
        return None  # zeros, which count as written and not as numbers
    if most <= 0 or longest + 1 + most <= WORD:
        most = max(most, 0)
        numbers, largest = _short(fields, whole, decimals, most), 10 ** (longest + most)
    else:
        most = min(most, COARSE)
        numbers, largest = _long(fields, whole, decimals, most)
        if largest > LIMIT:
            return None
    numbers[fields.negative] *= -1
    rest[np.isin(finer, fields.negative)] *= -1
    return Numbers(numbers, most, largest, gaps, finer, rest, written, has_whole)


def _are_empty(fields: Fields, gaps: Ints) -> bool:
    """Whether there is nothing there: neither a point nor a sign."""
    signed = np.isin(gaps, fields.negative).any()
    return not signed and bool((fields.starts[gaps] == fields.ends[gaps]).all())


def _fetch(text: Bytes, at: Ints, size: int) -> Words:
    """The words that begin at these bytes. (`take` would copy all that could be fetched.)"""
    every: npt.NDArray[Any] = np.ndarray((len(text) - size + 1,), f"V{size}", text.data, 0, (1,))
    return every[at].view("<u8").astype(np.uint64, copy=False)


def _short(fields: Fields, whole: Ints, decimals: Ints, most: int) -> Ints:
    """Fields of one word, their points in the place before the last `most`."""
    word = _fetch(fields.text, fields.starts, WORD)
    word <<= _bits((WORD - 1 - most if most else WORD) - whole)
    digits = bytearray(b"\x0f" * WORD)
    if most:
        word &= _ALL >> _bits(most - decimals)  # what comes after the field
        digits[WORD - 1 - most] = 0
    word &= np.uint64(int.from_bytes(digits, "little"))
    return eight_digits(word, _pair_weights(most)).view(np.int64)


def _pair_weights(decimals: int) -> tuple[int, ...]:
    """By which each pair of places counts, where the point is in the place before the decimals.

    The point is a digit 0 there, and counts for nothing: pairs before it are worth a tenth.
    """
    point = WORD - 1 - decimals if decimals else WORD
    return tuple(10 ** (WORD - 1 - last - (last <= point < WORD)) for last in range(1, WORD, 2))


def _long(fields: Fields, whole: Ints, decimals: Ints, most: int) -> tuple[Ints, int]:
    """Fields of three words, the last two of them decimals; and what is larger than all of them.

    Where that is beyond int64 they are wrong.
    """
    total = _fetch(fields.text, fields.starts, WORD)
    if whole.max() <= WORD // 2:
        total <<= _bits(WORD // 2 - whole)
        total = _four_digits(total)
    else:
        total <<= _bits(WORD - whole)
        total &= LOWER
        total = eight_digits(total)
    largest = (int(total.max()) + 1) * 10**most
    total *= np.uint64(10**most)
    words = _fetch(fields.text, fields.points + 1, 2 * WORD).reshape(-1, 2)
    there = LOWER if decimals.min() >= WORD else LOWER >> _bits(WORD - decimals)
    rest = eight_digits(words[:, 0] & there)
    if most <= WORD:
        rest //= np.uint64(10 ** (WORD - most))
    else:
        rest *= np.uint64(10**WORD)
        there = LOWER >> _bits(2 * WORD - decimals)
        there &= words[:, 1]
        rest += eight_digits(there)
        if most < COARSE:
            rest //= np.uint64(10 ** (COARSE - most))
    total += rest
    return total.view(np.int64), largest


def _beyond(fields: Fields, finer: Ints, decimals: Ints) -> tuple[Ints, Ints]:
    written = decimals[finer]
    word = _fetch(fields.text, fields.points[finer] + 1 + COARSE, WORD)
    word &= LOWER >> _bits(MOST - written)
    return eight_digits(word).view(np.int64), written


def _bits(characters: Ints) -> Words:
    """So many characters, in bits; 0 where that is less. (By 64 and more a word is moved out.)"""
    np.maximum(characters, 0, out=characters)
    characters <<= 3
    return characters.view(np.uint64)


def _four_digits(word: Words) -> Words:
    """The number that the first four characters are."""
    word &= np.uint64(0x0F0F_0F0F)
    pairs = word * np.uint64(10)
    word >>= np.uint64(8)
    pairs += word
    pairs &= np.uint64(0x00FF_00FF)
    pairs *= np.uint64((100 << 16) + 1)
    pairs >>= np.uint64(16)
    pairs &= np.uint64(0xFFFF)
    return pairs
