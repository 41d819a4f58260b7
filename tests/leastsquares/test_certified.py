"""Invariant: the exact solution lies in every enclosure, however the system was solved."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from titan.errors import DataError, InputError, RankError
from titan.leastsquares import PooledMoments, Solution, fit_pooled, solve_pooled
from titan.leastsquares.certified import certify
from titan.leastsquares.pooled import integers

from .systems import Problem, exact_moments, hilbert


def assert_contains(solution: Solution, exact: list[Fraction]) -> None:
    for name, ball, x, bound, truth in zip(
        solution.names, solution.enclosures, solution.x, solution.error_bound, exact, strict=True
    ):
        assert truth in ball, name
        assert abs(Fraction(float(x)) - truth) <= Fraction(float(bound)), name


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Rows of small fractions; columns scaled apart, and sometimes nearly dependent."""
    n = draw(st.integers(1, 6))
    p = n + draw(st.integers(0, 6))
    entry = st.fractions(-9, 9, max_denominator=7)
    rows = [[draw(entry) for _ in range(n)] for _ in range(p)]
    scales = [Fraction(10) ** draw(st.integers(-6, 6)) for _ in range(n)]
    near = Fraction(1, 10 ** draw(st.integers(0, 9)))
    if n > 1:
        rows = [[*row[:-1], row[0] + near * row[-1]] for row in rows]
    rows = [[x * s for x, s in zip(row, scales, strict=True)] for row in rows]
    return Problem(tuple(f"x{j}" for j in range(n)), rows, [draw(entry) for _ in range(p)])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(), st.sampled_from([64, 128, 200]), st.integers(1, 4), st.booleans())
def test_random_systems_are_enclosed(problem: Problem, bits: int, parties: int, fast: bool) -> None:
    try:
        truth = problem.solution()
    except ZeroDivisionError:
        assume(False)
    try:
        certificate = certify(problem.pooled(parties=parties, bits=bits), fast=fast)
    except RankError:
        assert bits == 64 or fast  # 1e-18 of dependence at most: 128 bits see through it
        return
    assert_contains(certificate.solution(), truth)
    inverse = [[certificate.inverse(j, k) for k in range(len(truth))] for j in range(len(truth))]
    for j, row in enumerate(problem.gram()):  # G R = I, so the balls must allow it
        for k in range(len(truth)):
            column = [(g, inverse[i][k]) for i, g in enumerate(row)]
            product = sum((g * ball.mid for g, ball in column), Fraction(0))
            slack = sum((abs(g) * ball.rad for g, ball in column), Fraction(0))
            assert abs(product - (j == k)) <= slack


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problems())
def test_exact_moments_give_many_digits(problem: Problem) -> None:
    try:
        truth = problem.solution()
    except ZeroDivisionError:
        with pytest.raises(RankError):
            solve_pooled(problem.exact())
        return
    solution = solve_pooled(problem.exact())
    assert_contains(solution, truth)
    for x, digits, exact in zip(solution.x, solution.digits, truth, strict=True):
        assert digits >= 30 or exact == 0
        assert float(x) == pytest.approx(float(exact), rel=1e-15, abs=1e-40)


@pytest.mark.parametrize("n", range(5, 17))
def test_hilbert(n: int) -> None:
    """128 bits, or where they do not prove full rank the number of bits that the error names."""
    problem = hilbert(n)
    bits = 128
    if n >= 14:
        with pytest.raises(RankError, match="bits=") as refused:
            solve_pooled(problem.pooled(bits=bits))
        assert refused.value.bits is not None
        bits = refused.value.bits
    solution = solve_pooled(problem.pooled(bits=bits))
    assert_contains(solution, problem.solution())
    assert min(solution.digits) >= 2


def test_bound_is_not_absurdly_loose() -> None:
    """The true error is within a few thousand of the bound: no digits are given away."""
    problem = hilbert(8)
    solution = solve_pooled(problem.pooled())
    for ball, truth in zip(solution.enclosures, problem.solution(), strict=True):
        assert ball.rad < 10_000 * abs(ball.mid - truth)


