"""Rounding to the ring, limb by limb, equals rounding of fractions in plain Python bit for bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titan.errors import DataError, NumberError
from titan.moments import Moments
from titan.ring import Ring

NAMES = ("a", "b", "y")
ALL = [(j, k) for j in range(3) for k in range(3)]


def twin(
    moments: Moments,
    ring: Ring,
    fraction_bits: int,
    pairs: list[tuple[int, int]],
    scales: list[int],
) -> list[int]:
    """The same in plain Python; `round` of a fraction rounds half to even."""
    return [
        round(moments.fraction(j, k) * Fraction(2) ** (fraction_bits - scales[j] - scales[k]))
        % ring.modulus
        for j, k in pairs
    ]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Moments, Ring, int, list[int]]:
    size = draw(st.sampled_from([2, 20, 63, 64, 65, 130, 500]))
    exponent = st.integers(-150, 150)
    fives = st.one_of(st.just(0), st.integers(-30, 30))
    moments = Moments.of_integers(
        NAMES,
        draw(st.lists(st.tuples(exponent, fives), min_size=3, max_size=3)),
        1,
        draw(st.lists(st.integers(-(2**size), 2**size), min_size=6, max_size=6)),
    )
    ring = Ring(draw(st.sampled_from([1, 3, 64, 100, 128, 192, 512])))
    scales = draw(st.lists(st.integers(-100, 100), min_size=3, max_size=3))
    return moments, ring, draw(st.integers(-20, 260)), scales


@given(cases(), st.lists(st.sampled_from(ALL), max_size=9))
@settings(max_examples=300)
def test_equals_the_twin_bit_for_bit(
    case: tuple[Moments, Ring, int, list[int]], pairs: list[tuple[int, int]]
) -> None:
    moments, ring, fraction_bits, scales = case
    residues = moments.fixed_point(ring, fraction_bits, pairs, scales)
    assert residues.shape == (ring.limbs, len(pairs))
    assert ring.to_ints(residues) == twin(moments, ring, fraction_bits, pairs, scales)


@pytest.mark.parametrize("five", [0, 1, -1, -14, -27])
@pytest.mark.parametrize("bits", [1, 2, 63, 64, 65, 128])
def test_ties_and_their_neighbours(five: int, bits: int) -> None:
    """moment / (5^|five| · 2^bits) = q + 1/2 and a little less or more, for q even and odd."""
    denominator = 5 ** max(-2 * five, 0) << bits
    numbers = [
        sign * (q * denominator + denominator // 2 + near)
        for q in (0, 1, 2, 2**64 - 1)
        for near in (-1, 0, 1)
        for sign in (1, -1)
    ]
    names = [f"x{at}" for at in range(len(numbers))]
    diagonal = [numbers[j] if j == k else 0 for j in range(len(numbers)) for k in range(j + 1)]
    moments = Moments.of_integers(names, [(0, five)] * len(numbers), 1, diagonal)
    ring = Ring(256)
    pairs = [(j, j) for j in range(len(numbers))]
    rounded = ring.to_signed(moments.fixed_point(ring, -bits, pairs, [0] * len(numbers)))
    factor = Fraction(25) ** five / 2**bits
    assert rounded == [round(n * factor) for n in numbers]
    if five == 0 and bits > 1:
        assert rounded[:6] == [0, 0, 0, 0, 1, -1]


def test_a_part_may_wrap_and_the_sum_is_right() -> None:
    ring = Ring(64)
    parts = [Moments.of_integers(["a"], [(0, 0)], 1, [n]) for n in (2**80 + 5, -(2**80), 37)]
    total = ring.sum((part.fixed_point(ring, 0, [(0, 0)], [0]) for part in parts), 1)
    assert ring.to_signed(total) == [42]


@pytest.mark.parametrize("sign", [1, -1])
def test_within_names_the_columns_and_never_the_number(sign: int) -> None:
    number = sign * 123456789
    moments = Moments.of_integers(["age", "pay"], [(0, 0)] * 2, 1, [1, number, 2])
    ring = Ring(128)
    fits = moments.fixed_point(ring, 0, [(0, 0), (0, 1)], [0, 0], within=123456789)
    assert ring.to_signed(fits) == [1, number]
    with pytest.raises(NumberError, match='"age" and "pay"') as caught:
        moments.fixed_point(ring, 0, [(0, 0), (0, 1)], [0, 0], within=123456788)
    assert "123456789" not in str(caught.value)
    assert "rescale" in caught.value.hint
    assert "bits" not in caught.value.hint  # the ring of the sum is not the caller's to choose


def test_wrong_pairs_and_scales_are_refused() -> None:
    moments = Moments.zero(NAMES)
    for pair in [(0, 3), (-1, 0)]:
        with pytest.raises(DataError, match="beyond the 3"):
            moments.fixed_point(Ring(64), 0, [pair], [0, 0, 0])
    with pytest.raises(DataError, match="2 scales for 3 columns"):
        moments.fixed_point(Ring(64), 0, [(0, 0)], [0, 0])


def test_none_and_many() -> None:
    moments = Moments.zero(NAMES)
    ring = Ring(128)
    assert moments.fixed_point(ring, 9, [], [0, 0, 0]).shape == (2, 0)
    many = np.zeros((1000, 2), np.int64)
    assert not moments.fixed_point(ring, 9, many, [0, 0, 0]).any()
