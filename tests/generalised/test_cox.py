"""Invariant: `titan.cox` gives the numbers of statsmodels' PHReg with the parties for strata."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.datasets import heart
from statsmodels.duration.hazard_regression import PHReg

import titan
from titan.errors import DataError, InputError, PlanError, ReleaseError, TitanError
from titan.release import Flag, Time
from titan.results import decode, encode

RIGHT = 'age + bmi + C(sex, levels=["f", "m"])'
ASKED: Any = {"formula": RIGHT, "time": "months", "event": "died"}


def table(rows: int = 240, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "bmi": np.round(rng.normal(26, 4, rows), 1),
            "sex": rng.choice(["f", "m"], rows),
            "site": np.arange(rows) % 4,
        }
    )
    hazard = np.exp(0.03 * (frame.age - 55) + 0.4 * (frame.sex == "m")) * (1 + 0.3 * frame.site)
    event, left = np.ceil(rng.exponential(size=rows) * 25 / hazard), rng.integers(4, 49, rows)
    frame["months"] = np.minimum(event, left).astype(int)
    frame["died"] = (event <= left).astype(int)
    return frame


def by_site(frame: pd.DataFrame) -> list[pd.DataFrame]:
    return [frame[frame.site == at] for at in range(4)]


def reference(frame: pd.DataFrame, ties: str, grid: int = 1, strata: bool = True) -> Any:
    X = np.column_stack([frame.age, frame.bmi, frame.sex == "m"]).astype(float)
    times, by = np.ceil(frame.months / grid) * grid, frame.site if strata else None
    model = PHReg(times, X, status=frame.died, strata=by, ties=ties)
    return model.fit(disp=0, tol=1e-14)


def compared(out: titan.Cox, r: Any, frame: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    names = ["params", "bse", "tvalues", "pvalues", "llf"]
    found = {name: (getattr(out, name), getattr(r, name)) for name in names}
    null = r.model.loglike(np.zeros(3))
    X = np.column_stack([frame.age, frame.bmi, frame.sex == "m"]).astype(float)
    return found | {
        "conf_int": (out.conf_int(), r.conf_int()),
        "cov": (out.cov_params(), r.cov_params()),
        "ratios": (out.hazard_ratios, np.exp(r.params)),
        "limits": (out.hazard_conf_int(0.1), np.exp(r.conf_int(0.1))),
        "llnull": (out.llnull, null),
        "llr": (out.llr, 2 * (r.llf - null)),
        "lhr": (out.predict(frame), X @ r.params),
        "hr": (out.predict(frame, "hr"), np.exp(X @ r.params)),
    }


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("grid", [1, 6])
def test_all_numbers_are_those_of_phreg_with_the_parties_as_strata(ties: Any, grid: int) -> None:
    frame = table()
    among: Any = {**ASKED, "network": "cycle", "tau": 1, "ties": ties, "grid": grid}
    out = titan.cox(by_site(frame), **among, precision="exact", allow_small=True)
    for name, (ours, theirs) in compared(out, reference(frame, ties, grid), frame).items():
        a, b = np.asarray(ours, float), np.asarray(theirs, float)
        assert np.allclose(a, b, rtol=1e-8, atol=1e-10), name
    near = titan.cox(by_site(frame), **among, allow_small=True)
    assert near.digits >= 5
    for name in ("params", "bse"):
        few, all_ = getattr(near, name), getattr(out, name)
        assert all(b.mid in a for a, b in zip(few.enclosures, all_.enclosures, strict=True))
    for name, ball in near.statistics.items():
        exactly: Any = out.statistics[name]
        assert exactly.mid in ball, name  # type: ignore[operator]


def test_one_table_is_one_stratum() -> None:
    frame = table()
    out = titan.cox(frame, **ASKED, precision=40)
    assert np.allclose(np.asarray(out.params), reference(frame, "efron", strata=False).params)
    assert (out.strata, out.nobs, out.events, out.least_at_risk) == (1, 240, frame.died.sum(), 0)
    assert out.cost is None


def test_stanford_heart_transplants() -> None:
    data = heart.load_pandas().data
    r = PHReg(data.survival, data[["age"]], status=data.censors, ties="efron").fit(disp=0)
    out = titan.cox(data, formula="age", time="survival", event="censors", precision=40)
    assert np.allclose([out.params["age"], out.bse["age"], out.llf], [r.params[0], r.bse[0], r.llf])


@pytest.mark.parametrize("engine", ["local", "vectorised"])
def test_events_with_few_of_their_party_at_risk_do_not_count(engine: Any) -> None:
    """As if the follow-up of each party had ended there: PHReg of such rows."""
    frame = table()
    for part in by_site(frame):
        frame.loc[part.months.nlargest(3).index, ["months", "died"]] = [[60, 1], [58, 1], [55, 1]]
    out = titan.cox(by_site(frame), "cycle", **ASKED, tau=1, precision="exact", engine=engine)
    ended = frame.copy()
    ended.loc[ended.months > 55, "died"] = 0
    assert np.allclose(np.asarray(out.params), reference(ended, "efron").params, rtol=1e-9)
    assert not np.allclose(np.asarray(out.params), reference(frame, "efron").params, rtol=1e-4)
    assert out.events == frame.died.sum(), "the counts tell all"
    assert (out.least_at_risk, out.strata) == (3, 4)
    assert "fewer than 3 rows of their party" in out.summary()


def test_the_three_ways_to_write_a_formula() -> None:
    frame = table(60)
    one = titan.cox(frame, formula="age + bmi", time="months", event="died").to_state()
    for formula in ("Surv(months, died) ~ age + bmi", "Surv(`months`, died) ~ 0 + age + bmi - 1"):
        assert titan.cox(frame, formula=formula).to_state() == one
    assert titan.cox(frame, formula="months ~ bmi + age", event="died").nobs == 60
    assert titan.cox(frame, columns=["age", "bmi"], time="months", event="died").to_state() == one


def test_times_without_a_grid_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(1)
    rows = {"x": rng.integers(0, 9, 60), "t": rng.exponential(size=60), "d": rng.integers(0, 2, 60)}
    out = titan.cox(rows, formula="x", time="t", event="d", precision=40)
    r = PHReg(rows["t"], rows["x"][:, None].astype(float), status=rows["d"]).fit(disp=0)
    assert out.params["x"] == pytest.approx(r.params[0], rel=1e-8)


def test_a_result_comes_back_from_its_state() -> None:
    out = titan.cox(table(80), **ASKED)
    for again in (decode(encode(out))[0], pickle.loads(pickle.dumps(out))):  # noqa: S301 - our own
        assert again.to_dict() == out.to_dict()
        assert again.to_state() == out.to_state()
        assert again.summary() == out.summary()
        assert np.array_equal(again.predict(table(9)), out.predict(table(9)))
    told = json.loads(json.dumps(out.to_dict()))
    assert told["hazard_ratios"]["age"] == pytest.approx(math.exp(told["params"]["age"]))
    for key in ("bse", "tvalues", "pvalues", "hazard_ratios"):
        assert 0 < told[f"{key}_error"]["age"] < 1e-2 * abs(told[key]["age"])
    assert max(told["hazard_conf_int_error"]["age"]) < 1e-3
    assert 0 < told["llr_error"] < 1e-3 * told["llr"]
    assert "<script" not in out._repr_html_()
    assert "exp(coef)" in out._repr_html_()
    assert "Cox(months to died" in repr(out)
    state = out.to_state()
    step = titan.glm(table(80), formula="died ~ age + bmi").to_state()["step"]
    for change in ({"step": step}, {"ties": "exact"}, {"names": ["age"]}, {"rows": -1}):
        with pytest.raises(ValueError, match=r"."):
            titan.Cox.from_state(state | change)


def test_a_penalty_makes_a_monotone_likelihood_answerable() -> None:
    x = np.arange(40) % 2
    rows = {"x": x, "t": 41 - np.arange(40), "d": x}  # without x there is no event
    with pytest.raises(DataError, match="the likelihood is monotone") as caught:
        titan.cox(rows, formula="x", time="t", event="d")
    assert "alpha" in caught.value.hint
    out = titan.cox(rows, formula="x", time="t", event="d", alpha=1.0)
    assert out.params["x"] > 0.3
    assert math.isnan(out.bse["x"])
    assert math.isnan(out.llr_pvalue)
    assert "penalised" in out.summary()


def test_rows_that_are_not_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from titan.joint import glm_rows

    frame = table()
    kept = titan.cox(by_site(frame), "cycle", **ASKED, precision=40)
    monkeypatch.setattr(glm_rows, "MOST_KEPT", 0)
    again = titan.cox(by_site(frame), "cycle", **ASKED, precision=40)
    assert again.to_state() == kept.to_state()


# -- what cannot be asked -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "asked", "error", "words"),
    [
        ({"died": 2}, {}, DataError, "neither 0 nor 1"),
        ({"died": np.nan}, {}, DataError, "not there"),
        ({"months": -1}, {}, TitanError, "below 0"),
        ({"months": np.inf}, {}, DataError, "months"),
        ({"months": 0, "died": 1}, {}, DataError, "the event at time 0"),
        ({"months": 61}, {"dictionary": {"months": Time.read(0, 60, 1), "died": Flag()}},
         DataError, "outside the study's range, 0 to 60"),
        ({"age": np.nan}, {}, DataError, "not there"),
        ({}, {"ties": "exact"}, InputError, "ties"),
        ({}, {"grid": 0}, InputError, "grid"),
        ({}, {"time": "sex"}, InputError, "a time is a number"),
        ({}, {"event": "sex"}, InputError, "an event is a flag"),
        ({}, {"event": "months"}, InputError, "stands twice"),
        ({}, {"time": None}, InputError, "time=None is not the name of a column"),
        ({}, {"event": "nowhere"}, TitanError, "nowhere"),
        ({}, {"formula": "age + months"}, TitanError, "stands in the formula"),
        ({}, {"formula": "age + died"}, TitanError, "died"),
        ({}, {"formula": "1"}, InputError, "no column explains"),
        ({}, {"formula": ""}, InputError, "nothing that explains"),
        ({}, {"formula": None}, InputError, "formula and columns"),
        ({}, {"formula": "days ~ age"}, InputError, "the time is 'months', and 'days'"),
        ({}, {"formula": "Surv(months) ~ age"}, InputError, "1 arguments"),
        ({}, {"formula": "log(months) ~ age"}, InputError, "not the name of a column"),
        ({}, {"formula": "age + I(2 * age)"}, TitanError, "age"),
        ({}, {"precision": 12}, PlanError, "precision"),
        ({}, {"alpha": -1.0}, InputError, "alpha"),
        ({}, {"tau": 1}, TitanError, "without a network"),
    ],
)  # fmt: skip
def test_bad_input(change: dict[str, Any], asked: dict[str, Any], error: Any, words: str) -> None:
    frame = table(60)
    for name, value in change.items():
        frame[name] = frame[name].astype(float)
        frame.loc[7, name] = value
    with pytest.raises(error, match=words):
        titan.cox(frame, **(ASKED | {"formula": "age"} | asked))


def test_without_any_event_there_is_nothing_to_estimate() -> None:
    frame = table()
    frame["died"] = 0
    with pytest.raises(DataError, match="no events at all"):
        titan.cox(frame, **ASKED)
    with pytest.raises(DataError, match="no events at all"):
        titan.cox(by_site(frame), "cycle", **ASKED)


def test_events_of_one_party_alone_are_refused_unless_all_agree() -> None:
    frame = table()
    frame.loc[frame.site > 0, "died"] = 0
    with pytest.raises(ReleaseError) as caught:
        titan.cox(by_site(frame), "cycle", **ASKED, tau=1)
    assert "died = 1" in str(caught.value)
    out = titan.cox(by_site(frame), "cycle", **ASKED, tau=1, allow_small=True)
    alone = titan.cox(by_site(frame)[0], **ASKED, precision=40)
    pairs = zip(out.params.enclosures, alone.params.enclosures, strict=True)
    assert all(b.mid in a for a, b in pairs)  # type: ignore[union-attr,operator]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [17, 30, 100])
def test_a_hazard_ratio_beyond_all_doubles_takes_no_time(sign: int, power: int) -> None:
    """As of a column in a unit too large by far: as a fraction it would fill the memory."""
    rng = np.random.default_rng(1)
    a = np.rint(64 * rng.normal(size=200)) / 64
    times = np.maximum(1, np.rint(20 * np.exp(-a) * rng.exponential(size=200)))
    rows = {"a": sign * np.ldexp(a, -power), "t": times, "e": rng.random(200) < 0.5}
    fit = titan.cox(rows, time="t", event="e", columns=["a"])
    assert abs(fit.params["a"]) > 100_000
    beyond = math.inf if sign > 0 else 0.0
    assert fit.hazard_ratios["a"] == beyond
    assert tuple(fit.hazard_conf_int()["a"]) == (beyond, beyond)
    assert "Hazard ratios" in fit.summary()
    assert fit.to_dict()["hazard_ratios"]["a"] == (None if sign > 0 else 0.0)
