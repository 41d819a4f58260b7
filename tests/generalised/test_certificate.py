"""Invariant: what is claimed of an estimate is true of the one that mpmath finds to 60 digits.

`campaign.py` beside this does the same 300 times, with 12 real data sets and 100 separated ones.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tests.generalised import campaign, problems, real
from titan.generalised.certificate import Inverse, certify, root_up
from titan.generalised.rows import SHIFT, At, FloatRows, Layout, transformed


def test_no_estimate_outside_its_bound() -> None:
    counts: Counter[str] = Counter()
    for seed in range(7, 12):
        campaign.one_random(seed, counts)
    assert counts["numbers compared"] > 20
    assert counts["OUTSIDE"] == 0


def test_real_data() -> None:
    counts: Counter[str] = Counter()
    for name in ("spector", "executions"):
        campaign.one_real(name, counts)
    assert counts["OUTSIDE"] == 0
    assert counts["real: certified at 24 bits"] == 2


def test_digits_on_well_conditioned_real_data() -> None:
    import titan

    for name in ("vote", "travel", "television"):
        drawn = real.drawn(name)
        assert titan.glm(drawn.table, **drawn.asked).digits >= 5
        assert titan.glm(drawn.table, **drawn.asked, precision=40).digits >= 9
    assert titan.glm(drawn.table, **drawn.asked, precision="exact").digits >= 17  # all of a double


def test_separated_data_are_never_answered() -> None:
    counts: Counter[str] = Counter()
    for seed in range(8):
        campaign.one_separated(seed, counts)
    assert counts == {"separated: no answer": 8}


def test_the_bound_is_not_vacuous() -> None:
    """A step that is taken elsewhere than it says is caught by the twin: the bounds are tight."""
    import titan
    from tests.generalised import truth

    drawn = problems.drawn(4)
    out = titan.glm(drawn.table, **drawn.asked)
    y = drawn.y.copy()
    y[0] = 1 - y[0]
    moved, _ = truth.estimate(
        drawn.matrix.tolist(), y.tolist(), drawn.asked["family"], weights=drawn.weights,
        offset=drawn.offset, start=list(out.params.values()),
    )  # fmt: skip
    assert not all(truth.inside(out.params, moved))


def test_the_theorem_in_one_dimension() -> None:
    """f = eˣ − cx, H = eˣ, M = e^(−x/2): the true minimum log c must lie within t of any x near."""
    for x, c in ((0.0, 1.5), (1.0, 2.0), (-0.3, 0.9), (2.0, 11.0)):
        curved, slope = Fraction(np.exp(x)), Fraction(c - np.exp(x))
        found = certify(
            [[curved]], [slope], [(Fraction(1), Fraction(1))], [[Fraction(1)]],
            hessian_error=Fraction(1, 1 << 45), score_error=Fraction(1, 1 << 45), places=120,
        )  # fmt: skip
        assert found is not None
        near = x + float(found.step[0])
        assert abs(np.log(c) - near) <= float(found.bound([Fraction(1)]))
        assert abs(np.log(c) - x) * np.exp(x / 2) <= float(found.distance) * (1 + 1e-9)


def test_no_proof_where_rows_reach_too_far() -> None:
    """λM ≥ 1: eˣ − cx with c = 0 has no minimum, whatever the digits."""
    one, many = Fraction(1), Fraction(1, 1 << 90)
    box = [(one, one)]
    for x in (0, -5, -20):
        curved = Fraction(float(np.exp(x)))
        found = certify([[curved]], [-curved], box, [[one]], hessian_error=many,
                        score_error=many, places=200)  # fmt: skip
        assert found is None


def test_a_singular_matrix_proves_nothing() -> None:
    one = Fraction(1)
    assert certify([[one, one], [one, one]], [one, one], [(one, one)] * 2,
                   [[one, 0 * one], [0 * one, one]], hessian_error=one / 8, score_error=one / 8,
                   places=80) is None  # fmt: skip


def test_inverse_and_roots_are_rounded_outwards() -> None:
    matrix = [[Fraction(3), Fraction(1)], [Fraction(1), Fraction(2)]]
    R = Inverse.of(matrix, 100)
    for j, k, value in ((0, 0, Fraction(2, 5)), (0, 1, Fraction(-1, 5)), (1, 1, Fraction(3, 5))):
        assert abs(Fraction(R.numbers[j][k], 1 << 100) - value) <= Fraction(1, 1 << 100)
    assert R.total >= Fraction(7, 5)
    for number in (Fraction(2), Fraction(1, 3), Fraction(10**30), Fraction(1, 10**40)):
        assert number <= root_up(number) ** 2 <= number * (1 + Fraction(1, 1 << 80))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("short", [False, True])
def test_float_sums_are_as_near_as_they_say(family: str, short: bool) -> None:
    """Against the sums in balls, entry by entry."""
    from titan.generalised.exact_rows import ExactRows
    from titan.moments.columns import Column

    rng = np.random.default_rng(5)
    n, p = 400, 3
    a = np.column_stack([np.ones(n), rng.normal(50, 9, n), rng.exponential(size=n)])
    scales = (5, 11, 6)
    T = np.linalg.inv(
        np.linalg.cholesky((a / 2.0 ** np.array(scales)).T @ (a / 2.0 ** np.array(scales)))
    )
    events = rng.integers(0, 2, n) if family == "binomial" else rng.poisson(3, n)
    y = events.astype(np.float64)
    w, o = rng.uniform(0.1, 2, n), rng.normal(size=n) * 0.3
    layout = Layout(p, True, True, family)  # type: ignore[arg-type]
    at = At(
        tuple(Fraction(float(x)) for x in rng.normal(size=p) * 8), Fraction(1, 3), True, True, short
    )
    rows = transformed(a / 2.0 ** np.array(scales), T, y, w, o)
    exact = ExactRows([Column(a[:, j]) for j in range(p)], Column(y), Column(w), Column(o))
    transform = [[Fraction(float(x)) for x in row] for row in T]
    near, true = rows.totals(layout, at), exact.totals(layout, at, scales, transform)
    assert isinstance(rows, FloatRows)
    for x, t, error, slack in zip(near.sums, true.sums, near.errors, true.errors, strict=True):
        assert abs(x - t) / 2.0**SHIFT <= error + slack
        assert error <= 1e-9 * (1 + abs(t) / 2.0**SHIFT)
