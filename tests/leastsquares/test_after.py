"""Invariant: what follows from a fit is in its proven ball, and as statsmodels has it from rows."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

import titan
from titan.errors import InputError
from titan.leastsquares import Ball, Regression, fit_pooled
from titan.leastsquares.hypotheses import read_hypotheses
from titan.leastsquares.tails import chi2_tail, normal_quantile, normal_two_sided
from titan.results import decode, encode
from titan_lab import datasets

from .beside_statsmodels import every_fit, run
from .systems import nist
from .twin import campaign

HEART = datasets.path("heart_disease")


def test_no_ball_misses_the_truth() -> None:
    """The long version: python -m tests.leastsquares.twin --problems 1000."""
    tally = campaign(5, seed=3)
    assert not tally.violations
    assert sum(tally.claims.values()) > 300
    assert sum(tally.unclaimed.values()) < 20
    assert sum(count for digits, count in tally.digits.items() if digits >= 6) > 250


def test_as_statsmodels_on_real_fits() -> None:
    """Some of them: python -m tests.leastsquares.beside_statsmodels has more than 60."""
    every = every_fit()
    assert len(every) > 60
    assert run([*every[::13], *every[-26:-8:5], every[-3]]) >= 10


# -- hypotheses in words ------------------------------------------------------------------------

NAMES = (
    "Intercept",
    "age",
    "sex[T.m]",
    "C(site)[T.b]",
    "age:sex[T.m]",
    "I(age ** 2)",
    "a",
    "ab",
    "2",
)


@pytest.mark.parametrize(
    ("text", "rows", "targets"),
    [
        ("age = 2*sex[T.m]", [{"age": 1, "sex[T.m]": -2}], [0]),
        ("age", [{"age": 1}], [0]),
        ("age = sex[T.m] = 3", [{"age": 1, "sex[T.m]": -1}, {"sex[T.m]": 1}], [0, 3]),
        (
            "Intercept + 1 = 0, I(age ** 2)/4 = 1e-1",
            [{"Intercept": 1}, {"I(age ** 2)": 0.25}],
            [-1, 0.1],
        ),
        ("-(age:sex[T.m] - a)*3 = -ab", [{"age:sex[T.m]": -3, "a": 3, "ab": 1}], [0]),
        ("C(site)[T.b]=.5", [{"C(site)[T.b]": 1}], [0.5]),
        ("`2` = 2*a", [{"2": 1, "a": -2}], [0]),
        ("2*(1 + 2)*a = 6", [{"a": 6}], [6]),
    ],
)
def test_words(text: str, rows: list[dict[str, float]], targets: list[float]) -> None:
    found = read_hypotheses(text, NAMES)
    expected = [tuple(Fraction(row.get(name, 0)) for name in NAMES) for row in rows]
    assert list(found.rows) == expected
    assert [float(q) for q in found.targets] == targets
    assert read_hypotheses(found.texts, NAMES).rows == found.rows


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("age = weight", "'weight' is not a coefficient"),
        ("age * a = 0", "multiplied with each other"),
        ("1/age = 0", "not divided by a number"),
        ("age/0 = 0", "not divided by a number"),
        ("age = ", "it ends here"),
        ("(age = 0", r'"\)" was expected'),
        ("age; a", "';"),
        ("", "it ends here"),
        ("(" * 99 + "a" + ")" * 99, "nested deeper"),
        ("a = 1e999", "too long"),
        ("__import__('os')", "is not a coefficient"),
        ([[1, 2]], "shape"),
        (([[1.0] * 9], [1, 2]), "2 values for 1"),
        ([[math.nan] * 9], "not finite"),
        (object(), "shape"),
        (["age", 3], "number"),
    ],
)
def test_what_is_not_a_hypothesis(wrong: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_hypotheses(wrong, NAMES)


def test_matrices_and_mappings() -> None:
    for given in ({"age": 2}, (np.eye(9)[1], 2), (np.eye(9)[[1]], [2]), "age = 2", ["age = 2"]):
        found = read_hypotheses(given, NAMES)
        assert found.targets == (Fraction(2),)
        assert found.rows == (tuple(Fraction(int(j == 1)) for j in range(9)),)


# -- edges --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit() -> Regression:
    return titan.fit(HEART, formula="thalach ~ age + sex + oldpeak")


def test_hypotheses_that_depend_on_each_other_are_refused(fit: Regression) -> None:
    with pytest.raises(InputError, match="hypothesis 2 depends on those before it"):
        fit.f_test("age = sex, 2*age = 2*sex")
    with pytest.raises(InputError, match="hypothesis 1 says nothing"):
        fit.f_test("0 = 1")


def test_an_exact_fit_has_no_errors() -> None:
    exact = titan.fit({"y": [1, 3, 5, 9], "a": [1, 2, 3, 5]}, formula="y ~ a")
    assert math.isinf(exact.f_test("a = 0").fvalue)
    assert exact.f_test("a = 0").pvalue == 0
    assert math.isnan(exact.f_test("a = 2").fvalue)
    assert set(exact.t_test("a = 0").sd.values()) == {0.0}
    frame = exact.get_prediction({"a": [7.0]}).summary_frame()
    assert set(frame.loc[0, ["mean", "obs_ci_lower", "obs_ci_upper"]]) == {13.0}
    assert math.isinf(exact.anova().F["a"])


def test_hard_columns_keep_their_digits() -> None:
    """Filip's ten powers: F of all of them, and each against the others."""
    problem = nist("Filip")[0]
    hard = fit_pooled(problem.pooled(parties=4, bits=192), constant=problem.names[0])
    whole = hard.f_test(np.eye(11)[1:]).statistic_enclosure
    smaller = hard.compare_f_test(hard.submodel(problem.names[:1])).enclosures[0]
    assert isinstance(whole, Ball)
    assert isinstance(smaller, Ball)
    assert abs(whole.mid - smaller.mid) <= whole.rad + smaller.rad
    assert whole.digits >= 15
    assert smaller.digits >= 30
    assert hard.fvalue == pytest.approx(float(whole), rel=1e-14)


