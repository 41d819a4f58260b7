"""Arithmetic on limbs is arithmetic of Python integers modulo 2^bits, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import bits
from titan.errors import InputError, MessageError
from titan.ring import Ring


@st.composite
def ring_and_vectors(draw: st.DrawFn, count: int) -> tuple[Ring, list[list[int]]]:
    ring = Ring(draw(bits))
    size = draw(st.integers(0, 5))
    edges = [0, 1, ring.modulus - 1, ring.modulus // 2, (1 << 64) % ring.modulus]
    number = st.one_of(st.integers(0, ring.modulus - 1), st.sampled_from(edges))
    vector = st.lists(number, min_size=size, max_size=size)
    return ring, draw(st.lists(vector, min_size=count, max_size=count))


@given(ring_and_vectors(2))
def test_add_subtract_negate(case: tuple[Ring, list[list[int]]]) -> None:
    ring, (a, b) = case
    x, y, n = ring.from_ints(a), ring.from_ints(b), ring.modulus
    assert ring.to_ints(ring.add(x, y)) == [(i + j) % n for i, j in zip(a, b, strict=True)]
    assert ring.to_ints(ring.subtract(x, y)) == [(i - j) % n for i, j in zip(a, b, strict=True)]
    assert ring.to_ints(ring.negate(x)) == [-i % n for i in a]
    assert ring.to_ints(x) == a, "operands are left alone"
    assert ring.to_ints(y) == b


@given(ring_and_vectors(7))
def test_sums_of_many(case: tuple[Ring, list[list[int]]]) -> None:
    ring, vectors = case
    expected = [sum(column) % ring.modulus for column in zip(*vectors, strict=True)]
    encoded = [ring.from_ints(v) for v in vectors]
    size = len(vectors[0])
    assert ring.to_ints(ring.sum(encoded, size)) == expected
    assert ring.to_ints(ring.sum_axis(np.stack(encoded, axis=1))) == expected
    if size:
        starts = np.array([0, 3])
        groups = ring.sum_groups(np.stack(encoded, axis=-1), starts)
        for group, part in ((0, vectors[:3]), (1, vectors[3:])):
            sums = [sum(column) % ring.modulus for column in zip(*part, strict=True)]
            assert ring.to_ints(groups[..., group]) == sums


def test_a_sum_of_more_vectors_than_are_stacked_at_once() -> None:
    ring = Ring(100)
    vectors = [[n * 10**27, -n] for n in range(200)]
    total = ring.sum((ring.from_ints(v) for v in vectors), 2)
    assert ring.to_ints(total) == [sum(range(200)) * 10**27 % 2**100, -sum(range(200)) % 2**100]


@given(ring_and_vectors(1))
def test_bytes_round_trip(case: tuple[Ring, list[list[int]]]) -> None:
    ring, [numbers] = case
    data = ring.to_bytes(ring.from_ints(numbers))
    assert len(data) == ring.width * len(numbers)
    assert ring.to_ints(ring.from_bytes(data, len(numbers))) == numbers


@given(bits.filter(lambda b: b < 20), st.binary(min_size=6, max_size=6))
def test_whatever_bytes_are_accepted_re_encode_to_themselves(bits: int, data: bytes) -> None:
    ring = Ring(bits)
    try:
        x = ring.from_bytes(data, 6 // ring.width)
    except MessageError:
        return
    assert ring.to_bytes(x) == data


def test_bytes_of_the_wrong_length_and_too_large_residues_are_refused() -> None:
    with pytest.raises(MessageError, match="15 bytes where 16"):
        Ring(128).from_bytes(bytes(15), 1)
    with pytest.raises(MessageError, match="does not fit 3 bits"):
        Ring(3).from_bytes(b"\x07\x08", 2)


@given(st.integers(-(2**200), 2**200))
def test_signed_representatives(number: int) -> None:
    ring = Ring(202)
    assert ring.to_signed(ring.from_ints([number])) == [number]


def test_uniform_draws_use_every_word_and_drop_only_unused_bits() -> None:
    ring = Ring(70)
    asked: list[int] = []

    def words(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        asked.append(count)
        return np.full(count, 2**64 - 1, np.uint64)

    x = ring.uniform(5, words)
    assert asked == [10]
    assert ring.to_ints(x) == [2**70 - 1] * 5


@pytest.mark.parametrize("bits", [0, -1, 1.5, True, "64"])
def test_rings_that_do_not_exist(bits: int) -> None:
    with pytest.raises(InputError, match="bits"):
        Ring(bits)
