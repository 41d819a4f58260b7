"""Every number goes to its nearest grid point, ties to the even one, exactly, as fractions do."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import Column
from titan.release.grid import Grid, outside

STEPS = [Fraction(x) for x in ("1", "0.1", "0.25", "0.3", "5", "0.001", "7", "1e-30", "1e20")]


def slowly(value: Fraction, grid: Grid) -> Fraction:
    return grid.low + round((value - grid.low) / grid.step) * grid.step  # Python's ties are even


def column(values: list[Fraction]) -> Column:
    made, divisor = Column.of_fractions(values)
    assert divisor == 1
    return made


@given(
    st.sampled_from(STEPS),
    st.sampled_from([Fraction(0), Fraction("-1.5"), Fraction("0.05"), Fraction(10**25)]),
    st.lists(st.integers(0, 4000), min_size=1, max_size=20),
    st.integers(0, 3),
)
def test_decimals_go_where_fractions_go(
    step: Fraction, low: Fraction, fourths: list[int], digits: int
) -> None:
    """In fourths of a step, so that ties are met, and with digits below."""
    tiny = step * Fraction(digits, 10**9)
    values = [low + step * n / 4 + tiny for n in fourths]
    grid = Grid(low, step, 1001)
    placed, rounded = grid.place(column(values))
    assert placed.fractions() == [slowly(value, grid) for value in values]
    assert rounded == sum((value - low) % step != 0 for value in values)


@given(
    st.sampled_from(STEPS[:-2]),
    st.sampled_from([0.0, -1.5, 0.05]),
    st.lists(st.integers(0, 4000), min_size=1, max_size=20),
    st.floats(-1e-3, 1e-3),
)
def test_doubles_go_where_fractions_go(
    step: Fraction, low: float, fourths: list[int], beside: float
) -> None:
    start = Fraction(str(low))
    doubles = [float(start + step * Fraction(n, 4)) * (1 + beside) for n in fourths]
    doubles = [x for x in doubles if start <= x <= start + 1001 * step] or [float(start + step)]
    grid = Grid(start, step, 1001)
    placed, rounded = grid.place(Column(np.array(doubles)))
    assert placed.fractions() == [slowly(written(x), grid) for x in doubles]
    assert rounded == sum(written(x) != slowly(written(x), grid) for x in doubles)


def written(x: float) -> Fraction:
    """The shortest decimal that leads to this double."""
    return Fraction(repr(float(x)))


def test_doubles_of_all_digits_are_the_decimals_that_text_has() -> None:
    """A grid as fine as the doubles themselves, as a draft of such a column has it."""
    doubles = np.random.default_rng(1).normal(size=1000)
    grid = Grid(Fraction(-6), Fraction(1, 10**20), 12 * 10**20)
    placed, rounded = grid.place(Column(doubles))
    assert rounded == 0
    assert placed.fractions() == [written(x) for x in doubles]


@pytest.mark.parametrize("step", ["0.1", "0.02"])
def test_ties_of_doubles_are_those_of_their_decimals(step: str) -> None:
    """0.15 is written halfway between 0.1 and 0.2; its double is a little less."""
    grid = Grid(Fraction(0), Fraction(step), 10**6)
    halves = [float((n + Fraction(1, 2)) * grid.step) for n in range(5000)]
    placed, rounded = grid.place(Column(np.array(halves)))
    assert placed.fractions() == [slowly(written(x), grid) for x in halves]
    assert rounded == 5000


def test_a_double_is_the_decimal_that_was_written() -> None:
    grid = Grid(Fraction(0), Fraction("0.1"), 1000)
    written = [n / 10 for n in range(1001)]
    placed, rounded = grid.place(Column(np.array(written)))
    assert rounded == 0
    assert placed.fractions() == [Fraction(n, 10) for n in range(1001)]


def test_what_is_held_in_steps_is_left_as_it_is() -> None:
    steps = Column(np.array([-150, 0, 7]), -1, -1)
    assert Grid(Fraction(-15), Fraction("0.1"), 200).place(steps)[0] is steps
    placed, rounded = Grid(Fraction(-15), Fraction("0.2"), 200).place(steps)
    assert (placed.fractions(), rounded) == ([-15, 0, Fraction("0.6")], 1)


def test_whole_numbers_stay_in_int64() -> None:
    values = np.arange(-50, 50)
    placed, rounded = Grid(Fraction(-50), Fraction(1), 100).place(Column(values))
    assert placed.numbers.dtype == np.int64
    assert rounded == 0
    assert placed.numbers.tolist() == values.tolist()


@pytest.mark.parametrize("numbers", [np.array([2**62, 2**62 + 1]), np.array([1.0, 2.0**70])])
def test_large_numbers_do_not_wrap_around(numbers: Any) -> None:
    grid = Grid(Fraction(0), Fraction(3), 2**70)
    placed, _ = grid.place(Column(numbers))
    floats = numbers.dtype == np.float64
    exact = [written(x) for x in numbers] if floats else Column(numbers).fractions()
    assert placed.fractions() == [slowly(value, grid) for value in exact]


def test_no_rows() -> None:
    placed, rounded = Grid(Fraction(0), Fraction("0.5"), 4).place(Column(np.zeros(0)))
    assert (len(placed), rounded) == (0, 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=10), st.decimals(-1000, 1000, places=3))
def test_outside_is_exact(values: list[float], end: Decimal) -> None:
    low, high = Fraction(end), Fraction(end) + 10
    numbers = [*values, float(low), float(high)]
    wrong = [not low <= Fraction(x) <= high for x in numbers]
    assert outside(Column(np.array(numbers)), low, high, decimal=False).tolist() == wrong
    exact = column([Fraction(x) for x in numbers])
    assert outside(exact, low, high, decimal=False).tolist() == wrong


def test_a_double_at_an_end_may_stand_for_it() -> None:
    """The double of 0.3 is a little less than three tenths."""
    third = Column(np.array([0.3]))
    assert outside(third, Fraction("0.3"), Fraction(1), decimal=False).all()
    assert not outside(third, Fraction("0.3"), Fraction(1), decimal=True).any()
    assert outside(Column(np.array([120.00000000000001])), Fraction(0), Fraction(120), decimal=True)


def test_ends_beyond_the_doubles() -> None:
    huge = Fraction(10) ** 320
    column = Column(np.array([-1.7e308, 0.0, 1.7e308]))
    assert not outside(column, -huge, huge, decimal=False).any()
    assert outside(column, huge, huge, decimal=False).all()
    assert outside(column, -huge, -huge, decimal=True).all()
