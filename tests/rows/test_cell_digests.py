"""Digests of whole blocks are those of their cells; what differs in anything differs in its digest.

The plain twin below makes one cell's digest at a time, from the definition in `cell_digests`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import Column, cell_digests
from titan.moments.canonical_numbers import canonical
from titan.moments.cell_digests import CellDigests
from titan.moments.cells import ArrowCells, Cells, ObjectCells

KEY = hashlib.sha256(b"a key").digest()
DIGESTS = CellDigests(KEY)
WORDS = 1 << 64
Pair = tuple[int, int]


# -- one at a time ----------------------------------------------------------------------------


def encrypted(form: str, first: int, second: int) -> Pair:
    key = hmac.new(KEY, f"titan {form} \x01".encode(), "sha256").digest()
    block = b"".join((word % WORDS).to_bytes(8, "little") for word in (first, second))
    cipher = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - one block
    out = cipher.update(block)
    return int.from_bytes(out[:8], "little"), int.from_bytes(out[8:], "little")


def added(*pairs: Pair) -> Pair:
    return sum(a for a, _ in pairs) % WORDS, sum(b for _, b in pairs) % WORDS


def in_column(name: str, *parts: Pair) -> Pair:
    first, second = added(*parts)
    word = hmac.digest(KEY, f"titan cells of {name}".encode(), "sha256")[:8]
    factor = int.from_bytes(word, "big") | 1
    return first * factor % WORDS, second * factor % WORDS


def of_text(text: bytes | None, name: str = "x") -> Pair:
    if text is None:
        return 0, 0
    words = [text[at : at + 8] for at in range(0, max(len(text), 1), 8)]
    parts = [
        encrypted("text", int.from_bytes(word, "little"), (at << 32) + len(text))
        for at, word in enumerate(words)
    ]
    return in_column(name, *parts)


def of_number(value: Fraction, name: str = "x") -> Pair:
    n, a, b = form(value)
    second = (a << 32) + b
    pairs = [encrypted("number", n, second)]
    if not -(2**63) <= n < 2**63:
        pairs.append(encrypted("high", n >> 64, second))
    return in_column(name, *pairs)


def form(value: Fraction) -> tuple[int, int, int]:
    """n, a, b with value = n · 2^a · 5^b."""
    n, rest, powers = value.numerator, value.denominator, {2: 0, 5: 0}
    for prime in powers:
        while n and n % prime == 0:
            n, powers[prime] = n // prime, powers[prime] + 1
        while rest % prime == 0:
            rest, powers[prime] = rest // prime, powers[prime] - 1
    assert rest == 1
    return n, powers[2], powers[5]


def pairs(digests: Any) -> list[Pair]:
    return [(int(a), int(b)) for a, b in digests]


def held(values: Any, name: str = "x") -> list[Pair]:
    return pairs(DIGESTS.held(arrow(values, name)))


def arrow(values: Any, name: str = "x") -> Cells:
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return ArrowCells(name, array, str)


def objects(values: Sequence[Any]) -> Cells:
    return ObjectCells("x", list(values), str)


# -- cells ------------------------------------------------------------------------------------

texts = st.lists(st.none() | st.text(max_size=40).map(str.strip), max_size=12)


@given(texts, st.integers(1, 20))
def test_texts_of_any_length(values: list[str | None], most: int) -> None:
    array = pa.array(values, pa.string())
    expected = [of_text(None if text is None else text.encode()) for text in values]
    with patch.object(cell_digests, "_MOST_PARTS", most):  # in pieces, however small
        assert pairs(DIGESTS.texts("text", "x", array)) == expected
    assert pairs(DIGESTS.texts("text", "x", array[2:])) == expected[2:]


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_bytes_that_are_not_text(values: list[bytes]) -> None:
    for kind in (pa.binary(), pa.large_binary()):
        assert held(pa.array(values, kind)) == [of_text(value) for value in values]


def test_a_text_is_the_same_however_it_is_held() -> None:
    values = ["a", None, "", " padded ", "é", "a", "some longer text than eight bytes"]
    plain = [None if text is None else text.strip().encode() for text in values]
    expected = list(map(of_text, plain))
    assert held(values) == expected
    assert held(pa.array(values, pa.large_string())) == expected
    assert held(pa.array(values, pa.string_view())) == expected
    assert held(pa.array(values).dictionary_encode()) == expected
    assert held(pa.chunked_array([pa.array(values[:3]), pa.array(values[3:])])) == expected
    assert pairs(DIGESTS.held(objects(values))) == expected
    assert pairs(DIGESTS.unchanged(objects(values))) == expected


def test_what_is_no_text_is_held_as_arrow_writes_it() -> None:
    assert held([1, None, -20]) == held(["1", None, "-20"])
    assert held([0.5, 1e300, None]) == held(["0.5", "1e+300", None])
    assert held(pa.array([Decimal("1.50")])) == held(["1.50"])
    assert held(pa.nulls(2)) == [(0, 0)] * 2
    assert pairs(DIGESTS.held(objects([1, None, 0.5, float("nan")]))) == held(
        ["1", None, "0.5", None]
    )


numbers = st.integers(-(10**30), 10**30) | st.integers(-(2**62), 2**62) | st.integers(-9, 9)


@given(st.lists(numbers, max_size=8), st.integers(-40, 40), st.integers(-40, 40))
def test_numbers_are_those_of_the_definition(values: list[int], two: int, five: int) -> None:
    column = Column.of_integers(values, two, five)
    assert pairs(DIGESTS.numbers("x", column)) == [of_number(f) for f in column.fractions()]


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_near_the_ends_of_a_word_are_those_of_the_definition(sign: int) -> None:
    fifth = (2**63 - 1) // 5
    values = [2**63 - 1, 2**62, 5**27, 5 * fifth, 5 * fifth + 1, fifth, fifth + 1, 5**25 * 4, 0]
    column = Column.of_integers([sign * n for n in values])
    assert column.numbers.dtype == np.int64
    assert pairs(DIGESTS.numbers("x", column)) == [of_number(f) for f in column.fractions()]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_floats_are_those_of_the_definition(values: list[float]) -> None:
    column = Column(np.array(values, np.float64))
    assert pairs(DIGESTS.numbers("x", column)) == [of_number(f) for f in column.fractions()]


factor = st.integers(0, 45).map(lambda n: 10**n) | st.integers(0, 140).map(lambda n: 2**n)
factor |= st.integers(0, 60).map(lambda n: 5**n)


@given(st.lists(st.tuples(numbers, factor), min_size=1, max_size=8), st.integers(-60, 60))
def test_integers_of_any_size_have_one_form(values: list[tuple[int, int]], unit: int) -> None:
    wide = [n * times for n, times in values]
    column = Column(np.array(wide, object), unit, unit)
    it = canonical(column)
    assert it.high is not None
    for row, value in enumerate(column.fractions()):
        n, a, b = form(value)
        assert int(it.exponents[row]) == (a << 32) + b
        assert (row in it.longer) == (abs(n) >= 2**127)
        two_words = (int(it.high[row]) << 64) + int(it.low[row]) % WORDS
        assert it.longer.get(row, two_words) == n


def test_numbers_longer_than_two_words_are_told_apart() -> None:
    some = [3**100, 3**100 + 2, -(3**100), 3**101, 3**100 + 2**64 * 10, 7]
    found = pairs(DIGESTS.numbers("x", Column(np.array(some, object))))
    assert len(set(found)) == len(some)
    alone = [pairs(DIGESTS.numbers("x", Column.of_integers([n])))[0] for n in some]
    assert found == alone


# -- a source that is read again --------------------------------------------------------------

mixed = st.lists(st.none() | st.floats() | st.text(max_size=4) | st.integers(-9, 9), max_size=8)


@given(mixed)
def test_a_cell_is_unchanged_whichever_way_its_block_is_held(values: list[Any]) -> None:
    """A list of floats and texts is Arrow's where a block of it can be, and Python's where not."""
    whole = pairs(DIGESTS.unchanged(objects(values)))
    for at, value in enumerate(values):
        if not isinstance(value, int):
            alone = DIGESTS.unchanged(arrow(pa.array([value], from_pandas=True)))
            assert pairs(alone) == whole[at : at + 1]


def test_the_bits_of_floats_count() -> None:
    floats = [0.1, np.nextafter(0.1, 1), -0.0, 0.0, float("inf"), float("nan")]
    found = pairs(DIGESTS.unchanged(arrow(floats)))
    assert len(set(found)) == 6
    assert found[-1] == (0, 0)
    assert found == pairs(DIGESTS.unchanged(arrow(pa.array([*floats[:5], None]))))


# -- rows -------------------------------------------------------------------------------------


def rows(*columns: Sequence[str]) -> list[Pair]:
    cells = (
        DIGESTS.held(arrow(values, name)) for name, values in zip("abc", columns, strict=False)
    )
    return pairs(DIGESTS.rows(cells))


def test_a_row_is_encrypted_after_its_cells_are_added() -> None:
    (row,) = rows(["1"], ["two"])
    assert row == encrypted("rows", *added(of_text(b"1", "a"), of_text(b"two", "b")))


def test_a_value_belongs_to_its_column_and_its_row() -> None:
    assert rows(["1"], ["2"]) != rows(["2"], ["1"])
    assert rows(["12"], [""]) != rows(["1"], ["2"])
    before, after = rows(["1", "2"], ["u", "v"]), rows(["1", "2"], ["v", "u"])
    assert added(*before) != added(*after), "swapped between rows"
    cells = [of_text(b"u", "b"), of_text(b"v", "b")]
    assert added(*cells) == added(*cells[::-1]), "which cells alone would not tell"
    assert added(*rows(["1", "2"], ["u", "v"])) == added(*rows(["2", "1"], ["v", "u"]))


def test_nothing_adds_nothing_and_is_not_an_empty_text() -> None:
    assert held([None, ""])[0] == (0, 0)
    assert held([None, ""])[1] != (0, 0)


def test_other_keys_make_other_digests_and_no_key_is_shown() -> None:
    values = [str(n) for n in range(100)]
    other = CellDigests(bytes(32))
    assert not set(held(values)) & set(pairs(other.held(arrow(values))))
    assert repr(DIGESTS) == "CellDigests()"


@pytest.mark.parametrize("kind", ["texts", "numbers", "neighbours"])
def test_no_two_of_many_collide_and_every_bit_is_fair(kind: str) -> None:
    """Of 2^17 cells that differ little; bits of the words, cut as the ledger cuts, too."""
    count = 1 << 17
    if kind == "texts":
        cells = DIGESTS.held(arrow([f"patient {n}" for n in range(count)]))
    elif kind == "numbers":
        cells = DIGESTS.numbers("x", Column(np.arange(count, dtype=np.int64)))
    else:
        cells = DIGESTS.numbers("x", Column(np.arange(count) * 2.0**-52 + 1))
    found = DIGESTS.rows([cells])
    for word in found.T:
        assert len(np.unique(word)) == len(np.unique(word >> np.uint64(16))) == count
        ones = [int(((word >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
        assert all(abs(n - count / 2) < 5 * (count / 4) ** 0.5 for n in ones)


close = st.lists(st.integers(-40, 40), min_size=1, max_size=60)
columns = st.tuples(close, st.integers(-1000, 1000), st.sampled_from([0, -2]))


@given(st.lists(columns, min_size=1, max_size=5))
def test_what_columns_of_one_grid_share_is_each_numbers_own(drawn: list[Any]) -> None:
    """However many values of their unit are known from columns before."""
    digests = CellDigests(KEY)
    for numbers, start, power in drawn:
        own = [start + n for n in numbers]
        found = digests.numbers("x", Column(np.array(own, np.int64), power, power))
        expected = [of_number(n * Fraction(10) ** power) for n in own]
        assert [tuple(pair) for pair in found.tolist()] == expected


def test_columns_of_one_grid_share_what_is_known() -> None:
    """Values are made once, and none where that would take longer than the column itself."""
    digests, made = CellDigests(KEY), []
    one_by_one = CellDigests._one_by_one

    def counted(self: CellDigests, column: Column) -> Any:
        made.append(len(column))
        return one_by_one(self, column)

    with patch.object(CellDigests, "_one_by_one", counted):
        for numbers in (np.arange(100), np.arange(100)[::-1], np.arange(50, 110)):
            digests.numbers("x", Column(numbers, -2, -2))
        assert sum(made) == 110
        digests.numbers("x", Column(np.array([0, 10**9]), -2, -2))
        assert made[-1] == 2