def random_problem(n: int, p: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**20), 2**20, (p, n)).tolist()
    b = rng.integers(-(2**20), 2**20, p).tolist()
    return Problem(
        tuple(f"x{j}" for j in range(n)),
        [[Fraction(v, 2**20) for v in row] for row in rows],
        [Fraction(v, 2**20) for v in b],
    )


def large(n: int, *, near: int = 0) -> tuple[PooledMoments, list[Fraction]]:
    """A system of n columns whose exact solution is known; `near` makes two nearly dependent.

    G and x are chosen and g = G x follows, all exact. The integers handed in are off by up to the
    error that is claimed for them.
    """
    rng = np.random.default_rng(n)
    factor = rng.integers(-1000, 1000, (n, 2 * n)).astype(np.int64)
    gram = factor @ factor.T
    x = rng.integers(-99, 99, n)
    exact = gram.astype(object)
    if near:  # column 1 becomes (column 0) + column 1 / 2^near
        exact = exact * 2 ** (2 * near)
        old = exact.copy()
        mix = old[0] + old[1] // 2**near
        exact[1, :], exact[:, 1] = mix, mix
        exact[1, 1] = old[0, 0] + 2 * old[0, 1] // 2**near + old[1, 1] // 2 ** (2 * near)
    shift = int(max(np.diagonal(exact))).bit_length()
    spare = max(0, 126 - shift)
    noise = rng.integers(-3, 4, (n, n))
    noise = np.triu(noise) + np.triu(noise, 1).T
    moments = PooledMoments(
        names=tuple(f"x{j}" for j in range(n)),
        response="y",
        rows=2 * n,
        scales=(0,) * n,
        gram=integers(((exact << spare) + noise.astype(object)).tolist()),
        denominator=1 << (shift + spare),
        rhs=tuple(Fraction(int(v), 1 << shift) for v in exact.dot(x.astype(object))),
        gram_error=Fraction(3, 1 << (shift + spare)),
        diagonal_error=(Fraction(3, 1 << (shift + spare)),) * n,
        bits=128,
    )
    return moments, [Fraction(int(v)) for v in x]


@pytest.mark.parametrize("near", [0, 8, 15])
def test_large_systems_in_float64(near: int) -> None:
    moments, truth = large(200, near=near)
    solution = certify(moments, fast=True).solution()
    assert solution.method == "float64 with exact residuals"
    assert_contains(solution, truth)
    assert min(digits for digits, x in zip(solution.digits, truth, strict=True) if x) >= 20


def test_both_ways_agree() -> None:
    moments, truth = large(40, near=10)
    fast = certify(moments, fast=True)
    precise = certify(moments, fast=False)
    assert_contains(fast.solution(), truth)
    assert_contains(precise.solution(), truth)
    for j in range(0, 40, 7):
        one, other = fast.inverse(j, j), precise.inverse(j, j)
        assert abs(one.mid - other.mid) <= one.rad + other.rad
        assert one.digits >= 10


def test_beyond_float64_falls_back_and_says_so() -> None:
    moments, truth = large(34, near=30)
    solution = solve_pooled(moments)
    assert solution.method == "high precision"
    assert_contains(solution, truth)


def test_the_answer_is_correctly_rounded() -> None:
    """One tenth: the nearest double, and a bound that covers its distance."""
    solution = solve_pooled(exact_moments(["x"], [[Fraction(10)]], [Fraction(1)], rows=10))
    assert solution.x[0] == 0.1
    assert abs(Fraction(0.1) - Fraction(1, 10)) <= Fraction(float(solution.error_bound[0]))
    assert solution.error_bound[0] < 1e-16
    assert solution.digits[0] >= 40


