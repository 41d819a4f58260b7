"""Sums, products and powers of columns are those of fractions; functions are rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from titan.moments import arithmetic, functions
from titan.moments.columns import Column

ROWS = 3
units = st.integers(-20, 20)
small = st.lists(st.integers(-9, 9), min_size=ROWS, max_size=ROWS)
wide = st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=ROWS, max_size=ROWS)
huge = st.lists(st.integers(-(2**200), 2**200), min_size=ROWS, max_size=ROWS)
doubles = st.floats(allow_nan=False, allow_infinity=False)
floats = st.lists(doubles, min_size=ROWS, max_size=ROWS).map(lambda x: np.array(x, np.float64))
indicators = st.lists(st.integers(0, 1), min_size=ROWS, max_size=ROWS)
columns = st.one_of(
    st.builds(
        Column, (small | wide | indicators).map(lambda x: np.array(x, np.int64)), units, units
    ),
    st.builds(Column, indicators.map(lambda x: np.array(x, np.int64))),
    st.builds(Column, huge.map(lambda x: np.array(x, object)), units, units),
    st.builds(Column, floats, units, units),
    st.builds(Column, floats),
)


@given(columns, columns)
def test_sums_and_products_are_those_of_fractions(a: Column, b: Column) -> None:
    pairs = list(zip(a.fractions(), b.fractions(), strict=True))
    assert arithmetic.add(a, b).fractions() == [x + y for x, y in pairs]
    assert arithmetic.subtract(a, b).fractions() == [x - y for x, y in pairs]
    assert arithmetic.multiply(a, b).fractions() == [x * y for x, y in pairs]


@given(columns, st.integers(0, 7))
def test_powers_are_those_of_fractions(a: Column, exponent: int) -> None:
    assert arithmetic.power(a, exponent).fractions() == [x**exponent for x in a.fractions()]


@given(columns)
def test_integers_of_a_column_are_the_same_numbers(a: Column) -> None:
    integers = arithmetic.as_integers(a)
    assert integers.numbers.dtype in (np.int64, object)
    assert integers.fractions() == a.fractions()
    assert all(arithmetic.equals(a, x)[row] for row, x in enumerate(a.fractions()))
    assert not arithmetic.equals(a, max(a.fractions()) + 1).any()


@pytest.mark.parametrize("x", [3037000499, 3037000500, 2**31, 2**32])
def test_products_around_the_end_of_int64(x: int) -> None:
    column = Column(np.array([x, -x]))
    assert arithmetic.multiply(column, column).fractions() == [x * x, x * x]


@pytest.mark.parametrize("power", [60, 61, 62, 63, 64, 65, 70])
def test_floats_as_integers_around_the_end_of_int64(power: int) -> None:
    for least in (1.0, 1.5, -1.25):
        column = Column(np.array([least, 2.0**power, -(2.0**power)]))
        assert arithmetic.as_integers(column).fractions() == column.fractions()


@given(st.lists(st.fractions(), max_size=5))
def test_fractions_become_a_column_and_a_divisor(values: list[Fraction]) -> None:
    column, divisor = Column.of_fractions(values)
    assert [x / divisor for x in column.fractions()] == values
    assert math.gcd(divisor, 10) == 1


def nearest(name: str, x: Fraction) -> float:
    """The dumb twin: 600 bits, where no double's midpoint is that close."""
    with ctx.workprec(600):
        mantissa, exponent = getattr(arb(fmpq(x.numerator, x.denominator)), name)().mid().man_exp()
    return float(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=700))
@example(Fraction(1))
@example(Fraction(2**53 + 1) ** 2)
@example(Fraction(5e-324))
@example(Fraction(10) ** 300)
def test_functions_give_the_nearest_double(x: Fraction) -> None:
    column, divisor = Column.of_fractions([x])
    if divisor != 1:
        column, x = Column(np.array([float(x)])), Fraction(float(x))
    for name in ("log", "sqrt", "exp") if x < 700 else ("log", "sqrt"):
        assert functions.apply(name, column).numbers.tolist() == [nearest(name, x)]


def test_functions_at_the_edges() -> None:
    edge = Column(np.array([0.0, -800.0, -745.13, -745.14, 709.78]))
    assert functions.apply("exp", edge).numbers.tolist() == [1, 0, 5e-324, 0, math.exp(709.78)]
    assert functions.apply("log", Column(np.array([1]))).numbers.tolist() == [0.0]
    tie = Column(np.array([(2**53 + 1) ** 2, (2**53 + 3) ** 2], object))  # midpoints: to even
    assert functions.apply("sqrt", tie).numbers.tolist() == [2.0**53, 2.0**53 + 4]
    above = Column(np.array([(2**53 + 1) ** 2 + 1], object))  # just above a midpoint: upwards
    assert functions.apply("sqrt", above).numbers.tolist() == [2.0**53 + 2]


@pytest.mark.parametrize(("name", "bad"), [("log", 0), ("log", -1), ("sqrt", -1), ("exp", 710)])
def test_a_function_without_a_value_names_the_row(name: str, bad: int) -> None:
    with pytest.raises(functions.DomainError) as caught:
        functions.apply(name, Column(np.array([1, 2, bad, 1])))
    assert caught.value.row == 2


def test_the_first_precision_is_raised_where_it_does_not_suffice() -> None:
    """exp(2^-120) is so near to a midpoint's neighbour that 96 bits cannot tell it from 1."""
    tiny = Column(np.array([1]), two=-120)
    assert functions.apply("exp", tiny).numbers.tolist() == [1.0]
    near_midpoint = Column.of_fractions([Fraction(1, 2**53) + Fraction(1, 2**107)])[0]
    assert functions.apply("exp", near_midpoint).numbers.tolist() == [1 + 2**-52]
