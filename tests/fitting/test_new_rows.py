"""Invariant: a fit keeps its model: it predicts raw rows, and is cut down by name or formula."""

from __future__ import annotations

import json
import pickle
import shlex
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import ask
from titan.errors import InputError, TitanError
from titan.joint.kinds import Question
from titan.moments import log_weights, open_source
from titan.moments.columns import Column
from titan.release import Dictionary
from titan.release.dictionary import Number
from titan.study.asking import read_question

pd = import_module("pandas")
N = 60
RNG = np.random.default_rng(6)
TABLE = pd.DataFrame(
    {
        "y": RNG.normal(size=N),
        "x": RNG.uniform(1, 9, N).round(2),
        "t": np.arange(N) % 4,
        "g": np.array(list("pqr"))[np.arange(N) % 3],
        "w": RNG.integers(1, 20, N) / 8,
    }
)
G = 'C(g, levels=["p", "q", "r"])'


def copied(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own


@pytest.fixture(scope="module")
def fit() -> Any:
    return titan.fit(TABLE, formula=f"y ~ log(x) + {G} * t")


@pytest.fixture(scope="module")
def reference() -> Any:
    return import_module("statsmodels.formula.api").ols("y ~ np.log(x) + C(g) * t", TABLE).fit()


def test_raw_rows_are_predicted(fit: Any, reference: Any, tmp_path: Path) -> None:
    raw = TABLE[["t", "g", "x"]][::-1]
    expected = np.asarray(reference.predict(raw))
    file = tmp_path / "raw.csv"
    raw.to_csv(file, index=False)
    polars = import_module("polars").DataFrame({n: raw[n].to_list() for n in raw})
    for rows in (raw, polars, polars.to_arrow(), dict(raw), str(file), raw.assign(y=np.nan)):
        np.testing.assert_allclose(fit.predict(rows), expected, rtol=1e-10)
    one = {"x": 2.5, "g": "q", "t": 3}
    assert fit.predict(one) == pytest.approx(float(reference.predict(pd.DataFrame([one]))[0]))
    assert fit.predict({**one, "x": [2.5, 2.5]}).tolist() == [fit.predict(one)] * 2
    loaded = copied(fit)
    np.testing.assert_array_equal(loaded.predict(raw), fit.predict(raw))


def test_a_gap_gives_nan(fit: Any) -> None:
    found = fit.predict({"x": [2.5, None], "g": ["q", "q"], "t": [1, 1]})
    assert np.isnan(found).tolist() == [False, True]


BAD: list[Any] = [
    "age",
    b"age",
    None,
    5,
    object(),
    [["a"] * 7],
    {"x": "abc", "g": "q", "t": 1},
    {"x": 1, "g": "nobody", "t": 1},
    {"x": [1, 2], "g": ["q"], "t": [1, 2, 3]},
    {"g": "q"},
    {},
    {"x": -1, "g": "q", "t": 1},
    TABLE.iloc[0],
    TABLE["x"],
    TABLE["w"],
    TABLE[["g", "x"]],
]


@pytest.mark.parametrize("rows", BAD, ids=[str(i) for i in range(len(BAD))])
def test_what_is_not_rows_is_an_error_of_ours(fit: Any, rows: Any) -> None:
    with pytest.raises(TitanError):
        fit.predict(rows)


def test_text_without_a_formula_is_an_error_of_ours() -> None:
    bare = titan.leastsquares.fit_pooled(titan.fit(TABLE, formula="y ~ x").moments)
    for rows in ({"Intercept": 1, "x": "abc"}, TABLE[["g"]].rename(columns={"g": "x"}), "abc"):
        with pytest.raises(InputError):
            bare.predict(rows)


def test_a_series_is_a_column() -> None:
    small = titan.fit(TABLE, formula="y ~ x")
    expected = small.params["Intercept"] + small.params["x"] * TABLE["x"]
    for series in (
        TABLE["x"],
        TABLE["x"].rename(None),
        import_module("polars").Series("x", TABLE["x"]),
    ):
        np.testing.assert_allclose(small.predict(series), expected)
    two = titan.fit(TABLE, formula="y ~ 0 + x + t")
    with pytest.raises(InputError, match="is one column"):
        two.predict(pd.Series([1.0, 2.0]))


# -- smaller models ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "names", "formula"),
    [
        ("y ~ t", ("Intercept", "t"), "y ~ 1 + t"),
        (["t"], ("Intercept", "t"), "y ~ 1 + t"),
        ("t", ("Intercept", "t"), "y ~ 1 + t"),
        ("y ~ 0 + t", ("t",), "y ~ 0 + t"),
        ("y ~ t - 1", ("t",), "y ~ 0 + t"),
        (["t", "Intercept"], ("t", "Intercept"), "y ~ 1 + t"),
        ("y ~ C(g)", ("Intercept", "C(g)[T.q]", "C(g)[T.r]"), f"y ~ 1 + {G}"),
        (["C(g)[T.q]"], ("Intercept", "C(g)[T.q]"), None),
        ("y ~ log(x)", ("Intercept", "log(x)"), "y ~ 1 + log(x)"),
    ],
)
def test_submodels_keep_the_intercept(fit: Any, asked: Any, names: Any, formula: Any) -> None:
    small = fit.submodel(asked)
    assert small.names == names
    assert small.formula == formula
    if formula is not None:
        whole = titan.fit(TABLE, formula=formula)
        assert small.params[names[-1]] == pytest.approx(whole.params[names[-1]], rel=1e-12)
        assert small.rsquared == pytest.approx(whole.rsquared, rel=1e-12)


