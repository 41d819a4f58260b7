"""A number becomes the nearest multiple of the step, ties to even, or an error naming its place."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import NumberError
from titan.ring import FixedPoint, Ring
from titan.ring.fixed_point import decode, error_bound


def where(at: int) -> str:
    return f"entry {at}"


def encode(scale: FixedPoint, numbers: Any) -> list[int]:
    return scale.ring.to_signed(scale.encode(np.asarray(numbers), where))


floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)


@given(st.lists(floats, min_size=1), st.integers(-30, 80), st.sampled_from([150, 192, 256]))
def test_floats_round_to_the_nearest_step_ties_to_even(
    numbers: list[float], fraction: int, bits: int
) -> None:
    scale = FixedPoint(Ring(bits), fraction, parties=3)
    expected = [round(Fraction(x) * Fraction(2) ** fraction) for x in numbers]
    if any(code == 0 and x != 0 for code, x in zip(expected, numbers, strict=True)):
        with pytest.raises(NumberError, match="would round to zero"):
            encode(scale, np.array(numbers))
    else:
        assert encode(scale, np.array(numbers)) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-1, 60))
def test_integers(numbers: list[int], fraction: int) -> None:
    scale = FixedPoint(Ring(130), fraction, parties=1)
    expected = [round(Fraction(n) * Fraction(2) ** fraction) for n in numbers]
    if all(code or not n for code, n in zip(expected, numbers, strict=True)):
        assert encode(scale, np.array(numbers, np.int64)) == expected
        assert encode(scale, np.array(numbers, object)) == expected


def test_unsigned_narrow_and_exact_kinds() -> None:
    scale = FixedPoint(Ring(192), 64, parties=2)
    assert encode(scale, np.array([2**64 - 1], np.uint64)) == [(2**64 - 1) << 64]
    assert encode(scale, np.array([0.1], np.float32)) == [int(np.float32(0.1) * 2.0**64)]
    assert encode(scale, np.array([True, False])) == [1 << 64, 0]
    exact = [Fraction(1, 3), Decimal("0.1"), 10**30, np.float64(0.5), np.int64(-2)]
    assert encode(scale, np.array(exact, object)) == [
        round(Fraction(2**64, 3)), round(Fraction(2**64, 10)), 10**30 << 64, 1 << 63, -2 << 64
    ]  # fmt: skip


def test_ties_go_to_even() -> None:
    scale = FixedPoint(Ring(64), 0, parties=1)
    assert encode(scale, [1.5, 2.5, -1.5, -2.5, 3.5]) == [2, 2, -2, -2, 4]
    coarse = FixedPoint(Ring(64), -64, parties=1)
    assert encode(coarse, np.array([2**63 + 1, 2**64 - 1], np.uint64)) == [1, 1]
    for tie in (np.array([2**63], np.uint64), np.array([-(2**63)], np.int64)):
        with pytest.raises(NumberError, match="round to zero"):  # half a step ties to 0
            encode(coarse, tie)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_kind_and_place(bad: float) -> None:
    scale = FixedPoint(Ring(128), 64, parties=2)
    word = "NaN" if np.isnan(bad) else "infinite"
    for array in (np.array([1.0, bad]), np.array([1.0, bad], object)):
        with pytest.raises(NumberError, match=f"entry 1 is {word}"):
            encode(scale, array)
    with pytest.raises(NumberError, match=r"entry 0 is .*1 more"):
        encode(scale, np.array([bad, 0.0, bad]))


@pytest.mark.parametrize("bad", ["text", 1j, None, [1]])
def test_what_is_no_number_is_refused(bad: object) -> None:
    array = np.empty(1, object)
    array[0] = bad
    with pytest.raises(NumberError, match="entry 0 is of type"):
        encode(FixedPoint(Ring(128), 64, 2), array)
    with pytest.raises(NumberError, match="not a real number"):
        encode(FixedPoint(Ring(128), 64, 2), np.array(["a"]))


@given(st.integers(2, 1000), st.integers(20, 300))
def test_the_largest_share_fits_and_one_more_does_not(parties: int, bits: int) -> None:
    scale = FixedPoint(Ring(bits), 3, parties)
    largest = Fraction(scale.largest, 8)
    if scale.largest:
        assert encode(scale, np.array([largest], object)) == [scale.largest]
        assert scale.largest * parties < 2 ** (bits - 1), "the sum of all cannot wrap around"
        with pytest.raises(NumberError, match="entry 0 does not fit"):
            encode(scale, np.array([largest + Fraction(1, 8)], object))


def advised(message: str, what: str) -> str:
    return message.split(f"{what}=")[1].split()[0].rstrip(")")


@given(st.integers(2, 50), st.floats(2.0**62, 2.0**90))
def test_the_advice_of_an_overflow_works(parties: int, number: float) -> None:
    scale = FixedPoint(Ring(128), 64, parties)
    try:
        encode(scale, [number])
        return
    except NumberError as error:
        bits = int(advised(error.hint, "bits"))
        bound = Fraction(eval(advised(error.hint, "bound")))  # noqa: S307 - our own text
    encode(FixedPoint(Ring(bits), bits // 2, parties), [number])
    encode(FixedPoint.for_bound(Ring(128), bound, parties), [number])


@given(st.floats(2.0**-300, 2.0**-66))
def test_the_advice_of_a_vanished_number_works(number: float) -> None:
    with pytest.raises(NumberError, match="entry 1 is not zero but would round to zero") as error:
        encode(FixedPoint(Ring(128), 64, 3), [0.0, number])
    bits = int(advised(error.value.hint, "bits"))
    encode(FixedPoint(Ring(bits), bits // 2, 3), [number])


@given(
    st.fractions(min_value=Fraction(1, 10**40), max_value=10**60),
    st.integers(1, 500),
    st.integers(12, 256),
)
def test_a_bound_sets_the_finest_scale_that_cannot_wrap(
    bound: Fraction, parties: int, bits: int
) -> None:
    scale = FixedPoint.for_bound(Ring(bits), bound, parties)
    assert round(bound * Fraction(2) ** scale.fraction) <= scale.largest
    assert round(bound * Fraction(2) ** (scale.fraction + 1)) > scale.largest
    with pytest.raises(NumberError, match="exceeds the bound"):
        encode(scale, np.array([bound * 2], object))


@given(st.lists(st.integers(-(2**100), 2**100), min_size=1), st.integers(1, 9), st.integers(-5, 70))
def test_decoding_is_correctly_rounded_and_its_bound_holds(
    codes: list[int], parties: int, fraction: int
) -> None:
    scale = FixedPoint(Ring(128), fraction, parties)
    decoded = decode(codes, scale.units, parties)
    bounds = error_bound(decoded, scale.rounding)
    half_step = Fraction(2) ** (-fraction - 1)
    for code, x, bound in zip(codes, decoded, bounds, strict=True):
        exact = Fraction(code) / parties / Fraction(2) ** fraction
        assert x == float(exact)
        assert abs(Fraction(float(x)) - exact) + half_step <= Fraction(float(bound))


def test_errors_do_not_tell_the_number() -> None:
    with pytest.raises(NumberError) as error:
        encode(FixedPoint(Ring(128), 64, 2), [123456789012345678901234.5])
    assert "12345678901" not in str(error.value)
