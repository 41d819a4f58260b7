"""Decimal text is read as the very number it writes, in batches, and nothing else is a number."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import decimal_text
from titan.moments.decimal_text import BadNumberError, parse

digits = st.text("0123456789", min_size=1, max_size=25)
signs = st.sampled_from(["", "+", "-"])
mantissas = st.one_of(
    digits,
    st.builds("{}.{}".format, digits, digits),
    st.builds("{}.".format, digits),
    st.builds(".{}".format, digits),
)
exponents = st.one_of(
    st.just(""),
    st.builds("{}{}{}".format, st.sampled_from("eE"), signs, st.integers(0, 40)),
)
numbers = st.builds("{}{}{}".format, signs, mantissas, exponents)
short = st.builds("{}{}.{}".format, signs, st.integers(0, 99999), st.integers(0, 999))
padded = st.builds("{0}{1}{0}".format, st.sampled_from(["", " ", "\t ", "\u00a0"]), numbers)


def read(texts: list[str | None]) -> list[Fraction]:
    column, missing = parse(pa.array(texts, pa.string()))
    assert not missing.any()
    assert column.numbers.dtype in (np.int64, object)
    return column.fractions()


@given(st.lists(numbers, max_size=8) | st.lists(short, max_size=8))
def test_every_decimal_text_is_the_fraction_it_writes(texts: list[str]) -> None:
    assert read(list(texts)) == [Fraction(text) for text in texts]


@given(st.lists(padded, min_size=1, max_size=4))
def test_spaces_around_a_number_do_not_matter(texts: list[str]) -> None:
    assert read(list(texts)) == [Fraction(text.strip()) for text in texts]


@given(st.lists(numbers, max_size=8))
def test_the_quick_way_and_the_plain_way_agree(texts: list[str]) -> None:
    plain = decimal_text._column(*decimal_text._read_one_by_one(pa.array(texts, pa.string())))
    assert read(list(texts)) == plain.fractions()


FOUND = {
    "text where a number was expected",
    "a comma inside a number",
    "an infinite number",
    "a number of more than 4000 digits",
    "a number with an exponent beyond 4000",
}
LANGUAGE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@given(st.text("0123456789+-.eE xnaif_,/\u0663", max_size=5), st.booleans())
def test_nothing_but_the_language_is_accepted(text: str, among_others: bool) -> None:
    text = text.strip()
    batch: list[str | None] = ["1", text, "2.5e1"] if among_others else [text]
    at = 1 if among_others else 0
    if text.lower() in decimal_text.MISSING or LANGUAGE.fullmatch(text):
        column, missing = parse(pa.array(batch, pa.string()))
        assert missing[at] == (text.lower() in decimal_text.MISSING)
        assert missing[at] or column.fractions()[at] == Fraction(text)
    else:
        with pytest.raises(BadNumberError) as caught:
            parse(pa.array(batch, pa.string()))
        assert caught.value.row == at


@pytest.mark.parametrize(
    "text", ["x", "1 2", "1e", "e5", "1e5e1", "1e5.0", "1e0x10", "0x10", "1_0", ".", "+", "-+3",
             "1,5", "٣", "1e99999", "1e-99999", "9" * 5000, "inf", "-Infinity", "1-2", "1.2.3"],
)  # fmt: skip
def test_what_is_no_number_is_refused_with_its_row(text: str) -> None:
    for batch in ([text], ["1", text], ["1e2", text], [None, text]):
        with pytest.raises(BadNumberError) as caught:
            parse(pa.array(batch, pa.string()))
        assert caught.value.row == len(batch) - 1
        assert caught.value.found in FOUND


def test_missing_texts_are_missing_and_not_wrong() -> None:
    texts = ["1", "", "NA", "nan", "NULL", None, " n/a ", "2"]
    column, missing = parse(pa.array(texts, pa.string()))
    assert missing.tolist() == [False, True, True, True, True, True, True, False]
    assert [column.fractions()[0], column.fractions()[-1]] == [1, 2]


@pytest.mark.parametrize("length", [15, 16, 17, 18, 19, 20, 37, 38, 39, 40, 45, 60, 200])
@pytest.mark.parametrize("decimals", [0, 3, 10])
def test_long_numbers_at_every_boundary(length: int, decimals: int) -> None:
    """Arrow's cast to decimals wraps around silently from 39 digits on; ours must not."""
    whole = "9" * length
    text = whole[: length - decimals] + "." + whole[length - decimals :]
    assert read([text, "-" + text, "1"]) == [Fraction(text), -Fraction(text), 1]


@pytest.mark.parametrize(
    "k", [2**50 - 1, 2**50, 2**50 + 1, 2**53 + 1, 10**18 - 1, 2**63 - 1, 2**63]
)
@pytest.mark.parametrize("decimals", [0, 1, 7, 16, 22, 23])
def test_the_bound_of_the_float_way(k: int, decimals: int) -> None:
    text = f"{k}e-{decimals}"
    plain = f"{k:030d}"
    plain = plain[:-decimals] + "." + plain[-decimals:] if decimals else plain
    assert read([text]) == read([plain]) == [Fraction(k, 10**decimals)]


def test_ordinary_columns_stay_in_int64_in_the_coarsest_unit() -> None:
    column, _ = parse(pa.array(["1.50", "2.00", "-0.30"]))
    assert (column.numbers.dtype, column.two, column.five) == (np.dtype(np.int64), -1, -1)
    assert column.numbers.tolist() == [15, 20, -3]


def test_a_slice_of_an_array_is_read_as_that_slice() -> None:
    whole = pa.array(["x", "1.5", "2e1", "y"])
    assert parse(whole[1:3])[0].fractions() == [Fraction(3, 2), 20]


def test_nothing_at_all() -> None:
    assert read([]) == []
    assert read(["0e10", "-0.000"]) == [0, 0]
