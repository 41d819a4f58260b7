"""Invariant: `titan.glm` gives statsmodels' numbers under its names, and refuses bad input."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import titan
from tests.generalised import against_statsmodels
from tests.generalised.against_statsmodels import differing
from titan.errors import DataError, InputError, PlanError, ReleaseError, TitanError
from titan.generalised.result import GLM
from titan.leastsquares.balls import Ball
from titan.results import decode, encode

N = 120
RIGHT = ' ~ age + bmi + C(sex, levels=["f", "m"])'


def table(seed: int = 3, rows: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "bmi": np.round(rng.normal(26, 4, rows), 1),
            "sex": rng.choice(["f", "m"], rows),
            "o": np.round(rng.normal(0, 0.3, rows), 2),
            "w": rng.integers(1, 4, rows),
            "days": rng.integers(10, 400, rows),
        }
    )
    eta = -4.5 + 0.05 * frame.age + 0.06 * frame.bmi + 0.5 * (frame.sex == "m")
    frame["died"] = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)
    frame["visits"] = rng.poisson(np.exp(0.3 * eta + 1))
    return frame


def reference(frame: pd.DataFrame, y: str, **asked: Any) -> Any:
    X = sm.add_constant(np.column_stack([frame.age, frame.bmi, frame.sex == "m"]).astype(float))
    family = sm.families.Binomial() if y == "died" else sm.families.Poisson()
    offset = frame[asked["offset"]] if "offset" in asked else None
    weights = frame[asked["weights"]] if "weights" in asked else None
    model = sm.GLM(frame[y], X, family=family, offset=offset, var_weights=weights)
    # its covariance is that of the iteration before the last
    return model.fit(start_params=model.fit(tol=1e-15).params, tol=1e-15)


@pytest.mark.parametrize("y", ["died", "visits"])
@pytest.mark.parametrize(
    "more", [{}, {"offset": "o"}, {"weights": "w"}, {"offset": "o", "weights": "w"}]
)
def test_all_numbers_are_those_of_statsmodels(y: str, more: dict[str, str]) -> None:
    frame = table()
    family = "binomial" if y == "died" else "poisson"
    out = titan.glm(frame, formula=y + RIGHT, family=family, precision="exact", **more)  # type: ignore[arg-type]
    assert differing(out, reference(frame, y, **more), frame) == []
    near = titan.glm(frame, formula=y + RIGHT, family=family, **more)  # type: ignore[arg-type]
    for name in ("params", "bse"):
        few, all_ = getattr(near, name), getattr(out, name)
        assert all(b.mid in a for a, b in zip(few.enclosures, all_.enclosures, strict=True))
    for name, ball in near.statistics.items():
        exactly: Any = out.statistics[name]
        assert exactly.mid in ball, name  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "family", "asked"),
    [
        ("heart", "binomial", {"offset": "o", "weights": "w"}),
        ("heart", "poisson", {}),
        ("firms", "poisson", {"weights": "w"}),
        ("pupils", "poisson", {"offset": "o"}),
        ("vote", "binomial", {"weights": "w"}),
        ("nile", "binomial", {}),
    ],
)
def test_real_data_have_the_numbers_of_statsmodels(
    name: str, family: str, asked: dict[str, str]
) -> None:
    """All 20 of them, in 160 models: `against_statsmodels.py`, by `make proofs`."""
    counts: Counter[str] = Counter()
    assert against_statsmodels.one(name, family, asked, counts) == []
    assert counts["fits compared"] == 1
    assert counts["OUTSIDE at the usual precision"] == 0


def test_one_outcome_less_is_another_answer() -> None:
    """The comparison can find a difference: one event of 300 changes every number but counts."""
    frame, response, columns = against_statsmodels.frame_of("heart")
    other = frame.copy()
    other.loc[0, response] = 1 - other.loc[0, response]
    out = titan.glm(frame, formula=f"{response} ~ {' + '.join(columns)}", precision="exact")
    theirs = against_statsmodels.reference(other, response, columns, "binomial")
    found = {text.split()[0] for text in differing(out, theirs, frame)}
    alike = {"scale", "df_resid", "df_model", "nobs"}
    assert found == set(against_statsmodels.compared(out, theirs, frame)) - alike


def test_parties_together_find_what_one_table_has() -> None:
    frame = table()
    whole = titan.glm(frame, formula="died" + RIGHT, precision="exact")
    parts = [frame[at::4] for at in range(4)]
    for engine in ("local", "vectorised"):
        out = titan.glm(parts, "cycle", formula="died" + RIGHT, tau=1, engine=engine)
        pairs = zip(out.params.enclosures, whole.params.enclosures, strict=True)
        assert all(b.mid in a for a, b in pairs)  # type: ignore[union-attr,operator]
        assert out.digits >= 5
        assert out.cost.rounds > 0
        assert len(out.summary().splitlines()) > 15


def test_exposure_is_the_offset_of_its_logarithm() -> None:
    frame = table()
    one = titan.glm(frame, formula="visits" + RIGHT, family="poisson", exposure="days")
    other = titan.glm(frame, formula="visits" + RIGHT, family="poisson", offset="log(days)")
    assert one.to_state() == other.to_state()
    truth = sm.GLM(
        frame.visits,
        sm.add_constant(np.column_stack([frame.age, frame.bmi, frame.sex == "m"]).astype(float)),
        family=sm.families.Poisson(),
        exposure=frame.days,
    ).fit(tol=1e-14)
    assert np.allclose(np.asarray(one.params), truth.params, rtol=1e-5)
    assert np.allclose(one.predict(frame), truth.predict(), rtol=1e-5)


def test_new_rows_are_read_as_those_of_any_regression() -> None:
    """By the same code: one row, a Series, gaps, files, a constant alone, and errors of ours."""
    frame = table()
    one = titan.glm(frame, formula="visits ~ bmi", family="poisson", offset="o")
    rows = frame[["bmi", "o"]]
    expected = one.predict(rows)
    single = {"bmi": float(frame["bmi"].iloc[3]), "o": float(frame["o"].iloc[3])}
    assert float(one.predict(single)) == pytest.approx(expected[3])
    gap = one.predict(rows.assign(o=np.where(np.arange(len(rows)) == 1, np.nan, rows["o"])))
    assert np.isnan(gap).tolist() == [at == 1 for at in range(len(rows))]
    plain = titan.glm(frame, formula="died ~ bmi", family="binomial")
    np.testing.assert_array_equal(plain.predict(frame["bmi"]), plain.predict(frame))
    assert np.isnan(plain.predict({"bmi": [None, 1.0]})).tolist() == [True, False]
    constant = titan.glm(frame, formula="died ~ 1", family="binomial").predict(frame[:5])
    assert constant == pytest.approx([frame["died"].mean()] * 5)
    for wrong in (frame["o"], "nowhere.csv", {"bmi": "text"}, {"age": 1}):
        with pytest.raises(InputError):
            plain.predict(wrong)


def test_a_result_comes_back_from_its_state() -> None:
    out = titan.glm(table(), formula="died" + RIGHT, weights="w", offset="o")
    for again in (decode(encode(out))[0], pickle.loads(pickle.dumps(out))):  # noqa: S301 - our own
        assert again.to_dict() == out.to_dict()
        assert again.to_state() == out.to_state()
        assert np.array_equal(again.predict(table(9)), out.predict(table(9)))
    assert json.loads(json.dumps(out.to_dict()))["family"] == "binomial"
    state = out.to_state()
    with pytest.raises(ValueError, match=r"."):
        GLM.from_state(state | {"step": state["step"] | {"totals": []}})


def test_every_number_of_the_json_has_its_error() -> None:
    """That it holds is `campaign`'s; here, that it is there and small, and null with a penalty."""
    told = titan.glm(table(), formula="died" + RIGHT, offset="o").to_dict()
    for name in told["params"]:
        for key in ("params", "bse", "tvalues", "pvalues"):
            assert 0 < told[f"{key}_error"][name] < 1e-3 * max(abs(told[key][name]), 1e-3), key
        assert max(told["conf_int_error"][name]) < 1e-3
    for key in ("llf", "llnull", "deviance", "null_deviance", "pearson_chi2", "aic", "bic"):
        assert 0 < told[f"{key}_error"] < 1e-3 * abs(told[key])
    assert (told["pseudo_rsquared_error"] < 1e-3, told["scale_error"]) == (True, 0.0)
    penalised = titan.glm(table(), formula="died" + RIGHT, alpha=1).to_dict()
    assert set(penalised["bse_error"].values()) == {None}


