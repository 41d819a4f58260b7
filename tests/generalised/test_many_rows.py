"""Invariant: reports of GLMs, Cox's model and curves cost the same for any number of rows.

As of regressions: a p-value as a fraction would have as many digits as there are rows, so every
ball that is made is measured, and not the time. Fits are as if each row were there 4^m times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import titan
from tests.generalised.test_tested import rows
from tests.leastsquares.test_many_rows import LONGEST, bits
from titan.canonical import exact_text, read_exact, read_integer
from titan.leastsquares.balls import Ball
from titan.leastsquares.tails import chi2_tail, normal_two_sided
from titan.results import decode, encode

DOUBLINGS = (0, 4, 9, 15)
"""m: 390 rows, 10⁵, 10⁸, 4·10¹¹."""
FAMILIES = ("binomial", "poisson", "cox")


@cache
def fitted(family: str) -> Any:
    if family == "cox":
        return titan.cox(rows(), formula="x + a + b", time="months", event="died")
    return titan.glm(rows(), formula=f"{family} ~ x + a + b", family=family)  # type: ignore[arg-type]


def repeated(fit: Any, m: int) -> Any:
    """Every row 4^m times: T is 2^-m as long for that, so the Hessian in its columns is the same,
    the score and β are 2^m times as long, and the statistics 4^m, as their unit is."""
    state, of_score = fit.to_state(), fit.opened.problem.layout.score
    step = dict(state["step"])
    totals = list(map(read_integer, step["totals"]))
    totals[of_score] = [n << m for n in totals[of_score]]
    step["totals"] = list(map(exact_text, totals))
    step["beta"] = [exact_text(read_integer(b) << m) for b in step["beta"]]
    step["weight"] = exact_text(read_exact(step["weight"]) * 4**m)
    step["transform"] = [[exact_text(read_exact(t) / 2**m) for t in r] for r in step["transform"]]
    counts = {name: state[name] * 4**m for name in ("rows", "events") if name in state}
    return type(fit).from_state(state | counts | {"step": step})


@contextmanager
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The longest integer of all balls that are made, whoever makes them."""
    most, begin = {"bits": 0}, Ball.__init__

    def made(ball: Ball, *parts: Fraction) -> None:
        begin(ball, *parts)
        most["bits"] = max(most["bits"], bits(ball))

    with monkeypatch.context() as patch:
        patch.setattr(Ball, "__init__", made)
        yield most


def of_all(fit: Any) -> list[str]:
    """Everything that a fit is asked for when it is there."""
    tests = [fit.t_test("a = b, x = 0.1"), fit.wald_test("a = 0, b = 0")]
    told = [json.dumps(each.to_dict()) for each in (fit, *tests)]
    return [fit.summary(), *(each.summary() for each in tests), *told, repr(encode(fit))]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("m", DOUBLINGS)
def test_a_fit_of_many_rows(family: str, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with measured(monkeypatch) as most:
        fit = repeated(fitted(family), m)
        text = of_all(decode(encode(fit))[0])
    assert 0 < most["bits"] <= LONGEST
    assert text == of_all(fit)
    first = fitted(family)
    assert np.asarray(fit.params) == pytest.approx(np.asarray(first.params))
    assert np.asarray(fit.tvalues) == pytest.approx(np.asarray(first.tvalues) * 2**m)
    assert fit.llf == pytest.approx(4**m * first.llf, rel=1e-5)
    if m > DOUBLINGS[1]:
        assert 0.0 in fit.pvalues.values()
        assert "?" not in text[0]


def test_cox_prints_zero_where_a_regression_does() -> None:
    found = {}
    for m in DOUBLINGS:
        fit = repeated(fitted("cox"), m)
        (line,) = (line for line in fit.summary().splitlines() if "LR p-value" in line)
        found[m] = line.split()[-1]
    assert float(found[0]) > 0
    assert (found[9], found[15]) == ("0", "0")


@pytest.mark.parametrize("unit", [1e-7, -1e-7])
def test_hazard_ratios_of_any_unit(unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """They fall and grow exponentially with the unit of their column: beyond all doubles here."""
    frame = rows()
    frame["a"] = unit * frame.a
    with measured(monkeypatch) as most:
        fit = titan.cox(frame, formula="a", time="months", event="died")
        assert "?" not in fit.summary() + fit.as_html()
        told = fit.to_dict()
    assert 0 < most["bits"] <= LONGEST
    beyond = math.inf if unit > 0 else 0.0
    assert fit.hazard_ratios["a"] == beyond
    assert told["hazard_ratios"]["a"] == (None if beyond else 0.0)


@cache
def curves() -> titan.Survival:
    frame = rows()
    frame["arm"] = np.array(["zero", "one", "two"])[frame.a + 2 * frame.b]
    return titan.survival(frame, time="months", event="died", by="arm", grid=1)


@pytest.mark.parametrize("m", DOUBLINGS)
def test_curves_of_many_rows(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = curves().to_state()
    for curve in state["curves"]:
        curve |= {key: [n * 4**m for n in curve[key]] for key in ("exits", "events")}
        curve["later"] *= 4**m
    with measured(monkeypatch) as most:
        many = titan.Survival.from_state(state)
        text = many.summary(), json.dumps(many.to_dict()), encode(many)
        tests = [many.logrank(w) for w in ("logrank", "wilcoxon", "tarone-ware")]
    assert 0 < most["bits"] <= LONGEST
    assert all(len(part) > 100 for part in text)
    for test in tests:
        before = curves().logrank(test.weights)
        assert test.statistic == pytest.approx(4**m * before.statistic, rel=0.02)
        assert test.p_value > 0 if m == 0 else test.p_value == 0 or m == DOUBLINGS[1]
        assert test.error_bound["p_value"] <= 1e-16 * before.p_value


@pytest.mark.parametrize("exponent", [-300, -3, 0, 1, 2, 3, 4, 9, 300])
@pytest.mark.parametrize("freedom", [1, 2, 3, 40, 499])
def test_tails(exponent: int, freedom: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty digits of them are proven, or they are below the least that is told from zero."""
    for times in (1, Fraction(7, 4), 4):
        x = Fraction(10) ** exponent * times
        with measured(monkeypatch) as most:
            found = [normal_two_sided(Ball(x)), chi2_tail(Ball(x), freedom)]
        assert most["bits"] <= max(LONGEST, bits(Ball(x)))
        for tail in found:
            assert isinstance(tail, Ball)
            assert tail.digits >= 40 or (0 in tail and tail.upper <= Fraction(1, 1 << 2048))