def test_integers_with_units_are_the_same_moments() -> None:
    problem = Problem(
        ("a", "b"), [[Fraction(k, 10), Fraction(k * k, 4)] for k in range(1, 6)], [Fraction(1)] * 5
    )
    whole = np.array([[k, k * k] for k in range(1, 6)], object)
    moments = PooledMoments.of_integers(
        problem.names,
        whole.T.dot(whole),
        whole.T.dot(np.ones(5, object) * 3),
        [Fraction(1, 10), Fraction(1, 4)],
        rows=5,
        bb=45,
        response_unit=Fraction(1, 3),
    )
    assert moments.exact
    assert_contains(solve_pooled(moments), problem.solution())
    assert fit_pooled(moments).ssr == pytest.approx(fit_pooled(problem.exact()).ssr, rel=1e-15)


# -- what cannot be solved --------------------------------------------------------------------


def dependent() -> Problem:
    problem = random_problem(5, 20, seed=1)
    rows = [[*row[:3], row[0] - row[2] / 3, *row[3:]] for row in problem.A]
    return Problem(("a", "b", "c", "d", "e", "f"), rows, problem.b)


def test_dependent_columns_are_named() -> None:
    with pytest.raises(RankError, match="not provably of full rank") as refused:
        solve_pooled(dependent().pooled())
    assert refused.value.columns == ("a", "c", "d")
    assert "drop one" in refused.value.hint
    assert "ridge" in refused.value.hint


def test_exact_dependence_says_that_bits_do_not_help() -> None:
    with pytest.raises(RankError, match="no number of bits helps") as refused:
        solve_pooled(dependent().exact())
    assert refused.value.columns == ("a", "c", "d")
    assert refused.value.bits is None


@pytest.mark.parametrize("exact", [True, False])
def test_a_column_of_zeros_is_named(exact: bool) -> None:
    problem = random_problem(3, 9, seed=2)
    zero = Problem(("a", "none", "b"), [[r[0], Fraction(0), r[1]] for r in problem.A], problem.b)
    with pytest.raises(RankError, match="'none' is zero in all rows") as refused:
        solve_pooled(zero.exact() if exact else zero.pooled())
    assert refused.value.columns == ("none",)


def test_two_equal_columns_among_many_are_named() -> None:
    moments, _ = large(180)
    gram = moments.gram.copy()
    gram[120, :], gram[:, 120] = gram[11, :], gram[:, 11]
    gram[120, 120] = gram[11, 11]
    with pytest.raises(RankError) as refused:
        solve_pooled(dataclasses.replace(moments, gram=gram))
    assert refused.value.columns == ("x11", "x120")


def test_bits_named_for_a_polynomial_succeed() -> None:
    rows = [[Fraction(i, 30) ** k for k in range(17)] for i in range(31)]
    problem = Problem(tuple(f"t{k}" for k in range(17)), rows, [Fraction(i % 5) for i in range(31)])
    with pytest.raises(RankError) as refused:
        solve_pooled(problem.pooled(bits=64))
    assert refused.value.bits is not None
    assert_contains(solve_pooled(problem.pooled(bits=refused.value.bits)), problem.solution())


def test_one_party_may_be_deficient() -> None:
    """Three parties with two rows each for five columns: normal, and it must work."""
    problem = random_problem(5, 6, seed=3)
    assert_contains(solve_pooled(problem.pooled(parties=3)), problem.solution())


def test_too_few_rows() -> None:
    with pytest.raises(DataError, match="4 rows in all for 5 coefficients"):
        solve_pooled(random_problem(5, 4, seed=4).pooled())


def test_moments_check_their_shape_and_hide_their_numbers() -> None:
    moments = random_problem(3, 9, seed=5).pooled()
    for number in (*moments.rhs, *moments.gram.ravel()):
        assert str(number) not in repr(moments)
    with pytest.raises(InputError, match="scales has 2 entries for 3 columns"):
        dataclasses.replace(moments, scales=(0, 0))
    with pytest.raises(InputError, match="two columns are called 'x0'"):
        dataclasses.replace(moments, names=("x0", "x0", "x1"))
    with pytest.raises(InputError, match="no column"):
        moments.subset(["x0", "x7"])