def test_a_penalty_makes_separated_data_answerable() -> None:
    x = np.arange(40.0)
    data = {"x": x, "y": (x > 19).astype(float)}
    with pytest.raises(DataError, match="separated, or too ill-conditioned") as caught:
        titan.glm(data, formula="y ~ x")
    assert "alpha" in caught.value.hint
    from sklearn.linear_model import LogisticRegression

    out = titan.glm(data, formula="y ~ x", alpha=1.0, precision=40)
    theirs = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky").fit(
        x[:, None], data["y"]
    )
    assert np.asarray(out.params)[1] == pytest.approx(theirs.coef_[0, 0], rel=1e-6)
    assert np.isnan(np.asarray(out.bse)).all()
    assert "penalised" in out.summary()


def test_where_a_penalty_is_too_small_a_larger_one_is_advised() -> None:
    age = np.repeat(np.arange(30.0, 80.0), 12)
    data = {"age": age, "y": (age > 55).astype(float)}
    with pytest.raises(DataError) as caught:
        titan.glm(data, formula="y ~ age", alpha=1)
    assert caught.value.hint.endswith("or add a larger ridge penalty: alpha")
    assert titan.glm(data, formula="y ~ age", alpha=10).digits >= 3


def test_columns_that_depend_on_each_other_are_named() -> None:
    frame = table()
    frame["older"] = frame.age * 2
    with pytest.raises(TitanError, match=r"age|older"):
        titan.glm(frame, formula="died ~ age + older + bmi")


