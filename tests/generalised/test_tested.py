"""Invariant: tests of hypotheses after a GLM or Cox's model are those of statsmodels, and what full
precision finds lies in the ball that is proven from rounded sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import titan
from titan.errors import InputError
from titan.leastsquares.balls import Ball

TOGETHER = ("a = 0, b = 0", "a = b, x = 0.1", "x = 0.001*a, x = 0.0011*a + 0.3", "b = 0.5")
FAMILIES = {"binomial": sm.families.Binomial(), "poisson": sm.families.Poisson()}


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    site = np.repeat([0, 1, 2], 130)
    frame = pd.DataFrame({"site": site, "x": rng.integers(-20, 21, len(site)) / 10})
    group = rng.integers(0, 3, len(site))
    frame["a"], frame["b"] = (group == 1) * 1, (group == 2) * 1
    eta = 0.3 * frame.x + 0.5 * frame.a - 0.4 * frame.b - 0.2
    frame["binomial"] = (rng.random(len(site)) < 1 / (1 + np.exp(-eta))) * 1
    frame["poisson"] = rng.poisson(np.exp(eta))
    frame["months"] = np.ceil(rng.exponential(20 * np.exp(-eta)) + 0.01).clip(1, 40).astype(int)
    frame["died"] = (rng.random(len(site)) < 0.7) * 1
    return frame


def parties(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {f"s{site}": each for site, each in frame.groupby("site")}


def fitted(family: str, precision: Any) -> Any:
    frame = rows()
    options: dict[str, Any] = {"tau": 1, "precision": precision, "allow_small": True}
    if family == "cox":
        words = {"formula": "x + a + b", "time": "months", "event": "died", "ties": "efron"}
        return titan.cox(parties(frame), "cycle", **words, **options)  # type: ignore[arg-type]
    asked = f"{family} ~ x + a + b"
    return titan.glm(parties(frame), "cycle", formula=asked, family=family, **options)  # type: ignore[arg-type]


def theirs(family: str) -> Any:
    frame = rows()
    if family == "cox":
        columns = frame[["x", "a", "b"]].astype(float)
        model = sm.PHReg(frame.months, columns, status=frame.died, strata=frame.site, ties="efron")
        return model.fit(method="newton", maxiter=100, tol=1e-14, disp=0)
    model = smf.glm(f"{family} ~ x + a + b", frame, family=FAMILIES[family])
    found = model.fit(tol=1e-15, maxiter=100)
    return model.fit(start_params=found.params, tol=1e-15)  # its errors are of the step before


@pytest.mark.parametrize("family", ["binomial", "poisson", "cox"])
def test_tests_are_those_of_statsmodels(family: str) -> None:
    here, there = fitted(family, "exact"), theirs(family)
    for asked in TOGETHER:
        ours = here.wald_test(asked)
        names = ["Intercept"] * (family != "cox") + ["x", "a", "b"]
        matrix, targets = _matrix(here, asked, names)
        other = there.wald_test((matrix, targets), scalar=True)
        assert ours.statistic == pytest.approx(float(other.statistic), rel=1e-8), asked
        assert ours.pvalue == pytest.approx(float(other.pvalue), rel=1e-7, abs=1e-300)
        assert (ours.distribution, ours.df_denom) == ("chi2", None)
        each, single = here.t_test(asked), there.t_test((matrix, targets))
        for mine, known in ((each.effect, single.effect), (each.sd, single.sd)):
            assert np.asarray(mine) == pytest.approx(np.ravel(known), rel=1e-8)
        assert np.asarray(each.tvalue) == pytest.approx(np.ravel(single.tvalue), rel=1e-8)
        assert np.asarray(each.conf_int(0.1)) == pytest.approx(single.conf_int(0.1), rel=1e-7)
        assert "z" in each.summary()


def _matrix(fit: Any, asked: str, names: list[str]) -> tuple[Any, Any]:
    from titan.leastsquares.hypotheses import read_hypotheses

    found = read_hypotheses(asked, fit.names)
    assert list(fit.names) == names
    return np.array(found.rows, float), np.array(found.targets, float)


@pytest.mark.parametrize("family", ["binomial", "poisson", "cox"])
@pytest.mark.parametrize("precision", [24, 40])
def test_what_full_precision_finds_is_in_the_proven_ball(family: str, precision: int) -> None:
    exact, rounded = fitted(family, "exact"), fitted(family, precision)
    for asked in TOGETHER:
        truth = exact.wald_test(asked).statistic_enclosure
        ball = rounded.wald_test(asked).statistic_enclosure
        assert isinstance(ball, Ball)
        assert abs(ball.mid - truth.mid) <= ball.rad + truth.rad
        assert ball.rad < ball.mid / 50, "and it is a ball of use"
        assert truth.rad < truth.mid * Fraction(1, 10**9)


def test_the_bound_is_not_far_above_what_rounding_does() -> None:
    """Radii that could be a thousandth as large would let a wrong formula pass unseen."""
    shares = []
    for family in ("binomial", "poisson"):
        exact, rounded = fitted(family, "exact"), fitted(family, 24)
        for asked in TOGETHER:
            truth, ball = (fit.wald_test(asked).statistic_enclosure for fit in (exact, rounded))
            shares.append(float(abs(ball.mid - truth.mid) / ball.rad))
    assert 1e-3 < max(shares) <= 1


def test_what_cannot_be_tested() -> None:
    fit = fitted("binomial", 24)
    with pytest.raises(InputError, match="hypothesis 3 depends"):
        fit.wald_test("a = 0, b = 0, a = b")
    with pytest.raises(InputError):
        fit.wald_test("nothing = 0")
    penalised = titan.glm(rows(), formula="binomial ~ x + a + b", alpha=1)
    for test in (penalised.wald_test, penalised.t_test):
        with pytest.raises(InputError, match="with a penalty"):
            test("a = 0")
