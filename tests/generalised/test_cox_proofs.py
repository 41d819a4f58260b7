"""Invariant: what is claimed of a Cox model is true of the estimate that mpmath finds to 60 digits.

`cox_campaign.py` beside this does the same 200 times, and asks 80 monotone likelihoods.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.generalised import cox_campaign, cox_problems, cox_truth, truth
from titan.generalised import exact_hazards, hazards
from titan.generalised.certificate import certify
from titan.generalised.risk_sets import TIES, Ties, Timeline
from titan.generalised.rows import SHIFT, At, Layout, Totals
from titan.generalised.steps import Problem
from titan.joint.cox import NO_GRID
from titan.joint.cox_rows import RawTimes, Stratum
from titan.moments.columns import Column


def test_no_number_outside_its_bound() -> None:
    counts: Counter[str] = Counter()
    for seed in range(1, 7):
        cox_campaign.one_random(seed, counts, (20, 40))
    assert counts["numbers compared"] > 25
    assert counts["OUTSIDE"] == 0


def test_monotone_likelihoods_are_never_answered() -> None:
    counts: Counter[str] = Counter()
    for seed in range(8):
        cox_campaign.one_monotone(seed, counts)
    assert counts == {"monotone: no answer": 8}


def test_the_bound_is_not_vacuous() -> None:
    """Without the first event the estimate is not within the bounds."""
    timed = cox_problems.drawn(3, (20, 40))
    out = cox_campaign.fitted(timed)
    events = timed.table["d"].tolist()
    events[int(np.argmin(timed.table["t"] + 99 * (1 - timed.table["d"])))] = 0
    moved = cox_truth.estimate(
        timed.matrix.tolist(), timed.table["t"].tolist(), events, timed.party.tolist(),
        timed.asked["ties"], start=list(out.params.values()),
    )  # fmt: skip
    assert not all(truth.inside(out.params, moved.params))


def test_the_constant_is_the_whole_range() -> None:
    """Two rows at risk, 0 and 1, and 1 has the event: log(1 + e⁻ˣ) has no minimum, and λM ≥ 1 at
    every x where M is of the whole difference. With half of it there would be a proof, a wrong one.
    """
    many, one = Fraction(1, 1 << 90), Fraction(1)

    def proof(x: float, wide: Fraction) -> bool:
        mu = 1 / (1 + np.exp(-x))
        found = certify([[Fraction(mu * (1 - mu))]], [Fraction(1 - mu)], [(-wide, wide)], [[one]],
                        hessian_error=many, score_error=many, places=200)  # fmt: skip
        return found is not None

    assert not any(proof(x, one) for x in (0.0, 1.0, 3.0, 9.0))
    assert proof(3.0, one / 2)


# -- sums of one party ------------------------------------------------------------------------


def stratum(ties: Ties, n: int = 200) -> tuple[Timeline, Any, Any, Any]:
    rng = np.random.default_rng(2)
    x = np.round(rng.normal(size=(n, 2)) * [4, 48] + [0, 240]) / 4  # doubles, exactly
    t, died = rng.integers(1, 15, n), rng.random(n) < 0.6
    happened = dict(zip(*np.unique(t[died], return_counts=True), strict=True))
    timeline = Timeline.of({int(k): int(v) for k, v in happened.items()}, 12, ties)
    return timeline, x, timeline.until(t), timeline.counts(t, died)


def float_sums(timeline: Timeline, x: Any, until: Any, died: Any, at: At) -> Totals:
    beta, doubt = np.array([float(b) for b in at.beta]), np.zeros(2)
    halves = [slice(0, 90), slice(90, None)]
    mean = np.array([0.0, 60.0])
    blocks = [hazards.TimedRows.of(x[h] - mean, until[h], died[h], doubt) for h in halves]
    first, second = (b.risks(beta, len(timeline), proven=True) for b in blocks)
    found = hazards.PerTime.of(timeline, first + second)
    each = [b.products(beta, found, proven=True, short=at.short) for b in blocks]
    return hazards.totals(Layout(2, family="cox"), at, found, np.concatenate(each))


def exact_sums(timeline: Timeline, x: Any, until: Any, died: Any, at: At) -> Totals:
    one = Fraction(1)
    frame = exact_hazards.Frame(at, (0, 0), [[one, 0 * one], [0 * one, one]], (0 * one, 60 * one))
    columns = [Column((4 * x[:, j]).astype(np.int64), -2) for j in range(2)]
    rows = exact_hazards.ExactTimes(columns, until, died)
    risks = rows.risks(frame, len(timeline))
    assert risks is not None
    found = exact_hazards.ExactPerTime(timeline, risks)
    products = rows.products(frame, found)
    assert products is not None
    return exact_hazards.totals(Layout(2, family="cox"), frame, found, products)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("short", [False, True])
def test_float_sums_are_as_near_as_they_say(ties: Ties, short: bool) -> None:
    """Against the sums in balls, entry by entry."""
    at = At((Fraction(1, 2), Fraction(-3, 64)), Fraction(0), True, True, short)
    found = stratum(ties)
    near, true = float_sums(*found, at), exact_sums(*found, at)
    assert max(true.errors) < 1e-40
    for x, t, error in zip(near.sums, true.sums, near.errors, strict=True):
        assert 0 < abs(x - t) / 2.0**SHIFT <= error
        assert error <= 1e-8 * (1 + abs(t) / 2.0**SHIFT)


def test_rows_are_as_near_as_they_say_after_the_transform() -> None:
    """Large numbers less a mean that is nearly as large: what is left has the roundings of both."""
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(2e6, 3, (50, 2)), 1)
    T = tuple(tuple(Fraction(float(t)) for t in row) for row in rng.normal(size=(2, 2)))
    means = [sum((t * 2_000_000 for t in row), Fraction(0)) for row in T]
    problem = Problem(Layout(2, family="cox"), 1, 24, (0, 0), T, Fraction(50), ())
    own = Stratum(problem, Timeline.of({}, None, "efron"), NO_GRID, tuple(map(float, means)))
    raw = RawTimes(x, x[:, 0], None, None, str, exits=np.ones(50, int), happened=x[:, 0] < 0)
    rows = own.rows(raw)
    exact = [[Fraction(repr(float(v))) for v in row] for row in x[rows.order]]
    for near, true in zip(rows.a.tolist(), exact, strict=True):
        for j in range(2):
            value = sum((t * v for t, v in zip(T[j], true, strict=True)), -Fraction(own.mean[j]))
            assert abs(Fraction(near[j]) - value) <= Fraction(rows.doubt[j])
    assert max(rows.doubt) < 1e-7


def test_sums_that_are_far_beyond_are_told_as_such() -> None:
    at = At((Fraction(300), Fraction(0)), Fraction(0), True, True)
    assert float_sums(*stratum("efron"), at).overflow


@pytest.mark.parametrize("ties", TIES)
def test_shares_of_rows_in_the_hessian_are_those_of_the_definition(ties: Ties) -> None:
    """Σ q (a − E)ᵀ H⁻¹ (a − E), term by term; they add up to the number of columns."""
    timeline, x, until, died = stratum(ties, 40)
    beta = np.array([0.5, -0.05])
    a = x - [0, 60]
    rows = hazards.TimedRows.of(a, until, died, np.zeros(2))
    found = hazards.PerTime.of(timeline, rows.risks(beta, len(timeline), proven=False))
    w, terms, H = np.exp(a @ beta), [], np.zeros((2, 2))
    for j, m in enumerate(timeline.events.tolist()):
        own = died & (until == j + 1)
        for at in range(m):
            share = 1 - at / m if ties == "efron" else 1.0
            q = np.where(until > j, w * np.where(own, share, 1.0), 0.0)
            q = q / q.sum()
            centred = a - q @ a
            H += (centred * q[:, None]).T @ centred
            terms.append((q, centred))
    R = np.linalg.inv(H)
    expected = sum(q * np.einsum("ij,jk,ik->i", c, R, c) for q, c in terms)
    shares = hazards.row_shares(rows, found, beta, np.linalg.cholesky(R).T)
    assert shares == pytest.approx(expected, rel=1e-9)
    assert shares.sum() == pytest.approx(2)
