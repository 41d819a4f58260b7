"""Invariant: what people ask of the shipped data passes the default policy, without a flag.

Every model is asked as a study asks it, of all parties, from the counts to the answer; and the
answer is that of all rows in one table.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from tests.release.shipped import GRUNFELD, HEART, check_pooled, firms, heart_lines, hospitals
from tests.study.studies import regression
from titan.errors import ReleaseError
from titan.joint.kinds import Question
from titan.leastsquares import Ball, Regression
from titan.moments import Source
from titan.release import Dictionary
from titan.release.dictionary import Number
from titan_lab import datasets

ADULTS = Dictionary.of({**HEART, "age": Number.read("18", "120", "1")})
FIRMS = Dictionary.of(
    {
        "invest": Number.read("0.1", "2000", "0.1"),
        "value": Number.read("1", "10000", "0.1"),
        "capital": Number.read("0.1", "5000", "0.1"),
    }
)
ALL = "thalach ~ age + sex + trestbps + exang + oldpeak + cp2 + cp3 + cp4"
RAW = (
    "thalach ~ age",
    "thalach ~ 1",
    ALL,
    "thalach ~ sex + exang + cp2 + cp3 + cp4",
    "thalach ~ C(sex, levels=[0, 1]) * age",
    "thalach ~ age + sex * exang + cp2 + cp3 + cp4",
    "thalach ~ sex * exang * cp4",
    "thalach ~ trestbps + oldpeak",
    "trestbps ~ age + sex + exang",
    "exang ~ age + oldpeak",
    "oldpeak ~ age + exang",
    "sex ~ age + trestbps",
)
"""Without a column that a formula makes: their sums are exact."""
MADE = (
    "thalach ~ age * sex",
    "thalach ~ age * trestbps",
    "thalach ~ poly(age, 2, raw=True)",
    "thalach ~ log(age) + sex",
    "thalach ~ sqrt(age) + oldpeak * sex",
    "thalach ~ poly(oldpeak, 2, raw=True) + age",
    "trestbps ~ age + I(age ** 2) + sex + exang",
    "log(trestbps + 40) ~ age + sex",
)
CUBIC = "thalach ~ poly(age, 3, raw=True) + sex"
OF_HEART = *RAW, *MADE, CUBIC
OF_FIRMS = "invest ~ value", "invest ~ value + capital"
MADE_OF_FIRMS = (
    "log(invest) ~ log(value) + log(capital)",
    "invest ~ poly(value, 2, raw=True) + capital",
)


@cache
def parties(name: str) -> dict[str, Source]:
    found = hospitals() if name == "heart_disease" else firms()
    return {each.replace(" ", "-"): source for each, source in found.items()}


def answered(name: str, columns: Dictionary, *asked: str | Question) -> Ended:
    ended = ask(parties(name), columns, *asked)
    assert ended.refused is None, (ended.refused, ended.owners)
    assert ended.opened[:3] == ("counts", "regressors", "response")
    return ended


@cache
def all_rows(name: str) -> Any:
    """In one table; of firms with the digits that a study of theirs has."""
    path = datasets.path(name)
    if name == "heart_disease":
        return path
    _, *lines = [line.split(",")[1:] for line in path.read_text().splitlines()]
    steps = {"invest": Decimal("0.01"), "value": Decimal("0.1"), "capital": Decimal("0.1")}
    columns = zip(steps.items(), zip(*lines, strict=True), strict=True)
    return {
        column: [Decimal(x).quantize(step, ROUND_HALF_EVEN) for x in cells]
        for (column, step), cells in columns
    }


def in_one_place(name: str, formula: str, **options: Any) -> Regression:
    return titan.fit(all_rows(name), formula=formula, **options)


@pytest.mark.parametrize(
    ("name", "formula"),
    [*(("heart_disease", each) for each in RAW), *(("grunfeld", each) for each in OF_FIRMS)],
)
def test_to_the_last_digit(name: str, formula: str) -> None:
    columns = HEART if name == "heart_disease" else GRUNFELD
    found, whole = answered(name, columns, formula).fit(), in_one_place(name, formula)
    assert found.names == whole.names
    assert found.params == whole.params
    assert found.bse == whole.bse


@pytest.mark.parametrize(
    ("name", "formula"),
    [*(("heart_disease", each) for each in MADE), *(("grunfeld", each) for each in MADE_OF_FIRMS)],
)
def test_with_columns_that_a_formula_makes(name: str, formula: str) -> None:
    """They are rounded, to a small part of what the rows themselves leave open."""
    columns = ADULTS if name == "heart_disease" else FIRMS
    found, whole = answered(name, columns, formula).fit(), in_one_place(name, formula)
    params, errors = np.array(whole.params), np.array(whole.bse)
    assert np.all(np.abs(np.array(found.params) - params) < 0.05 * errors)


def test_a_cubic_in_age() -> None:
    """Of ages from 0. Of a narrower range, 20 bits tell more of the rows at each age."""
    found = answered("heart_disease", HEART, CUBIC).fit()
    whole = in_one_place("heart_disease", CUBIC)
    np.testing.assert_allclose(np.array(found.params), np.array(whole.params), rtol=0.01)
    told = ask(parties("heart_disease"), ADULTS, CUBIC).refused
    assert told is not None
    assert told.rule == "bits"
    assert ask(parties("heart_disease"), ADULTS, CUBIC, precision=14).refused is None


def test_several_in_one_study() -> None:
    several = [ALL, MADE[0], MADE[2], "exang ~ age + oldpeak"]
    robust = regression("thalach ~ age + sex", name="robust", cov_type="HC0")
    ended = answered("heart_disease", HEART, *several, robust)
    assert ended.opened[3:] == ("robust errors",)
    assert ended.fit("q1").params == in_one_place("heart_disease", ALL).params
    whole = in_one_place("heart_disease", "thalach ~ age + sex", cov_type="HC0")
    np.testing.assert_allclose(np.array(ended.fit("robust").bse), np.array(whole.bse), rtol=1e-4)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_errors_are_those_of_statsmodels_as_far_as_24_bits_tell(kind: str) -> None:
    ols = import_module("statsmodels.formula.api").ols
    table = import_module("pandas").read_csv(datasets.path("heart_disease"))
    asked = "thalach ~ sex + exang + cp2 + cp3 + cp4", "trestbps ~ age + sex + exang"
    questions = [regression(f, name=f"q{at}", cov_type=kind) for at, f in enumerate(asked)]
    ended = answered("heart_disease", HEART, *questions)
    for at, formula in enumerate(asked):
        found, theirs = ended.fit(f"q{at}").bse, ols(formula, table).fit(cov_type=kind).bse
        for name, ball in zip(found, found.enclosures, strict=True):
            assert isinstance(ball, Ball)
            assert abs(float(ball) - theirs[name]) <= min(ball.error, 1e-7 * theirs[name])
            assert ball.error < 1e-6 * theirs[name]


BEFORE = {
    ("cycle", "auto"): (4792, 7952),
    ("complete", "auto"): (7152, 11904),
    ("cycle", "topk"): (15448, 26720),
    ("complete", "topk"): (17808, 30672),
}
"""Bytes that each hospital sent while scales were found by a sum of 512 bits, and relays were
trusted."""


@pytest.mark.parametrize(("shape", "recovery"), BEFORE)
def test_half_of_what_it_took(shape: str, recovery: str) -> None:
    robust = regression("thalach ~ age + sex", name="main", cov_type="HC0")
    table = Question("describe", "table", (("columns", ("age", "sex")),))
    both: tuple[tuple[str | Question, ...], ...] = ((table, robust), (ALL,))
    hospitals = parties("heart_disease")
    network = getattr(titan.Network, shape)(list(hospitals))
    for asked, before in zip(both, BEFORE[shape, recovery], strict=True):
        ended = ask(hospitals, HEART, *asked, network=network, recovery=recovery, relays="trusted")
        assert ended.cost is not None
        assert 2 * ended.cost.bytes_sent.largest <= before


def test_one_hospital_s_blood_pressures_are_multiples_of_5() -> None:
    """Of all but a few patients: their last digits stand among the others' all the same."""
    pressures = [
        [int(line.split(",")[4]) for line in heart_lines() if line.startswith(name)]
        for name in hospitals()
    ]
    shares = [sum(x % 5 == 0 for x in each) / len(each) for each in pressures]
    assert max(shares) > 0.95 > 0.7 > min(shares)
    answered("heart_disease", HEART, "thalach ~ trestbps", "trestbps ~ age")


