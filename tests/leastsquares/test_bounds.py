"""Invariant: every bound is a bound, and slices multiply exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titan.leastsquares.balls import Ball, up
from titan.leastsquares.bounds import Perturbation, contract, raised, settled
from titan.leastsquares.fast import Slices, Split, _approximate_inverse, _defect, exact_width
from titan.leastsquares.pooled import column_scales, integers
from titan.leastsquares.precise import PreciseInverse


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 9), st.integers(1, 400), st.integers(0, 2**32))
def test_slices_multiply_exactly(n: int, bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = [
        [int.from_bytes(rng.bytes(-(-bits // 8)), "little", signed=True) for _ in range(n)]
        for _ in range(n)
    ]
    matrix = integers([[numbers[max(j, k)][min(j, k)] for k in range(n)] for j in range(n)])
    width = exact_width(n)
    slices = Slices.cut(matrix, width)
    edge = 2 ** (2 * width - 1)
    vector = rng.integers(-edge, edge, n, endpoint=True)
    assert slices.times(vector).tolist() == matrix.dot(vector.astype(object)).tolist()


@pytest.mark.parametrize("n", [1, 2, 40, 150])
def test_slices_hold_at_the_edge(n: int) -> None:
    """The largest entries there are: sums that just fit 53 bits."""
    width = exact_width(n)
    for entry in (2 ** (3 * width - 1) - 1, -(2 ** (3 * width - 1))):
        matrix = integers([[entry] * n] * n)
        for value in (2 ** (2 * width) - 1, -(2 ** (2 * width)) + 1):
            vector = np.full(n, value, np.int64)
            assert Slices.cut(matrix, width).times(vector).tolist() == [entry * value * n] * n


@pytest.mark.parametrize(("n", "near"), [(5, 0), (12, 12), (30, 18)])
def test_the_defect_is_what_it_is_said_to_be(n: int, near: int) -> None:
    """I − R̃G' in fractions against float64 with its bound, also after heavy cancellation."""
    rng = np.random.default_rng(n)
    factor = rng.integers(-1000, 1000, (n, 2 * n)).astype(object)
    last = factor[-1].copy()
    factor = factor * 2**near
    factor[-1] = factor[0] + last
    matrix = factor.dot(factor.T) * 2**60 + 12345
    slices = Slices.cut(matrix, exact_width(n))
    split = Split.of(slices)
    inverse = _approximate_inverse(split.whole)
    assert inverse is not None
    defect, error = _defect(inverse, split)
    for j in range(n):
        row = [Fraction(float(v)) for v in inverse[j]]
        for k in range(n):
            exact = (j == k) - sum(
                r * Fraction(int(g), 2**slices.bits) for r, g in zip(row, matrix[:, k], strict=True)
            )
            assert abs(exact - Fraction(float(defect[j, k]))) <= Fraction(float(error[j, k]))
            assert error[j, k] < 1e-6


def test_the_design_formula_is_a_special_case() -> None:
    """F = 0 and Ē = e everywhere: θ = eΣ|R| and |δ| ≤ e(1+‖x‖₁)|R|1 / (1 − eΣ|R|)."""
    rng = np.random.default_rng(0)
    inverse, x, e = np.abs(rng.standard_normal((6, 6))), np.abs(rng.standard_normal(6)), 1e-3
    error = Perturbation(e, np.zeros(6), np.full(6, e))
    proof, theta = contract(inverse, None, error)
    assert proof is not None
    assert theta == pytest.approx(e * inverse.sum(), rel=1e-6)
    bound = proof.enclose(inverse @ (error.rhs + error.times(x)))
    formula = e * (1 + x.sum()) * inverse.sum(axis=1) / (1 - e * inverse.sum())
    np.testing.assert_allclose(bound, formula, rtol=1e-6)


def test_what_is_infinite_proves_nothing() -> None:
    for entry in (1e200, math.inf, math.nan):
        inverse = np.full((2, 2), entry)
        proof, theta = contract(inverse, None, Perturbation(1e200, np.zeros(2), np.zeros(2)))
        assert proof is None
        assert theta == math.inf
    assert raised(np.array([0.0, math.nan, 1.0]), 1).tolist()[:2] == [0.0, math.inf]


