"""Moments add exactly, in whatever units and however the rows were divided; they show no number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titan.errors import DataError
from titan.moments import Column, Moments
from titan.moments.gram import gram

NAMES = ("a", "b", "y")
UNITS = st.tuples(st.integers(-80, 80), st.integers(-40, 40))


@st.composite
def any_moments(draw: st.DrawFn) -> Moments:
    """Six integers of any size; not every such matrix is a Gram matrix, and none needs to be."""
    bits = draw(st.sampled_from([1, 63, 64, 65, 300]))
    number = st.integers(-(2**bits), 2**bits)
    return Moments.of_integers(
        NAMES,
        draw(st.lists(UNITS, min_size=3, max_size=3)),
        draw(st.integers(1, 10**12)),
        draw(st.lists(number, min_size=6, max_size=6)),
    )


def fractions(moments: Moments) -> list[Fraction]:
    return [moments.fraction(j, k) for j in range(3) for k in range(3)]


@given(any_moments(), any_moments())
def test_sums_are_exact(a: Moments, b: Moments) -> None:
    total = a + b
    assert total.rows == a.rows + b.rows
    assert fractions(total) == [x + y for x, y in zip(fractions(a), fractions(b), strict=True)]


@given(any_moments(), any_moments(), any_moments())
@settings(max_examples=50)
def test_adding_is_associative_and_commutative(a: Moments, b: Moments, c: Moments) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Moments.zero(NAMES) == a == Moments.zero(NAMES) + a


@given(any_moments(), UNITS)
def test_equal_as_numbers_whatever_the_units(a: Moments, unit: tuple[int, int]) -> None:
    finer = tuple((two - abs(unit[0]), five - abs(unit[1])) for two, five in a.units)
    factor = 4 ** abs(unit[0]) * 25 ** abs(unit[1])
    numbers = [a.integer(j, k) for j in range(3) for k in range(j + 1)]
    other = Moments.of_integers(NAMES, finer, a.rows, [n * factor for n in numbers])
    assert a == other
    assert fractions(a) == fractions(other)
    numbers[3] += 1
    assert a != Moments.of_integers(NAMES, a.units, a.rows, numbers)
    assert a != Moments.of_integers(
        NAMES, a.units, a.rows + 1, [a.integer(j, k) for j in range(3) for k in range(j + 1)]
    )


@given(st.lists(st.integers(0, 60), min_size=0, max_size=5).map(sorted))
@settings(max_examples=30)
def test_rows_divided_differently_give_the_same_fractions(cuts: list[int]) -> None:
    rng = np.random.default_rng(7)
    numbers = [
        np.ldexp(rng.standard_normal(60), rng.integers(-90, 90, 60)),
        rng.integers(-(2**62), 2**62, 60),
        np.array([int(n) ** 9 for n in rng.integers(-999, 999, 60)], object),
    ]
    whole = gram(NAMES, [Column(column, -2, -2) for column in numbers])
    total = Moments.zero(NAMES)
    for first, last in zip([0, *cuts], [*cuts, 60], strict=True):
        total = total + gram(NAMES, [Column(column[first:last], -2, -2) for column in numbers])
    assert fractions(total) == fractions(whole)
    assert total == whole
    assert total.rows == whole.rows == 60


@given(any_moments())
def test_access(a: Moments) -> None:
    matrix = a.matrix()
    for j in range(3):
        for k in range(3):
            assert a.integer(j, k) == a.integer(k, j) == int(matrix[j, k])
    chosen = a.select(["y", "a"])
    assert chosen.names == ("y", "a")
    assert chosen.rows == a.rows
    assert chosen.fraction(0, 1) == a.fraction(2, 0)
    assert chosen.fraction(0, 0) == a.fraction(2, 2) == a.fraction(-1, -1)


def test_of_a_thousand_columns() -> None:
    n = 1000
    rng = np.random.default_rng(0)
    matrix = rng.integers(-5, 5, (3, n))
    moments = gram([f"x{j}" for j in range(n)], [Column(matrix[:, j]) for j in range(n)])
    total = moments + moments
    assert np.array_equal(total.gram, 2 * (matrix.T @ matrix)[np.tril_indices(n)][None].view("u8"))


def test_neither_repr_nor_errors_show_a_number() -> None:
    moments = Moments.of_integers(["a"], [(-3, 0)], 7, [123456789])
    assert repr(moments) == "Moments(names=('a',), rows=7, shape=(1, 1))"
    assert "123456789" not in repr(vars(moments)["names"])
    with pytest.raises(IndexError, match=r"moment \(0, 1\) of 1 columns"):
        moments.integer(0, 1)


def test_what_does_not_belong_together_is_refused() -> None:
    ours, theirs = Moments.zero(["a", "b"]), Moments.zero(["b", "a"])
    with pytest.raises(DataError, match=r'"a", "b" cannot be added to those of "b", "a"'):
        ours + theirs
    with pytest.raises(DataError, match='no moments of "z"'):
        ours.select(["a", "z"])
    with pytest.raises(DataError, match="do not belong together"):
        Moments(("a",), ((0, 0),), 1, np.zeros((1, 3), np.uint64))
    with pytest.raises(DataError, match="not a string"):
        Moments.zero([1])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        ours + 1  # type: ignore[operator]
    with pytest.raises(ValueError, match="read-only"):
        ours.gram[0, 0] = 1