def test_models_that_cannot_be_compared(fit: Regression) -> None:
    other = titan.fit(HEART, formula="thalach ~ age + exang")
    wrongs: list[tuple[Any, str]] = [
        (other, "'exang', which the full one lacks"),
        (fit, "the same columns"),
        (titan.fit(HEART, formula="trestbps ~ age"), "same response and rows"),
        ("thalach ~ age", "str is not a regression"),
    ]
    for wrong, said in wrongs:
        with pytest.raises(InputError, match=said):
            fit.compare_f_test(wrong)
    moved = fit_pooled(
        titan.fit(
            {"thalach": np.arange(854.0) % 7, "age": np.arange(854.0) % 5}, formula="thalach ~ age"
        ).moments,
        constant="Intercept",
    )
    with pytest.raises(InputError, match="same response and rows"):
        fit.compare_f_test(moved)
    robust = titan.fit(HEART, formula="thalach ~ age + sex", cov_type="HC1")
    for call in (robust.anova, lambda: robust.compare_f_test(robust)):
        with pytest.raises(InputError, match="robust errors"):
            call()


def test_anova_needs_a_formula_and_a_type(fit: Regression) -> None:
    with pytest.raises(InputError, match="typ=4"):
        fit.anova(4)
    with pytest.raises(InputError, match="has no formula"):
        fit_pooled(fit.moments, constant="Intercept").anova()
    text = fit.anova(2).summary()
    assert "type II" in text
    assert "Residual" in text


def test_screening_needs_a_constant() -> None:
    plain = titan.fit(HEART, formula="thalach ~ 0 + age + sex")
    with pytest.raises(InputError, match="no constant is in the model"):
        plain.means  # noqa: B018 - refused
    rows = pd.read_csv(HEART)[["age", "sex"]].to_numpy(float)
    gram = rows.T @ rows
    inflation = np.diagonal(np.linalg.inv(gram)) * np.diagonal(gram)
    np.testing.assert_allclose(np.asarray(plain.vif), inflation, rtol=1e-10)


def test_a_new_row_with_a_gap_has_no_prediction(fit: Regression) -> None:
    new = pd.DataFrame({"age": [50, np.nan], "sex": [1, 0], "oldpeak": [0.5, 1]}, index=["u", "v"])
    found = fit.get_prediction(new)
    assert list(found.summary_frame().index) == ["u", "v"]
    assert found.summary_frame().loc["v"].isna().all()
    assert found.predicted_mean[0] == pytest.approx(fit.predict(new.iloc[:1])[0])
    assert float(found.error_frame().loc["u"].max()) < 1e-9
    assert len(found.to_dict()["obs_ci_upper_error"]) == len(found) == 2
    with pytest.raises(InputError, match="infinite"):
        fit.get_prediction({"age": [math.inf], "sex": [1.0], "oldpeak": [0.0]})


# -- other errors -------------------------------------------------------------------------------