def test_submodels_leave_it_out_when_told(fit: Any) -> None:
    assert fit.submodel(["t"], intercept=False).names == ("t",)
    for wrong in ("z ~ t", "y ~ x", "y ~ nobody", ["nobody"], [1], "y ~ "):
        with pytest.raises(TitanError):
            fit.submodel(wrong)
    with pytest.raises(InputError, match="beside a formula"):
        fit.submodel("y ~ t", intercept=False)


# -- the likelihood of weighted fits ----------------------------------------------------------


@pytest.mark.parametrize("parties", [1, 3])
def test_wls_has_the_likelihood_of_statsmodels(parties: int) -> None:
    api = import_module("statsmodels.formula.api")
    theirs = api.wls("y ~ x + t", TABLE, weights=TABLE["w"]).fit()
    data: Any = TABLE if parties == 1 else [TABLE[i::3] for i in range(3)]
    network = None if parties == 1 else "cycle"
    ours = titan.fit(data, network, formula="y ~ x + t", weights="w")
    for name in ("llf", "aic", "bic"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-12)
        assert ours.to_dict()[f"{name}_error"] < 1e-10
    small = ours.submodel("y ~ x")
    smaller = api.wls("y ~ x", TABLE, weights=TABLE["w"]).fit()
    assert small.llf == pytest.approx(smaller.llf, rel=1e-12)
    assert copied(ours).llf == ours.llf


def test_a_weight_of_zero_has_no_logarithm() -> None:
    table = TABLE.assign(w=TABLE["w"].where(TABLE.index != 5, 0))
    for data, network in ((table, None), ([table[i::3] for i in range(3)], "cycle")):
        assert np.isnan(titan.fit(data, network, formula="y ~ x", weights="w").llf)


def test_in_a_study_logarithms_are_rounded_to_a_public_step() -> None:
    rows = {"x": TABLE["t"].tolist(), "y": (np.arange(N) % 13).tolist()}
    rows["w"] = [str((k % 7 + 2) / 4) for k in range(N)]
    whole = {n: Number.read("0", "20", "1") for n in ("x", "y")}
    parts = {
        f"p{i}": open_source({n: v[20 * i : 20 * i + 20] for n, v in rows.items()})
        for i in range(3)
    }
    truth = titan.fit(
        {n: [float(v) for v in c] for n, c in rows.items()}, formula="y ~ x", weights="w"
    )
    from titan.joint.kinds import Question

    asked = Question("regression", "main", (("formula", "y ~ x"), ("weights", "w")))
    for low, known in (("0.25", True), ("0", False)):
        columns = Dictionary.of({**whole, "w": Number.read(low, "5", "0.25")})
        fit = ask(parts, columns, asked).fit("main")
        assert fit.dropped is None
        assert fit.to_dict()["dropped"] is None
        assert fit.formula == "y ~ 1 + x"
        assert np.isnan(fit.llf) != known
        if known:
            error = fit.to_dict()["llf_error"]
            assert abs(fit.llf - truth.llf) <= error
            assert 1e-8 < error < 3 * 2.0**-20


def test_logarithms_add_up() -> None:
    mpmath = import_module("mpmath")
    numbers = np.array([1, 3, 3, 7, 10**15])
    found = log_weights.log_sum(Column(numbers, -1, -2))
    with mpmath.workprec(200):
        exact = sum(mpmath.log(mpmath.mpf(int(x)) / 50) for x in numbers)
        assert found is not None
        assert abs(found / mpmath.mpf(2) ** 128 - exact) < mpmath.mpf(2) ** -120
    assert log_weights.log_sum(Column(np.array([1.5, 0.0]))) is None


# -- output -----------------------------------------------------------------------------------


def test_html_says_what_the_summary_says_and_escapes_names() -> None:
    named = TABLE.rename(columns={"x": "<script>x</script>"})
    fit = titan.fit(named, response="y", columns=["<script>x</script>", "t"])
    page = fit._repr_html_()
    assert page == fit.as_html()
    assert "<script>" not in page
    assert "&lt;script&gt;x" in page
    import re

    cells = set(re.findall("<td>([^<]*)</td>", page))
    for line in fit.summary().splitlines():
        if line.startswith(("Intercept", "t ")):
            assert set(line.split()) <= cells
    assert fit.as_html(0.1) != page


