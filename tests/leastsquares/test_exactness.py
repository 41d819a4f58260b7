"""Invariant: a fit is called exact only where the residual is next to nothing, however the columns
lie to each other; moments that were not rounded get their digits in any condition."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest

from titan.errors import RankError
from titan.leastsquares import Ball, PooledMoments, Regression, fit_pooled, solve_pooled
from titan.leastsquares.regression import EXACT_FIT

from .systems import Problem


def moments_of(columns: list[list[int]], b: list[int]) -> PooledMoments:
    """Exact moments of columns of integers and an intercept before them."""
    rows = np.array([[1] * len(b), *columns], object)
    response = np.array(b, object)
    return PooledMoments.of_integers(
        ("Intercept", *(f"x{j}" for j in range(1, len(rows)))),
        rows.dot(rows.T),
        rows.dot(response),
        [Fraction(1)] * len(rows),
        rows=len(b),
        bb=int(response.dot(response)),
    )


def truth(columns: list[list[int]], b: list[int]) -> tuple[Fraction, list[Fraction]]:
    """R² and the coefficients, in fractions from beginning to end."""
    rows = flint.fmpz_mat([[1] * len(b), *columns])
    response = flint.fmpz_mat([[v] for v in b])
    rhs = rows * response
    x = (rows * rows.transpose()).solve(rhs).entries()
    explained = sum((xj * g for xj, g in zip(x, rhs.entries(), strict=True)), flint.fmpq(0))
    square = sum(v * v for v in b)
    residual = square - Fraction(int(explained.p), int(explained.q))
    total = square - Fraction(sum(b) ** 2, len(b))
    return 1 - residual / total, [Fraction(int(v.p), int(v.q)) for v in x]


def assert_true(fit: Regression, columns: list[list[int]], b: list[int]) -> None:
    r2, x = truth(columns, b)
    assert not fit.exact_fit
    ball = fit.statistics["rsquared"]
    assert isinstance(ball, Ball)
    assert r2 in ball
    assert ball.digits >= 15
    assert min(fit.bse.values()) > 0
    for enclosure, exact in zip(fit.certificate.enclosures, x, strict=True):
        assert exact in enclosure
        assert enclosure.digits >= 30


def noise(count: int = 120) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(0)
    x = rng.integers(3000, 9000, count).tolist()
    return x, rng.integers(-(10**6), 10**6, count).tolist()


@pytest.mark.parametrize("degree", [10, 22, 23, 24, 25, 30, 38, 44, 50])
def test_noise_is_not_a_polynomial(degree: int) -> None:
    """Conditions from 1e19 to 1e100."""
    x, b = noise()
    powers = [[v**k for v in x] for k in range(1, degree + 1)]
    assert_true(fit_pooled(moments_of(powers, b), constant="Intercept"), powers, b)


@pytest.mark.parametrize("digits", [8, 17, 25, 31, 60, 100])
def test_columns_equal_to_many_digits(digits: int) -> None:
    x, b = noise()
    twin = [v * 10**digits + i % 7 for i, v in enumerate(x)]
    columns = [[v * 10**digits for v in x], twin]
    assert_true(fit_pooled(moments_of(columns, b), constant="Intercept"), columns, b)


@pytest.mark.parametrize(("digits", "exact"), [(200, False), (120, True)])
def test_beyond_the_range_of_float64_the_columns_are_named(digits: int, exact: bool) -> None:
    """Refused, whether the inverse overflows or its bounds do, and not called dependent."""
    x, b = noise()
    columns = [[v * 10**digits for v in x], [v * 10**digits + i % 7 for i, v in enumerate(x)]]
    if exact:
        b = x
        columns[0] = [3 * v for v in columns[0]]
    with pytest.raises(RankError, match="too close to dependent for the range") as refused:
        fit_pooled(moments_of(columns, b), constant="Intercept")
    assert set(refused.value.columns) >= {"x1", "x2"}
    assert refused.value.bits is None


def test_an_exact_polynomial_is_an_exact_fit() -> None:
    x, _ = noise()
    powers = [[v**k for v in x] for k in range(1, 26)]
    b = [sum(column) for column in zip(*powers, strict=True)]
    fit = fit_pooled(moments_of(powers, b), constant="Intercept")
    assert fit.exact_fit
    assert fit.rsquared == 1
    assert fit.residual_sum.upper <= EXACT_FIT * fit.total_sum.lower


def test_a_residual_just_above_zero_is_seen() -> None:
    """One response of a straight line off by one in 10^30: R² below one, and the fit not exact."""
    x, _ = noise()
    b = [v * 10**30 for v in x]
    b[7] += 1
    fit = fit_pooled(moments_of([x], b), constant="Intercept")
    assert not fit.exact_fit
    assert fit.residual_sum.lower > 0


def test_a_large_mean_does_not_hide_the_residual() -> None:
    """bᵀb dwarfs the variation about the mean; the latter counts."""
    rows = [[Fraction(1), Fraction(i % 13)] for i in range(40)]
    b = [10**12 + Fraction(i * i % 7) for i in range(40)]
    problem = Problem(("Intercept", "x"), rows, b)
    with pytest.raises(RankError, match="as far as 64 bits can tell") as refused:
        fit_pooled(problem.pooled(bits=64), constant="Intercept")
    bits = refused.value.bits
    assert bits is not None
    assert f"bits={bits}" in refused.value.hint
    fit = fit_pooled(problem.pooled(bits=bits), constant="Intercept")
    true = fit_pooled(problem.exact(), constant="Intercept")
    assert not fit.exact_fit
    assert fit.rsquared == pytest.approx(true.rsquared, rel=1e-12)
    assert fit.rsquared < 0.5


def test_a_response_below_the_first_sums_unit_is_refused() -> None:
    rows = [[Fraction(1), Fraction(i % 5)] for i in range(20)]
    problem = Problem(("Intercept", "x"), rows, [Fraction(i % 3, 10**45) for i in range(20)])
    with pytest.raises(RankError, match="smaller unit") as refused:
        fit_pooled(problem.pooled(), constant="Intercept")
    assert refused.value.bits is None
    assert not fit_pooled(problem.exact(), constant="Intercept").exact_fit


def test_a_response_of_zeros() -> None:
    """Exactly zero for one party; pooled, nobody can tell it from one that is very small."""
    rows = [[Fraction(1), Fraction(i % 5)] for i in range(20)]
    problem = Problem(("Intercept", "x"), rows, [Fraction(0)] * 20)
    assert fit_pooled(problem.exact(), constant="Intercept").exact_fit
    with pytest.raises(RankError, match="'y' is zero in all rows, or too small"):
        fit_pooled(problem.pooled(), constant="Intercept")


def test_a_constant_response_is_an_exact_fit() -> None:
    rows = [[Fraction(1), Fraction(i % 5)] for i in range(20)]
    problem = Problem(("Intercept", "x"), rows, [Fraction(22, 7)] * 20)
    for moments in (problem.exact(), problem.pooled()):
        assert fit_pooled(moments, constant="Intercept").exact_fit


def test_no_residual_where_rows_are_as_many_as_coefficients() -> None:
    rows = [[Fraction(1), Fraction(i)] for i in range(2)]
    problem = Problem(("Intercept", "x"), rows, [Fraction(3), Fraction(5)])
    assert fit_pooled(problem.pooled(bits=20), constant="Intercept").exact_fit


# -- errors that name columns, whatever the precision -------------------------------------------


@pytest.mark.parametrize("bits", [512, 2048])
def test_dependence_is_named_with_many_bits(bits: int) -> None:
    rows = [[Fraction(i * i % 7), Fraction(i), Fraction(2 * i)] for i in range(9)]
    problem = Problem(("a", "x", "xx"), rows, [Fraction(1)] * 9)
    with pytest.raises(RankError) as refused:
        solve_pooled(problem.pooled(bits=bits))
    assert refused.value.columns == ("x", "xx")


def test_dependence_of_exact_moments_far_from_one_is_named() -> None:
    tiny = Fraction(1, 10**60)
    rows = [[Fraction(i * i % 7), i * tiny, 3 * i * tiny + tiny * (i % 2)] for i in range(9)]
    rows = [[*row, row[1] - row[2]] for row in rows]
    problem = Problem(("a", "x", "y", "z"), rows, [Fraction(1)] * 9)
    with pytest.raises(RankError, match="exactly dependent") as refused:
        solve_pooled(problem.exact())
    assert refused.value.columns == ("x", "y", "z")


def test_dependence_of_three_rows_is_named_with_many_bits() -> None:
    rows = [[Fraction(v) for v in row] for row in ([0, 1, 0], [1, 0, 1], [0, 0, 0])]
    problem = Problem(("a", "b", "c"), rows, [Fraction(1)] * 3)
    for moments in (problem.pooled(bits=2048), problem.exact()):
        with pytest.raises(RankError) as refused:
            solve_pooled(moments)
        assert refused.value.columns == ("a", "c")