@pytest.mark.parametrize(
    ("change", "asked", "error", "words"),
    [
        ({"died": 2}, {}, DataError, "neither 0 nor 1"),
        ({"died": 0.5}, {}, DataError, "neither 0 nor 1"),
        ({"visits": -1}, {"family": "poisson"}, DataError, "not a count"),
        ({"visits": 1.5}, {"family": "poisson"}, DataError, "not a count"),
        ({"days": -3}, {"exposure": "days"}, DataError, "log"),
        ({"days": 0}, {"exposure": "days"}, DataError, "log"),
        ({"o": np.inf}, {"offset": "o"}, DataError, "o"),
        ({"o": np.nan}, {"offset": "o"}, DataError, "missing"),
        ({"w": -1}, {"weights": "w"}, DataError, "negative weight"),
        ({}, {"family": "gamma"}, InputError, "family"),
        ({}, {"precision": 12}, PlanError, "precision"),
        ({}, {"precision": "high"}, PlanError, "precision"),
        ({}, {"alpha": -1.0}, InputError, "alpha"),
        ({}, {"offset": "o", "exposure": "days"}, InputError, "exposure"),
        ({}, {"offset": 3}, InputError, "offset"),
        ({}, {"offset": "nowhere"}, TitanError, "nowhere"),
        ({}, {"allow_small": True}, PlanError, "network"),
    ],
)  # fmt: skip
def test_bad_input(change: dict[str, Any], asked: dict[str, Any], error: Any, words: str) -> None:
    frame = table(rows=60)
    for name, value in change.items():
        frame[name] = frame[name].astype(float)
        frame.loc[7, name] = value
    y = "visits" if asked.get("family") == "poisson" else "died"
    with pytest.raises(error, match=words):
        titan.glm(frame, formula=y + RIGHT, **asked)


@pytest.mark.parametrize(("value", "words"), [(0, "no events at all"), (1, "1 in all rows")])
def test_outcomes_that_do_not_vary(value: int, words: str) -> None:
    frame = table(rows=60)
    frame["died"] = value
    with pytest.raises(DataError, match=words):
        titan.glm(frame, formula="died" + RIGHT)
    if value == 0:
        with pytest.raises(DataError, match=words):
            titan.glm(frame, formula="died" + RIGHT, family="poisson")


def test_events_of_one_party_alone_are_refused_unless_all_agree() -> None:
    frame = table(rows=120)
    parts = [frame[at::3].copy() for at in range(3)]
    for part in parts[1:]:
        part["died"] = 0
    with pytest.raises(ReleaseError) as caught:
        titan.glm(parts, "cycle", formula="died ~ age", tau=1)
    assert "died = 1" in str(caught.value)
    out = titan.glm(parts, "cycle", formula="died ~ age", tau=1, allow_small=True)
    assert out.nobs == 120


def test_few_events_at_a_level_are_refused() -> None:
    frame = table(rows=150)
    frame["g"] = "a"
    frame.loc[:29, "g"] = "b"
    frame.loc[:29, "died"] = 0
    frame.loc[:1, "died"] = 1
    parts = [frame[at::3] for at in range(3)]
    with pytest.raises(ReleaseError, match="died = 1"):
        titan.glm(parts, "cycle", formula='died ~ age + C(g, levels=["a", "b"])')


def test_rows_that_are_not_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from titan.joint import glm_rows

    frame = table()
    kept = titan.glm(frame, formula="died" + RIGHT)
    monkeypatch.setattr(glm_rows, "MOST_KEPT", 0)
    assert titan.glm(frame, formula="died" + RIGHT).to_state() == kept.to_state()


def test_p_values_of_large_counts_take_no_time() -> None:
    """Next to nothing to a double, they would have as many digits as z has in its square."""
    rng = np.random.default_rng(1)
    rows = {"a": rng.integers(-9, 10, 100), "y": rng.integers(0, 2_000, 100)}
    fit = titan.glm(rows, formula="y ~ a", family="poisson")
    assert fit.tvalues["Intercept"] > 1_000
    for p in (fit.pvalues, fit.t_test("a").pvalue, fit.t_test("Intercept").pvalue):
        for ball in p.enclosures:
            assert isinstance(ball, Ball)
            assert ball.mid.denominator.bit_length() < 5_000
    assert fit.pvalues["Intercept"] == 0.0