def test_the_picture_has_a_point_and_an_interval_for_each_coefficient(fit: Any) -> None:
    axes = fit.plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [name for name in fit.names if name != "Intercept"]
    (points,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert points.get_xdata().tolist() == [fit.params[name] for name in labels]
    (bars,) = axes.collections
    ends = [tuple(path.vertices[:, 0]) for path in bars.get_paths()]
    assert ends == [tuple(fit.conf_int()[name]) for name in labels]
    assert [t.get_text() for t in fit.plot(names="t", ax=axes).get_yticklabels()] == ["t"]
    assert "90 %" in fit.plot(0.1, intercept=True).get_xlabel()
    with pytest.raises(TitanError, match="there is no column 'nobody'"):
        fit.plot(names=["nobody"])


def test_the_file_has_the_formula(fit: Any, tmp_path: Path) -> None:
    fit.save(tmp_path / "fit.json")
    state = json.loads((tmp_path / "fit.json").read_text())["results"][0]["state"]
    assert state["formula"] == fit.formula == f"y ~ 1 + log(x) + {G} + t + {G}:t"
    older = {key: value for key, value in state.items() if key not in ("formula", "log_weights")}
    assert type(fit).from_state(older).params == fit.params
    with pytest.raises(ValueError, match="its formula is not that of its columns"):
        type(fit).from_state({**state, "formula": "y ~ x"})


def test_dropped_rows_are_counted_or_null() -> None:
    from titan.joint.pooled_model import RowsPart
    from titan.party.run_to_answer import most_dropped

    parts = [RowsPart("a", None, dropped=2), RowsPart("a", None), object()]  # type: ignore[arg-type]
    assert most_dropped(parts) == 2
    assert most_dropped(parts[1:]) == 0
    assert most_dropped(parts[2:]) is None
    assert titan.fit(TABLE, formula="y ~ x").to_dict()["dropped"] == 0


# -- asked again ------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "w"])
def test_the_line_of_the_hint_asks_for_what_was_missing(weights: str | None) -> None:
    """A result of a study, from its file: the --ask line has all that it takes."""
    columns = {
        "x": Number.read("0", "10", "0.01"),
        "t": Number.read("0", "9", "1"),
        "w": Number.read("0.125", "9", "0.125"),
        "y": Number.read("-9", "9", "0.01"),
    }
    rows = TABLE.assign(y=TABLE["y"].round(2))
    parts = {f"p{i}": open_source(rows[i::3], decimal=True) for i in range(3)}
    known = Dictionary.of(columns)
    options = (("weights", weights),) if weights else ()
    first = Question("regression", "q1", (("formula", "y ~ x + t"), *options))
    loaded = copied(ask(parts, known, first, min_cell=0).fit())
    for kind in ("HC2", "HC3"):
        with pytest.raises(InputError, match="need a sum of their own") as caught:
            loaded.get_robustcov_results(kind)
        option, line = shlex.split(caught.value.hint.partition("of a study ")[2])
        assert option == "--ask"
        again = ask(parts, known, replace(read_question(line), name="q1"), min_cell=0).fit()
        assert again.cov_type == kind
        assert again.weighted == bool(weights)
        assert again.params == loaded.params


def test_a_ridge_predicts_raw_rows_too() -> None:
    whole = titan.fit(TABLE, formula=f"y ~ x + {G} + center(t)")
    for found in (whole.ridge(0), copied(whole.ridge(0))):
        np.testing.assert_allclose(found.predict(TABLE), whole.predict(TABLE), rtol=1e-12)
    own = titan.ridge([TABLE[:30], TABLE[30:]], "cycle", formula="y ~ x", alpha=2.0)
    expected = own.params["Intercept"] + own.params["x"] * TABLE["x"]
    np.testing.assert_allclose(copied(own).predict(TABLE["x"]), expected, rtol=1e-13)


def test_what_people_of_statsmodels_try_first(fit: Any) -> None:
    """No rows, an array of weights, other columns: an error of ours that says what to do."""
    ones: Any = np.ones(N)
    for refused, said in (
        (lambda: fit.predict(), "give a table with x, g, t"),
        (lambda: fit.get_prediction(), "give a table with x, g, t"),
        (lambda: fit.predict({"age": [1], "t": [2]}), 'there are "age", "t"'),
        (lambda: fit.submodel(3), "there are"),
        (lambda: fit.get_robustcov_results(), 'cov_type="HC1" in titan.fit'),
        (lambda: titan.fit(TABLE, formula="y ~ x", weights=ones), 'weights="w"'),
        (lambda: titan.fit(np.ones((5, 2)), formula="y ~ x"), "a mapping of columns"),
        (lambda: titan.fit(TABLE.assign(w=-1), formula="y ~ x", weights="w"), "0 or more"),
        (lambda: titan.fit(TABLE, formula="y ~ log(x - 9)"), "leave it out"),
    ):
        with pytest.raises(InputError) as caught:
            refused()
        assert said in caught.value.hint