@pytest.mark.parametrize("formula", ["thalach ~ log(trestbps + 1) + age", "thalach ~ exp(oldpeak)"])
def test_an_outlier_is_refused_by_its_owner_before_outcomes_leave(formula: str) -> None:
    """A blood pressure of 0 in one hospital; the largest of all exp(oldpeak)."""
    with pytest.raises(ReleaseError, match="these rows weigh more than one of 3") as caught:
        list(check_pooled(hospitals(), HEART, formula))
    assert caught.value.rule == "leverage"
    assert len(list(check_pooled(hospitals(), HEART, formula, k=1))) == 4


@pytest.mark.parametrize("formula", ["thalach ~ log(trestbps + 1) + age", "thalach ~ exp(oldpeak)"])
def test_and_in_a_study_it_is_a_veto(formula: str) -> None:
    ended = ask(parties("heart_disease"), HEART, formula)
    assert ended.vetoed
    assert "response" not in ended.opened
    assert {refusal.rule for refusal in ended.owners.values()} == {"leverage"}


def test_a_firm_s_finer_digits_are_its_own() -> None:
    """With steps of 0.001 some last digits are of one firm's only; with 0.1, of nobody's."""
    finer = Dictionary.of({**GRUNFELD, "value": Number.read("0", "10000", "0.001")})
    ended = ask(parties("grunfeld"), finer, "invest ~ value")
    assert ended.opened == ("counts",)
    assert ended.refused is not None
