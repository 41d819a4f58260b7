"""Exact sums, products, powers and comparisons of columns.

Everything happens on integers: a float64 is a whole number of some power of two. int64 is used
wherever the largest entries prove that nothing overflows, Python's integers otherwise.
"""

# Rule 1: no operation rounds. Rule 2: no operation returns -2^63 in int64 (see Column).

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column
from titan.moments.spans import whole_parts

_LIMIT = 2**63
_COMPARE: dict[str, Callable[[Any, int], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def multiply(a: Column, b: Column) -> Column:
    if _is_indicator(b):
        a, b = b, a
    if _is_indicator(a):
        numbers = b.numbers.copy()
        numbers[a.numbers == 0] = 0
        return Column(numbers, b.two, b.five)
    a, b = as_integers(a), as_integers(b)
    x, y = a.numbers, b.numbers
    if largest(a) * largest(b) >= _LIMIT:
        x, y = x.astype(object), y.astype(object)
    return Column(x * y, a.two + b.two, a.five + b.five)


def add(a: Column, b: Column) -> Column:
    a, b = as_integers(a), as_integers(b)
    two, five = min(a.two, b.two), min(a.five, b.five)
    a, b = _in_unit(a, two, five), _in_unit(b, two, five)
    x, y = a.numbers, b.numbers
    if largest(a) + largest(b) >= _LIMIT:
        x, y = x.astype(object), y.astype(object)
    return Column(x + y, two, five)


def negate(a: Column) -> Column:
    return Column(-a.numbers, a.two, a.five)


def subtract(a: Column, b: Column) -> Column:
    return add(a, negate(b))


def absolute(a: Column) -> Column:
    return Column(abs(a.numbers), a.two, a.five)


def compare(operation: str, a: Column, b: Column) -> Column:
    """1 where a < b, say, and 0 elsewhere: of the exact numbers."""
    difference = subtract(a, b).numbers
    return Column(np.asarray(_COMPARE[operation](difference, 0), bool).astype(np.int64))


def either(a: Column, b: Column) -> Column:
    """1 where one of two columns of 0 and 1 is 1, or both are."""
    return Column(np.maximum(a.numbers, b.numbers))


def power(a: Column, exponent: int) -> Column:
    """a^exponent for exponent ≥ 0, with 0^0 = 1, as the empty product."""
    if exponent == 0:
        return Column(np.ones(len(a), np.int64))
    result = power(a, exponent // 2)
    result = multiply(result, result)
    return multiply(result, a) if exponent % 2 else result


def equals(a: Column, value: Fraction) -> npt.NDArray[np.bool_]:
    """Which entries are this very number."""
    numbers = as_integers(a)
    wanted = value / numbers.unit
    if wanted.denominator != 1 or (numbers.numbers.dtype == np.int64 and abs(wanted) >= _LIMIT):
        return np.zeros(len(a), bool)
    return np.asarray(numbers.numbers == wanted.numerator, bool)


def largest(a: Column) -> int:
    """The largest |number| of a column of integers, in its unit."""
    if not len(a):
        return 0
    return max(-int(a.numbers.min()), int(a.numbers.max()), 0)


def as_integers(a: Column) -> Column:
    """The same numbers as whole multiples of a unit: a float64 is m · 2^e, |m| < 2^53."""
    if a.numbers.dtype != np.float64:
        return a
    mantissa, exponent = whole_parts(a.numbers)
    shift = exponent.astype(np.int64)
    nonzero = mantissa != 0
    if not nonzero.any():
        return Column(np.zeros(len(a), np.int64))
    # Without its trailing zeros a mantissa is odd, and the unit as coarse as can be.
    trailing = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    mantissa, shift = np.where(nonzero, mantissa >> np.maximum(trailing, 0), 0), shift + trailing
    finest = int(shift[nonzero].min())
    shift = np.where(nonzero, shift - finest, 0)
    bits = np.frexp(mantissa.astype(np.float64))[1]  # the least with |mantissa| < 2^bits
    if (shift + bits).max() > 63:
        return Column(mantissa.astype(object) << shift.astype(object), a.two + finest, a.five)
    return Column(mantissa << shift, a.two + finest, a.five)


def _is_indicator(a: Column) -> bool:
    """Zeros and ones, as C() makes them: a product with them needs no arithmetic."""
    plain = a.numbers.dtype == np.int64 and a.two == a.five == 0 and len(a) > 0
    return plain and bool(a.numbers.min() >= 0 and a.numbers.max() <= 1)


def _in_unit(a: Column, two: int, five: int) -> Column:
    """The same numbers in a unit which divides their own."""
    factor = 2 ** (a.two - two) * 5 ** (a.five - five)
    if factor == 1:
        return a
    numbers = a.numbers
    if max(largest(a), 1) * factor >= _LIMIT:  # NumPy cannot take a larger factor even times zero
        numbers = numbers.astype(object)
    return Column(numbers * factor, two, five)