@pytest.mark.parametrize("terms", [1, 2, 10, 1000])
def test_raised_makes_good_what_summation_loses(terms: int) -> None:
    """One, and terms that vanish beside it one by one: a float64 sum loses all of them."""
    lost = [1.0] + [2.0**-53] * terms
    total = 0.0
    for term in lost:
        total += term
    exact = sum(map(Fraction, lost))
    assert Fraction(total) < exact
    assert Fraction(float(raised(np.array(total), len(lost)))) >= exact
    assert Fraction(float(raised(np.array(total), len(lost)))) < exact * (1 + Fraction(1, 2**40))


def test_raised_makes_good_what_products_lose() -> None:
    rng = np.random.default_rng(1)
    below = 0
    for _ in range(200):
        u, v = rng.random(7), rng.random(7)
        exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(u, v, strict=True))
        computed = u @ v
        below += Fraction(float(computed)) < exact
        assert Fraction(float(raised(np.array(computed), 7))) >= exact
    assert below > 50


def test_what_is_settled_is_above_and_forgets_the_order_of_summation() -> None:
    rng = np.random.default_rng(2)
    bounds = rng.random(1000) * 10.0 ** rng.integers(-250, 250, 1000)
    found = settled(bounds)
    assert (found >= bounds).all()
    assert (found <= bounds * (1 + 2.0**-18)).all()
    assert np.count_nonzero(settled(np.nextafter(bounds, np.inf)) != found) == 0
    assert settled(np.array([0.0, np.inf])).tolist() == [0.0, np.inf]


def test_raised_keeps_what_is_tiny_from_vanishing() -> None:
    tiny = raised(np.array([5e-324, 2.0**-600, 0.0]), 1)
    assert tiny[0] * tiny[1] > 0
    assert tiny[2] == 0


def test_the_balls_of_an_inverse_count() -> None:
    """Nothing rounded in the moments: what is left is the radius of the balls themselves."""
    middle, radius = flint.arb(3), 2.0**-70
    ball = flint.arb(3, radius)
    inverse = PreciseInverse(flint.arb_mat(2, 2, [ball, middle, middle, ball]))
    slack = inverse.slack(np.full((2, 2), 3.0), np.zeros((2, 2)))
    assert (np.diagonal(slack) >= radius).all()
    assert (np.diagonal(slack) < 1.01 * radius).all()
    assert slack[0, 1] == slack[1, 0] == 0
    wide = inverse.slack(np.full((2, 2), 3.0), np.full((2, 2), 2.0**-70))
    assert (np.diagonal(wide) >= 2 * radius).all()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.fractions(), st.fractions(0, 1))
def test_balls_round_outwards(mid: Fraction, rad: Fraction) -> None:
    ball = Ball(mid, rad)
    assert abs(Fraction(float(ball)) - mid) + rad <= Fraction(ball.error)
    assert Fraction(up(rad)) >= rad
    wide = ball.arb(64)
    assert Fraction(float(wide.lower())) <= mid + Fraction(1, 10**9) * (1 + abs(mid))
    if 0 < ball.digits < 60:
        printed = Fraction(ball.text(60))
        leading = math.floor(math.log10(abs(float(mid)))) if mid else 0
        assert abs(printed - mid) + rad <= Fraction(10) ** (leading - ball.digits + 2)


def test_digits_by_hand() -> None:
    assert Ball(Fraction(123456), Fraction(1, 2)).digits == 6
    assert Ball(Fraction(123456), Fraction(3, 5)).digits == 5
    assert Ball(Fraction(1, 3), Fraction(1, 10**10)).decimals == 9
    assert Ball(Fraction(1, 3), Fraction(1, 10**10)).text() == "0.333333333"
    assert Ball(Fraction(0), Fraction(1, 10)).digits == 0
    assert str(Ball(Fraction(1, 1000), Fraction(1))) == "0 ± 1.1e+0"
    assert float(Ball(Fraction(10) ** 400)) == math.inf


@given(st.fractions(Fraction(1, 10**30), 10**30))
def test_scales_are_the_least(square: Fraction) -> None:
    (scale,) = column_scales([square])
    assert Fraction(4) ** (scale - 1) < square <= Fraction(4) ** scale
    assert column_scales([0]) == (0,)
