"""Arrays of limbs hold the integers that Python's own arithmetic gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import limbs

NUMBERS = st.lists(
    st.integers(0, 200).flatmap(lambda bits: st.integers(-(2**bits), 2**bits)),
    min_size=4,
    max_size=4,
)
EXPONENTS = st.lists(st.integers(0, 300), min_size=4, max_size=4)


def flags(*values: bool) -> limbs.Flags:
    return np.array(values)


@given(NUMBERS, NUMBERS)
def test_in_out_add_negate(x: list[int], y: list[int]) -> None:
    a, b = limbs.from_ints(x), limbs.from_ints(y)
    assert limbs.to_ints(a) == x
    assert limbs.to_ints(limbs.widen(a, 9)) == x
    assert limbs.trim(limbs.widen(a, 9)).shape == a.shape
    assert limbs.to_ints(limbs.add(a, b)) == [m + n for m, n in zip(x, y, strict=True)]
    assert limbs.negative(a).tolist() == [n < 0 for n in x]
    minus = limbs.negate(a, flags(True, False, True, False))
    assert limbs.to_ints(minus) == [-x[0], x[1], -x[2], x[3]]


@given(NUMBERS)
def test_no_limb_too_many(x: list[int]) -> None:
    bits = max((n if n >= 0 else ~n).bit_length() for n in x) + 1
    assert len(limbs.from_ints(x)) == -(-bits // 64)


@given(NUMBERS, EXPONENTS, EXPONENTS)
def test_scale(x: list[int], twos: list[int], fives: list[int]) -> None:
    scaled = limbs.scale(limbs.from_ints(x), np.array(twos), np.array(fives))
    expected = [n * 2**t * 5**f for n, t, f in zip(x, twos, fives, strict=True)]
    assert limbs.to_ints(scaled) == expected


@given(NUMBERS, EXPONENTS)
def test_shifts(x: list[int], by: list[int]) -> None:
    a, counts = limbs.from_ints(x), np.array(by)
    modulus = 2 ** (64 * len(a))
    left = [(n << s) % modulus for n, s in zip(x, by, strict=True)]
    assert [n % modulus for n in limbs.to_ints(limbs.shift_left(a, counts))] == left
    right = [n >> s for n, s in zip(x, by, strict=True)]
    assert limbs.to_ints(limbs.shift_right(a, counts)) == right


@given(NUMBERS, EXPONENTS)
def test_divide_by_fives(x: list[int], fives: list[int]) -> None:
    x = [abs(n) for n in x]
    quotient, inexact = limbs.divide_by_fives(limbs.from_ints(x), np.array(fives))
    expected = [divmod(n, 5**f) for n, f in zip(x, fives, strict=True)]
    assert limbs.to_ints(quotient) == [q for q, _ in expected]
    assert inexact.tolist() == [r != 0 for _, r in expected]
