"""Rows off coarser grids are counted as one number after the other would say, quick way or not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.release.cells import Digits, rows_off

STEPS = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)


def dumb(grid: Digits, numbers: list[int], unit: Fraction) -> int:
    return sum(((n * unit - grid.origin) / grid.step).denominator != 1 for n in numbers)


@given(
    st.lists(st.integers(-300, 300), max_size=80),
    st.sampled_from([1, 10**6, 10**17, 10**30]),
    st.lists(st.tuples(st.fractions(-9, 9, max_denominator=60), STEPS), max_size=4),
    STEPS,
)
def test_the_quick_counts_are_the_plain_ones(
    numbers: list[int], apart: int, grids: list[tuple[Fraction, Fraction]], unit: Fraction
) -> None:
    """Close together, far apart, and beyond int64."""
    numbers = [n * apart for n in numbers]
    digits = [Digits("x", origin, step, 2) for origin, step in grids]
    held = np.array(numbers, np.int64 if apart < 10**16 else object)
    assert rows_off(digits, held, unit) == [dumb(grid, numbers, unit) for grid in digits]


@pytest.mark.parametrize("step", [2, 10**9, 10**40])
def test_rows_that_lie_on_a_grid_are_not_off_it(step: int) -> None:
    numbers = np.array([0, 0, step, 7 * step], object)
    grids = [Digits("x", Fraction(0), Fraction(times * step), times) for times in (1, 7, 14)]
    assert rows_off(grids, numbers, Fraction(1)) == [0, 1, 2]