def test_a_loaded_fit_answers_all_that_needs_no_sum_of_its_own() -> None:
    robust = titan.fit(HEART, formula="thalach ~ age + sex", cov_type="HC0")
    loaded = decode(encode(robust))[0]
    assert isinstance(loaded, Regression)
    assert loaded.formula == robust.formula
    plain = loaded.get_robustcov_results("nonrobust")
    assert plain.anova(3).F == titan.fit(HEART, formula="thalach ~ age + sex").anova(3).F
    assert loaded.HC0_se == robust.bse
    direct = titan.fit(HEART, formula="thalach ~ age + sex", cov_type="HC1")
    np.testing.assert_allclose(np.asarray(loaded.HC1_se), np.asarray(direct.bse), rtol=1e-14)
    assert loaded.t_test("age = sex").to_dict() == robust.t_test("age = sex").to_dict()
    assert loaded.get_robustcov_results("HC0") is loaded
    line = "--ask 'regression: thalach ~ 1 + age + sex; cov_type=HC3'"
    for refused in (lambda: loaded.HC3_se, lambda: plain.get_robustcov_results("HC3")):
        with pytest.raises(InputError, match="need a sum of their own") as caught:
            refused()
        assert line in caught.value.hint
    with pytest.raises(InputError, match="HC9"):
        loaded.get_robustcov_results("HC9")  # type: ignore[arg-type]


# -- penalties ----------------------------------------------------------------------------------


def test_paths_are_chosen_by_bic(fit: Regression) -> None:
    lasso, ridge = fit.lasso_path(count=30), fit.ridge_path(count=9)
    point = lasso.best("bic")
    assert point.criterion == lasso.bic.min() == lasso.bic[point.at]
    assert point.df == len(point.chosen)
    assert ridge.best("bic").bic == min(each.bic for each in ridge)
    assert ridge.best("aic").aic == min(each.aic for each in ridge)
    for path in (lasso, ridge):
        again: Any = decode(encode(path))[0]
        assert again.to_dict() == path.to_dict()
        assert again.best("bic").alpha == path.best("bic").alpha
        with pytest.raises(InputError, match="criterion 'r2'"):
            path.best("r2")


def test_without_a_penalty_a_ridge_is_the_fit(fit: Regression) -> None:
    none = fit.ridge(0)
    assert none.df_effective == len(fit.names)
    for name in ("aic", "bic", "scale"):
        assert getattr(none, name) == pytest.approx(getattr(fit, name), rel=1e-14)
    np.testing.assert_allclose(np.asarray(none.bse), np.asarray(fit.bse), rtol=1e-14)
    tiny = fit.lasso_path([1e-9])
    assert tiny.bic[0] == pytest.approx(fit.bic, rel=1e-12)
    assert "effective degrees of freedom" in fit.ridge(10).summary()
    assert "bse_error" in fit.ridge(10).to_dict()


def test_a_ridge_without_the_response_squared_has_no_errors() -> None:
    tables = [{"y": [1, 2, 4, 3], "a": [1, 2, 3, 5]}, {"y": [2, 2, 5, 1], "a": [0, 1, 6, 2]}]
    network = titan.Network.cycle(2)
    found = titan.ridge(tables, network, alpha=1.0, formula="y ~ a", allow_small=True)
    assert 1 < found.df_effective < 2
    assert math.isnan(found.bic)
    with pytest.raises(InputError, match="need bᵀb") as caught:
        found.bse  # noqa: B018 - refused
    assert "--ask 'regression: y ~ 1 + a'" in caught.value.hint
    rows = np.array([[1.0, 2.5], [1.0, 0.0]])
    again: Any = decode(encode(found))[0]
    for each in (found, again):
        assert each.predict({"a": [2.5, 0]}).tolist() == each.predict(rows).tolist()
    assert again.to_state() == found.to_state()


def test_tails_and_quantiles() -> None:
    stats = import_module("scipy.stats")
    for z in (0, 0.3, 2, 9, 37.5):
        ball = normal_two_sided(Ball(Fraction(z)))
        assert float(ball) == pytest.approx(2 * stats.norm.sf(z), rel=1e-12)
        for df in (1, 4, 40):
            tail = chi2_tail(Ball(Fraction(z) ** 2), df)
            assert float(tail) == pytest.approx(stats.chi2.sf(z**2, df), rel=1e-12)
    assert float(normal_two_sided(Ball(Fraction(10**9)))) == 0
    assert float(chi2_tail(Ball(Fraction(10**9)), 3)) == 0
    for alpha in (0.5, 0.05, 1e-9, 1e-300):
        ball = normal_quantile(alpha)
        assert float(ball) == pytest.approx(stats.norm.isf(alpha / 2), rel=1e-12)
        assert ball.digits >= 12
