"""Digits read eight at a time are the numbers they write, and what is not plain is left alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import decimal_text
from titan.moments.canonical_numbers import canonical
from titan.moments.columns import Column, WideColumn, integers_of
from titan.moments.digits import read_digits
from titan.moments.gram import gram

digits = st.text("0123456789", max_size=18)
texts = st.builds("{}{}{}{}".format, st.sampled_from(["", "+", "-"]), digits,
                  st.sampled_from(["", "."]), digits)  # fmt: skip


def read(written: list[str]) -> tuple[list[int], list[int]] | None:
    found = read_digits(*decimal_text.bytes_of(pa.array(written, pa.string())))
    return None if found is None else (found[0].tolist(), found[1].tolist())


@given(st.lists(texts, min_size=1, max_size=6))
def test_what_is_read_is_what_is_written(written: list[str]) -> None:
    found = read(written)
    bare = [text.lstrip("+-") for text in written]
    whole = [text.replace(".", "") for text in bare]
    if not all(whole) or max(map(len, bare)) > 24:
        assert found is None
    elif max(map(int, whole)) < 10**18:
        assert found is not None
        for text, number, decimals in zip(written, *found, strict=True):
            assert Fraction(number, 10**decimals) == Fraction(text)
    else:
        assert found is None, "more than int64 holds for certain"


@pytest.mark.parametrize("at", range(24))
@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 17, 18])
def test_a_point_at_every_place_of_every_word(at: int, length: int) -> None:
    whole = ("123456789" * 2)[:length]
    if at <= length:
        found = read([whole[:at] + "." + whole[at:], "7"])
        assert found == ([int(whole), 7], [length - at, 0])


@pytest.mark.parametrize(
    "text", [".", "+", "-", "+.", "1.2.3", "1.2345678.9", "1-2", "--1", "1+", "1,5", "1/5", "1/.",
             "", "1" * 25, "1e5", "1 ", "\u0663"],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_others(text: str) -> None:
    assert read([text]) is None
    assert read(["1", text, "2.5"]) is None


# -- numbers of two words -----------------------------------------------------------------------

LONG = ["0.12345678901234567", "-98765432109876.5", "3", "-0.00000000000000001", "0"]


def test_numbers_beyond_int64_stay_in_two_words_and_are_the_same() -> None:
    column, _ = decimal_text.parse(pa.array(LONG))
    assert isinstance(column, WideColumn)
    assert column.fractions() == [Fraction(text) for text in LONG]
    assert column.take(np.array([1, 3])).fractions() == [Fraction(LONG[1]), Fraction(LONG[3])]
    plain = Column(integers_of(column.words), column.two, column.five)
    assert gram(["a", "b"], [column, column]) == gram(["a", "b"], [plain, plain])
    one, other = canonical(column), canonical(plain)
    assert np.array_equal(one.low, other.low)
    assert np.array_equal(one.exponents, other.exponents)


@given(st.lists(st.integers(-(2**126), 2**126), min_size=1, max_size=40), st.integers(1, 4))
def test_moments_of_two_words_are_those_of_integers(numbers: list[int], others: int) -> None:
    words = np.frombuffer(
        b"".join(n.to_bytes(16, "little", signed=True) for n in numbers), "<u8,<i8"
    )
    from titan.moments.columns import WORDS

    wide = WideColumn(words.view(WORDS))
    assert wide.numbers.tolist() == numbers
    small = Column(np.arange(len(numbers)))
    names = [str(at) for at in range(others + 1)]
    found = gram(names, [wide] * others + [small])
    assert found == gram(names, [Column(np.array(numbers, object))] * others + [small])
    assert found.integer(0, 0) == sum(n * n for n in numbers)


def test_decimals_of_arrow_beyond_int64_stay_in_two_words() -> None:
    from decimal import Decimal

    from titan.moments.cells import ArrowCells

    values = [Decimal("12345678901234567890123.45"), Decimal("-0.01"), None]
    column, missing = ArrowCells("a", pa.array(values, pa.decimal128(38, 2)), str).numbers()
    assert isinstance(column, WideColumn)
    assert column.fractions()[:2] == [Fraction(str(value)) for value in values[:2]]
    assert missing.tolist() == [False, False, True]
