"""Many short decimal texts as whole numbers at once, eight characters to a word.

A text is  sign digits . digits,  of at most 24 characters after the sign. Its last eight are one
word of 64 bits, those before them the next, and what is before the text counts as zeros. The point
is taken out by moving what stands before it one place on. Eight digits d_0 … d_7 in the bytes of a
word, the first in the lowest, become a number by three multiplications of the whole word,

    d_0 d_1 … → (10 d_0 + d_1), …   → hundreds in pairs → ten thousands in pairs,

which NumPy does for all texts of a column at a time.
"""

# Rule 1: what is returned is exact; None is for texts that are not plain, or too long.
# Rule 2: every character is looked at: nothing but digits, one point and one sign passes.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_WORD = 8
_MOST_WORDS = 3
_AT_ONCE = 1 << 14
"""Texts: arrays of more are new memory each time, which costs more than what is done in it."""
_LEAST_BEYOND = 100
"""A third word below this, and the whole is below 10^18."""


def _everywhere(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte]) * _WORD, "little"))


_ZEROS, _POINTS = _everywhere(ord("0")), _everywhere(ord("."))
_ONE = np.uint64(1)
_ONES, _TOPS, LOWER = _everywhere(0x01), _everywhere(0x80), _everywhere(0x0F)
_PAIRS = np.uint64(0x000000FF_000000FF)
_EIGHT_DIGITS = np.uint64(10**8)
_LAST = np.array([(1 << 64) - (1 << 8 * (_WORD - n)) for n in range(_WORD + 1)], np.uint64)
"""The last n bytes of a word; a word's first byte is its lowest."""


def read_digits(
    offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]
) -> tuple[Ints, Ints] | None:
    """The digits of every text as a number below 10^18, with its sign; and how many are decimals.

    Text i is data[offsets[i] : offsets[i + 1]]; one that is empty is not a number.
    """
    parts = []
    for start in range(0, len(offsets) - 1, _AT_ONCE):
        own = offsets[start : start + _AT_ONCE + 1]
        part = _read(own - own[0], data[own[0] : own[-1]])
        if part is None:
            return None
        parts.append(part)
    numbers, decimals = zip(*parts, strict=True)
    return np.concatenate(numbers), np.concatenate(decimals)


def _read(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> tuple[Ints, Ints] | None:
    if not len(data) or not _is_plain(data):
        return None
    starts, ends = offsets[:-1], offsets[1:].astype(np.int64)
    lengths = ends - starts
    if lengths.min() < 1:
        return None
    signed = np.count_nonzero(data < ord(".")) if data.min() < ord(".") else 0
    negative = None
    if signed:
        first = data.take(starts)
        with_sign = first < ord(".")
        if np.count_nonzero(with_sign) != signed:
            return None  # one in the middle
        negative = first == ord("-")
        lengths -= with_sign
    if lengths.min() < 1 or lengths.max() > _WORD * _MOST_WORDS:
        return None
    words = _words(data, ends, lengths)
    decimals: Ints | None = np.zeros(len(lengths), np.int64)
    if points := int(np.count_nonzero(data == ord("."))):
        decimals = _without_points(words, points, lengths)
    number = None if decimals is None else _number(words)
    if number is None or decimals is None:
        return None
    if negative is not None:
        minus = -negative.astype(np.int64)
        number = (number ^ minus) - minus
    return number, decimals


def _is_plain(data: npt.NDArray[np.uint8]) -> bool:
    """Nothing but digits, points and signs: of + , - . / and 0 to 9, neither , nor /."""
    if data.min() < ord("+") or data.max() > ord("9"):
        return False
    return not ((data == ord(",")).any() or (data == ord("/")).any())


def _words(data: npt.NDArray[np.uint8], ends: Ints, lengths: Ints) -> list[Words]:
    """The last eight characters of each text, those before them, …, with zeros before the text."""
    count = -(-int(lengths.max()) // _WORD)
    padded = np.concatenate([np.zeros(_WORD * count, np.uint8), data])
    every: npt.NDArray[Any] = np.ndarray((len(padded) - 7,), "V8", padded.data, 0, (1,))
    found = []
    for number in range(count):  # void, above: NumPy copies numbers out of line slowly
        word = every[ends + _WORD * (count - 1 - number)].view("<u8")
        word ^= _ZEROS
        own = lengths if count == 1 else np.clip(lengths - _WORD * number, 0, _WORD)
        word &= _LAST.take(own)
        word ^= _ZEROS
        found.append(word.astype(np.uint64, copy=False))
    return found


def _without_points(words: list[Words], points: int, lengths: Ints) -> Ints | None:
    """Take them out, in place: how many digits came after each; None where a text is not a number.

    In a word, `through` has all bytes up to the point, `below` those before it. In a word before
    the one with the point all bytes move, in those after it none does.
    """
    marks = [_marks(word) for word in words]
    moving = np.zeros(len(lengths), np.uint64)  # all ones where the point was in a later word
    decimals = np.zeros(len(lengths), np.uint64)
    for at, mark in enumerate(marks):
        moving |= np.negative((mark != 0).astype(np.uint64))
        through = ((mark << _ONE) - _ONE) & moving
        below = ((mark >> np.uint64(7)) - _ONE) & moving
        carried = words[at + 1] >> np.uint64(56) if at + 1 < len(words) else np.uint64(ord("0"))
        decimals += ((~through & _ONES) * _ONES) >> np.uint64(56)
        moved = (words[at] & below) << np.uint64(8)
        words[at] = (words[at] & ~through) | moved | (carried & moving)
    decimals &= moving
    with_point = moving != 0
    if np.count_nonzero(with_point) != points or (lengths <= with_point).any():
        return None  # two in one text, or nothing else
    return decimals.view(np.int64)


def _marks(word: Words) -> Words:
    """The top bit of every byte that is a point. (Exact, where no byte is one more: a slash.)"""
    other = word ^ _POINTS
    mark = other - _ONES
    mark &= ~other
    mark &= _TOPS
    return mark


def _number(words: list[Words]) -> Ints | None:
    """Their digits as one number; None if that may have more than 18."""
    if len(words) == _MOST_WORDS:
        beyond = eight_digits(words[2] & LOWER)
        if beyond.max(initial=0) >= _LEAST_BEYOND:
            return None
        words = [*words[:2], beyond]
    total = eight_digits(words[0] & LOWER)
    if len(words) > 1:
        total += eight_digits(words[1] & LOWER) * _EIGHT_DIGITS
    if len(words) == _MOST_WORDS:
        total += words[2] * _EIGHT_DIGITS**2
    return total.view(np.int64)


def eight_digits(word: Words, weights: Sequence[int] = (10**6, 10**4, 100, 1)) -> Words:
    """The numbers that eight digits, 0 to 9, are; the first is in the lowest byte.

    Pairs of digits count by their weights. The words are used up.
    """
    pairs = word * np.uint64(10)
    word >>= np.uint64(8)
    pairs += word
    rest = pairs >> np.uint64(16)
    pairs &= _PAIRS
    pairs *= np.uint64(weights[2] + (weights[0] << 32))
    rest &= _PAIRS
    rest *= np.uint64(weights[3] + (weights[1] << 32))
    pairs += rest
    pairs >>= np.uint64(32)
    return pairs
