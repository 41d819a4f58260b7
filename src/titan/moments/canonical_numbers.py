"""Numbers in one form, whatever unit they came in: n · 2^a · 5^b, with n divisible by neither.

1.50, 1.5 and the binary number 1.5 are all 3 · 2^-1; zero is 0 · 2^0 · 5^0.
"""

# Rule 1: a number's form depends on that number alone, never on the others of its column.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column, WideColumn
from titan.moments.spans import whole_parts

_Ints = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]
_HALF = np.uint64(0xFFFF_FFFF)
_LIMIT = 1 << 127
_FIFTH = np.uint64(pow(5, -1, 1 << 64))
_MOST_FIFTH = np.uint64((1 << 63) // 5)


@dataclass(frozen=True)
class Canonical:
    """The n in words of 64 bits, and a · 2^32 + b."""

    low: _Ints = field(repr=False)
    exponents: _Ints = field(repr=False)
    high: _Ints | None = field(default=None, repr=False)
    """n = high · 2^64 + low, low being read without sign; None where all n fit int64."""
    longer: dict[int, int] = field(default_factory=dict, repr=False)
    """n by its row, where it needs more than two words."""


def canonical(column: Column) -> Canonical:
    if isinstance(column, WideColumn):
        words = column.words["low"], column.words["high"].view(np.uint64)
        low, high, exponents_of = _of_two_words(*words, column.two, column.five)
        return Canonical(low.view(np.int64), exponents_of, high.view(np.int64))
    numbers = column.numbers
    if numbers.dtype == object:
        return _of_objects(column)
    if numbers.dtype == np.float64:
        whole, exponents = whole_parts(numbers)
        return _of_int64(whole, exponents.astype(np.int64) + column.two, column.five)
    return _of_int64(numbers, column.two, column.five)


def _exponents(two: _Ints, five: _Ints, zero: npt.NDArray[np.bool_]) -> _Ints:
    """In place of `two`: memory is what this costs."""
    two <<= 32
    two += five
    two[zero] = 0
    return two


# -- one word ---------------------------------------------------------------------------------


def _of_int64(numbers: _Ints, two: _Ints | int, five: int) -> Canonical:
    zero = numbers == 0
    numbers = np.where(zero, 1, numbers)
    twos = _trailing_zeros(numbers)
    numbers >>= twos
    fives = _divide_by_five(numbers)
    numbers[zero] = 0
    twos += two
    fives += five
    return Canonical(numbers, _exponents(twos, fives, zero))


def _trailing_zeros(words: npt.NDArray[Any]) -> _Ints:
    """Of words that are not zero: the exponent of the power of two that each is a multiple of."""
    powers = -words
    powers &= words
    exponents: _Ints = powers.view(np.int64).astype(np.float64).view(np.int64)
    exponents >>= 52
    exponents &= 0x7FF  # -2^63 has a sign
    exponents -= 1023
    return exponents


def _divide_by_five(numbers: _Ints) -> _Ints:
    """Take every factor 5 out of the numbers, in place, and count them.

    Modulo 2^64 the inverse of 5 divides by it: a multiple of 5 becomes its fifth, which is at most
    2^63 / 5 in size, and every other number becomes something larger.
    """
    count, words = np.zeros(len(numbers), np.int64), numbers.view(np.uint64)
    fifths = words * _FIFTH
    at = np.flatnonzero(fifths + _MOST_FIFTH <= 2 * _MOST_FIFTH)
    fifths = fifths[at]
    while len(at):
        words[at] = fifths
        count[at] += 1
        fifths *= _FIFTH
        exact = fifths + _MOST_FIFTH <= 2 * _MOST_FIFTH
        at, fifths = at[exact], fifths[exact]
    return count


# -- two words --------------------------------------------------------------------------------


def _of_objects(column: Column) -> Canonical:
    """Integers of any size. Those beyond two words go one by one: few columns have such."""
    numbers, longer, beyond = column.numbers.tolist(), {}, {}
    try:
        low, high = _words(numbers)
    except OverflowError:
        longer = {at: n for at, n in enumerate(numbers) if not -_LIMIT < n < _LIMIT}
        low, high = _words([0 if at in longer else n for at, n in enumerate(numbers)])
    low, high, exponents = _of_two_words(low, high, column.two, column.five)
    for at, number in longer.items():
        n, a, b = _one(number, column.two, column.five)
        exponents[at] = (a << 32) + b
        if -_LIMIT < n < _LIMIT:
            low[at : at + 1], high[at : at + 1] = _words([n])
        else:
            beyond[at] = n
    return Canonical(low.view(np.int64), exponents, high.view(np.int64), beyond)


def _words(numbers: list[int]) -> tuple[_Words, _Words]:
    """The low and the high word of each, in two's complement; OverflowError if that is too few."""
    data = b"".join([n.to_bytes(16, "little", signed=True) for n in numbers])
    pairs = np.frombuffer(data, "<u8").reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _of_two_words(low: _Words, high: _Words, two: int, five: int) -> tuple[_Words, _Words, _Ints]:
    negative = high.view(np.int64) < 0
    zero = (low | high) == 0
    low, high = _negated(low, high, negative)
    low[zero] = 1
    empty = low == 0  # then all factors 2 of this word, and perhaps more in the other
    low, high = np.where(empty, high, low), np.where(empty, 0, high)
    twos = _trailing_zeros(low)
    shift = twos.astype(np.uint64)
    low = (low >> shift) | ((high << np.uint64(1)) << (np.uint64(63) - shift))
    high >>= shift
    fives = _divide_words_by_five(low, high)
    low[zero] = 0
    return *_negated(low, high, negative), _exponents(two + twos + 64 * empty, five + fives, zero)


def _negated(low: _Words, high: _Words, which: npt.NDArray[np.bool_]) -> tuple[_Words, _Words]:
    """Minus some of the numbers."""
    return np.where(which, -low, low), np.where(which, ~high + (low == 0), high)


def _divide_words_by_five(low: _Words, high: _Words) -> _Ints:
    """Take every factor 5 out of these numbers without sign, in place, and count them."""
    count = np.zeros(len(low), np.int64)
    at = np.flatnonzero(_modulo_five(_modulo_five(low) + _modulo_five(high)) == 0)  # 2^64 is 1
    while len(at):
        rest, digits = np.zeros(len(at), np.uint64), []
        for word in (high[at], low[at]):
            for digit in (word >> np.uint64(32), word & _HALF):  # by hand, to the base of 2^32
                part = (rest << np.uint64(32)) | digit
                digits.append(part // np.uint64(5))
                rest = part - digits[-1] * np.uint64(5)
        exact = rest == 0
        at = at[exact]
        a, b, c, d = (digit[exact] for digit in digits)
        high[at], low[at] = (a << np.uint64(32)) | b, (c << np.uint64(32)) | d
        count[at] += 1
    return count


def _modulo_five(words: _Words) -> _Words:
    return words - words // np.uint64(5) * np.uint64(5)  # NumPy divides by one number fast


# -- more words -------------------------------------------------------------------------------


def _one(n: int, a: int, b: int) -> tuple[int, int, int]:
    zeros = (n & -n).bit_length() - 1
    n, a = n >> zeros, a + zeros
    while n % 5 == 0:
        n, b = n // 5, b + 1
    return n, a, b
