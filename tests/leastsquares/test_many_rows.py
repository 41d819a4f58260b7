"""Invariant: what a regression reports costs the same whatever the number of rows is.

A p-value falls exponentially with the rows. Its exponent fits anywhere, but as a fraction it would
have as many digits as there are rows: so the integers made are measured, and not the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import flint
import pytest
from scipy import stats

from titan.leastsquares import Ball, Regression, fit_pooled, inference
from titan.leastsquares.balls import of_arb
from titan.leastsquares.inference import two_sided, upper_tail
from titan.leastsquares.summary import significant
from titan.moments.precision import working_precision

from .systems import exact_moments

ROWS = (4 * 10**3, 4 * 10**6, 4 * 10**9, 4 * 10**12)
LONGEST = 1 << 13
"""Bits: more than twice what the least p-value that is told from zero needs."""


def times(rows: int) -> Regression:
    """y = 3 + x + noise of one ninth of x, as often as there are rows."""
    points = [(-9, -10), (-9, -8), (9, 8), (9, 10)]
    k = rows // len(points)
    gram = [[4 * k, 0], [0, k * sum(x * x for x, _ in points)]]
    rhs = [12 * k, k * sum(x * (y + 3) for x, y in points)]
    bb = Fraction(k * sum((y + 3) ** 2 for _, y in points))
    moments = exact_moments(("Intercept", "x"), gram, rhs, rows=rows, bb=bb)
    return fit_pooled(moments, constant="Intercept")


def bits(ball: Ball) -> int:
    whole = (*ball.mid.as_integer_ratio(), *ball.rad.as_integer_ratio())
    return max(number.bit_length() for number in whole)


@contextmanager
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The highest precision of an incomplete beta function, and the longest integer of a ball."""
    most = {"precision": 0, "bits": 0}

    def asked(precision: int) -> object:
        most["precision"] = max(most["precision"], precision)
        return working_precision(precision)

    def made(number: flint.arb) -> Ball:
        ball = of_arb(number)
        most["bits"] = max(most["bits"], bits(ball))
        return ball

    with monkeypatch.context() as patch:
        patch.setattr(inference, "working_precision", asked)
        patch.setattr(inference, "of_arb", made)
        yield most


@pytest.mark.parametrize("rows", ROWS)
def test_a_summary_of_many_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with measured(monkeypatch) as most:
        fit = times(rows)
        text = fit.summary()
    assert 0 < most["bits"] <= LONGEST
    assert 0 < most["precision"] <= LONGEST
    assert all(bits(p) <= LONGEST for p in fit.pvalues.enclosures if isinstance(p, Ball))
    assert fit.pvalues["x"] == fit.f_pvalue == 0.0
    (line,) = (line for line in text.splitlines() if "Prob (F-statistic)" in line)
    assert line.split()[-1] == "0"


@pytest.mark.parametrize("first", [1, 2, 3, 40])
@pytest.mark.parametrize("rows", [5, *ROWS])
@pytest.mark.parametrize("root", [0, 1, 9, 30, 53, 54, 10**4, 10**9])
def test_tails(first: int, rows: int, root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty digits of them are proven, or they are below the least that is told from zero."""
    f = Fraction(root**2, first)
    with measured(monkeypatch) as most:
        tail = upper_tail(Ball(f), first, rows)
    assert isinstance(tail, Ball)
    assert most["precision"] <= LONGEST
    assert bits(tail) <= LONGEST
    assert tail.digits >= 20 or (0 in tail and tail.upper <= Fraction(1, 1 << 2048))
    with_scipy = stats.f.sf(float(f), first, rows)
    assert float(tail) == pytest.approx(with_scipy, rel=1e-6, abs=1e-290)


def test_both_ways_to_a_tail_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The incomplete beta function from either end, on both sides of where one is chosen."""
    for rows in (10**4, 10**5, 10**6):
        for root in (2, 5, 12, 25):
            t = Ball(Fraction(root))
            found = []
            for many in (1, 1 << 40):
                monkeypatch.setattr(inference, "_MANY", many)
                found.append(two_sided(t, rows))
            low, high = found
            assert isinstance(low, Ball)
            assert isinstance(high, Ball)
            assert abs(low.mid - high.mid) <= low.rad + high.rad
            assert min(low.digits, high.digits) >= 15


@pytest.mark.parametrize(("first", "rows"), [(1, 3), (1, 1000), (7, 30), (7, 4000), (300, 2000)])
def test_the_bound_of_a_tail_is_one(first: int, rows: int) -> None:
    for f in (Fraction(1, 10), Fraction(2), Fraction(30), Fraction(10**6)):
        bound = inference._tail_exponent(f, first, rows)
        y = flint.arb(rows) / (rows + first * flint.arb(flint.fmpq(*f.as_integer_ratio())))
        exact = y.beta_lower(flint.fmpq(rows, 2), flint.fmpq(first, 2), 1)
        tail = float(exact.log()) / math.log(2)
        assert tail <= bound + 1e-9
        assert bound == 0 or tail > bound - 20


def test_zero_is_printed_where_a_double_is_zero() -> None:
    assert significant(Ball(Fraction(0), Fraction(1, 1 << 2048)), 3) == "0"
    assert significant(Ball(Fraction(3, 1 << 1500), Fraction(1, 1 << 1499)), 3) == "0"
    assert significant(Ball(Fraction(0), Fraction(1, 1 << 100)), 3) == "?"
    assert significant(Ball(Fraction(1, 1 << 1000), Fraction(1, 1 << 1100)), 3) == "9.33e-302"
