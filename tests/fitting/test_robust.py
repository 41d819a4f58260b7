"""Invariant: HC0 and clustered errors are statsmodels', from one further private sum."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from tests.batches import scores
from tests.leastsquares.systems import Problem, nist
from titan.errors import DataError, NotPrivateError, PlanError
from titan.leastsquares import Ball, Regression
from titan.leastsquares.robust import RING_BITS, Agreed
from titan.moments import Model, collect
from titan.moments.collecting import summed_score
from titan.results import decode, encode
from titan_lab import datasets

api = import_module("statsmodels.api")

Kind = Literal["HC0", "HC1", "HC2", "HC3", "cluster"]
NET = titan.Network.cycle(5)
ROWS, PARTIES = 60, 5
GROUPS = np.arange(ROWS) % PARTIES


def table() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    a, b, noise = rng.normal(size=(3, ROWS))
    y = 1 + 2 * a + 0.3 * b + (1 + np.abs(b)) * noise + GROUPS / 3
    return {"y": y, "a": a, "b": b, "w": rng.random(ROWS)}


def parts(data: dict[str, Any], m: int = PARTIES) -> list[dict[str, Any]]:
    return [{name: values[i::m] for name, values in data.items()} for i in range(m)]


def statsmodels(data: dict[str, Any], kind: Kind, intercept: bool, weights: str | None) -> Any:
    A = np.column_stack([data["a"], data["b"]])
    A = api.add_constant(A) if intercept else A
    model = api.WLS(data["y"], A, weights=data["w"]) if weights else api.OLS(data["y"], A)
    if kind != "cluster":
        return model.fit(cov_type=kind)
    return model.fit(cov_type="cluster", cov_kwds={"groups": GROUPS})


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "cluster"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, "w"])
def test_as_statsmodels(kind: Kind, intercept: bool, weights: str | None) -> None:
    data = table()
    theirs = statsmodels(data, kind, intercept, weights)
    ours = titan.fit(
        parts(data),
        NET,
        response="y",
        columns=["a", "b"],
        intercept=intercept,
        weights=weights,
        cov_type=kind,
    )
    for name in (
        "params", "bse", "tvalues", "pvalues", "fvalue", "f_pvalue", "rsquared", "rsquared_adj",
        "scale", "df_resid",
    ):  # fmt: skip
        expected = getattr(theirs, name)
        np.testing.assert_allclose(np.asarray(getattr(ours, name)), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), rtol=1e-9, atol=1e-15)
    for alpha in (0.05, 0.3):
        limits = list(ours.conf_int(alpha).values())
        np.testing.assert_allclose(limits, theirs.conf_int(alpha), rtol=1e-9)


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_presented_as_statsmodels_does(kind: Kind) -> None:
    fit = titan.fit(parts(table()), NET, formula="y ~ a + b", cov_type=kind)
    text = fit.summary()
    assert "P>|z|" in text
    assert any(f"Covariance Type: {kind:>21}" in line for line in text.splitlines())
    assert "Robust errors are proven" in text
    as_json = json.loads(json.dumps(fit.to_dict()))
    assert as_json["cov_type"] == kind
    assert as_json["bse"]["a"] == fit.bse["a"]
    assert fit.submodel(["Intercept", "a"]).cov_type == "nonrobust"
    plain = titan.fit(parts(table()), NET, formula="y ~ a + b")
    assert "P>|t|" in plain.summary()
    assert "robust" not in plain.summary().replace("nonrobust", "")


def test_one_table_needs_no_sum() -> None:
    data = table()
    theirs = statsmodels(data, "HC0", True, None)
    ours = titan.fit(data, formula="y ~ a + b", cov_type="HC0")
    assert ours.cost is None
    np.testing.assert_allclose(np.asarray(ours.bse), theirs.bse, rtol=1e-12)


# -- the sum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_one_further_sum_is_counted_and_the_bits_are_the_same(kind: Kind) -> None:
    data, network = parts(table()), titan.Network.complete(PARTIES)
    plain = titan.fit(data, network, formula="y ~ a + b", recovery="flood")
    first = titan.fit(data, network, formula="y ~ a + b", recovery="flood", cov_type=kind)
    assert plain.cost.rounds // 2 * 3 == first.cost.rounds
    assert first.cost.bytes_sent.total > plain.cost.bytes_sent.total
    for choices in (
        {"recovery": "tree"},
        {"recovery": "topk", "k": 2},
        {"engine": "vectorised"},
        {"masks": "seeded"},
    ):
        again = titan.fit(data, network, formula="y ~ a + b", cov_type=kind, **choices)
        assert np.array_equal(again.cov_params(), first.cov_params())
        assert again.fvalue == first.fvalue


@st.composite
def sites(draw: st.DrawFn) -> list[dict[str, list[float]]]:
    """Two or three parties' rows, of very different sizes."""
    numbers = st.floats(-1, 1).map(lambda x: x or 1.0)
    size = st.sampled_from([1e-20, 1.0, 3e7])
    found = []
    for _ in range(draw(st.integers(2, 3))):
        rows, by = draw(st.integers(2, 4)), draw(size)
        lists = [draw(st.lists(numbers, min_size=rows, max_size=rows)) for _ in range(3)]
        found.append({"y": [by * v for v in lists[0]], "a": lists[1], "b": lists[2]})
    return found


@given(sites(), st.sampled_from(["HC0", "cluster"]))
@settings(max_examples=40)
def test_the_pooled_meat_fits_its_scale(sites: list[dict[str, list[float]]], kind: Kind) -> None:
    """No entry is larger than the residual sum of squares; and both meats against fractions."""
    model = Model("y ~ a + b - 1")
    try:
        fit = titan.fit(sites, titan.Network.complete(len(sites)), formula=model.formula)
    except titan.TitanError:
        return  # dependent columns
    if fit.exact_fit:
        return
    agreed = Agreed.of(fit.moments, 128)
    x = list(agreed.x)
    if kind == "HC0":
        meats = [scores(site, model, x) for site in sites]
    else:
        meats = [summed_score(collect(site, model).moments, x) for site in sites]
    for j in range(2):
        for k in range(2):
            pooled = sum((meat.fraction(j, k) for meat in meats), Fraction(0))
            assert pooled == sum(expected_meat(site, x, kind)[j][k] for site in sites)
    codes = [agreed.whitening.of_moments(meat, agreed.unit) for meat in meats]
    most = 2 * agreed.residual_sum / agreed.unit
    assert max(abs(sum(entry)) for entry in zip(*codes, strict=True)) <= most
    assert most <= 2 ** (128 + RING_BITS - 1)


def expected_meat(
    site: dict[str, list[float]], x: list[Fraction], kind: Kind
) -> list[list[Fraction]]:
    vectors = []
    for row in zip(site["y"], site["a"], site["b"], strict=True):
        y, *a = map(Fraction, row)
        e = y - sum(v * c for v, c in zip(a, x, strict=True))
        vectors.append([e * v for v in a])
    if kind == "cluster":
        vectors = [[sum(column, Fraction(0)) for column in zip(*vectors, strict=True)]]
    return [[sum((v[j] * v[k] for v in vectors), Fraction(0)) for k in range(2)] for j in range(2)]


def exact_hc0(problem: Problem) -> list[float]:
    """Standard errors by rational arithmetic: the dumb way."""
    n, x = len(problem.names), problem.solution()
    squares = [
        (b - sum(u * v for u, v in zip(row, x, strict=True))) ** 2
        for row, b in zip(problem.A, problem.b, strict=True)
    ]
    scaled = [[e * v for v in row] for e, row in zip(squares, problem.A, strict=True)]
    meat = [
        [sum(u[j] * v[k] for u, v in zip(scaled, problem.A, strict=True)) for k in range(n)]
        for j in range(n)
    ]
    B, M = (
        flint.fmpq_mat([[flint.fmpq(v.numerator, v.denominator) for v in row] for row in matrix])
        for matrix in (problem.gram(), [[Fraction(v) for v in row] for row in meat])
    )
    V = B.inv() * M * B.inv()
    return [math.sqrt(Fraction(int(V[j, j].p), int(V[j, j].q))) for j in range(n)]


@pytest.mark.parametrize(("name", "degree"), [("Filip", 10), ("Wampler5", 5), ("Norris", 1)])
def test_hard_problems(name: str, degree: int) -> None:
    """Where float64 has no correct digit to give."""
    expected = exact_hc0(nist(name)[0])
    data = datasets.path(name)
    fit = titan.fit(data, formula=f"y ~ poly(x, {degree}, raw=True)", cov_type="HC0")
    np.testing.assert_allclose(np.asarray(fit.bse), expected, rtol=1e-12)
    assert math.isfinite(fit.fvalue)


# -- edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_an_exact_fit_has_no_errors_and_no_further_sum(kind: Kind) -> None:
    data = [{"y": [1.1, 3.1, 5.1], "a": [1, 2, 3]}, {"y": [9.1, 7.1], "a": [5, 4]}]
    how: dict[str, Any] = {"formula": "y ~ a", "decimal": True, "allow_small": True}
    fit = titan.fit(data, titan.Network.cycle(2), **how, cov_type=kind)
    plain = titan.fit(data, titan.Network.cycle(2), **how)
    assert fit.exact_fit
    assert set(fit.bse.values()) == {0.0}
    assert fit.fvalue == math.inf
    assert fit.cost == plain.cost
    assert f"{kind}" in fit.summary()
    assert fit.to_dict()["fvalue"] is None


def test_two_clusters_cannot_test_two_coefficients() -> None:
    """The scores of G parties add up to zero: the covariance has rank G − 1."""
    data = parts(table(), 3)
    network = titan.Network.cycle(3)
    fit = titan.fit(data, network, formula="y ~ a + b", cov_type="cluster")
    assert math.isfinite(fit.fvalue)
    two = titan.fit(
        parts(table(), 2), titan.Network.cycle(2), formula="y ~ a + b", cov_type="cluster"
    )
    assert math.isnan(two.fvalue)
    assert math.isnan(two.f_pvalue)
    assert min(two.bse.values()) > 0


def test_f_is_not_defined_where_a_residual_must_be_zero() -> None:
    """A column for one row alone: that row has no residual, and the meat no full rank."""
    data = table()
    data["a"] = np.eye(ROWS)[3] / 3
    more: dict[str, Any] = {"cov_type": "HC0", "allow_small": True}
    fit = titan.fit(parts(data), NET, formula="y ~ a + b - 1", **more)
    assert math.isnan(fit.fvalue)
    assert min(fit.bse.values()) > 0
    theirs = statsmodels(data, "HC0", True, None)
    ours = titan.fit(parts(data), NET, formula="y ~ a + b", **more)
    assert ours.fvalue == pytest.approx(theirs.fvalue, rel=1e-9)  # two of rank two


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
def test_a_row_of_leverage_one_has_no_hc2_nor_hc3(kind: Kind) -> None:
    """Its residual is 0 and so is 1 − h; a leverage of 0.999 is still fine."""
    data = table()
    data["a"] = np.eye(ROWS)[3] / 3
    with pytest.raises(DataError, match=f"row 3.*{kind} is not defined") as caught:
        titan.fit(data, formula="y ~ a + b", cov_type=kind)
    assert "HC1" in caught.value.hint
    data["a"] = data["a"] + np.linspace(0, 1e-3, ROWS)
    ours = titan.fit(data, formula="y ~ a + b", cov_type=kind)
    theirs = statsmodels(data, kind, True, None)
    np.testing.assert_allclose(np.asarray(ours.bse), theirs.bse, rtol=1e-7)
    pairs = zip(ours.bse.enclosures, theirs.bse, strict=True)
    assert all(isinstance(ball, Ball) and ball.digits >= 8 for ball, _ in pairs)


def test_a_constant_of_several_columns_leaves_f_open() -> None:
    """As in statsmodels."""
    data = table() | {"g": ["uv"[i % 4 // 2] for i in range(ROWS)]}
    formula = "y ~ C(g, levels=['u', 'v']) + a - 1"
    fit = titan.fit(data, formula=formula, cov_type="HC0")
    A = np.column_stack([[g == "u" for g in data["g"]], [g == "v" for g in data["g"]], data["a"]])
    theirs = api.OLS(data["y"], A.astype(float)).fit(cov_type="HC0")
    np.testing.assert_allclose(np.asarray(fit.bse), theirs.bse, rtol=1e-9)
    assert math.isnan(fit.fvalue)
    assert math.isnan(theirs.fvalue)


def test_clusters_are_refused_where_tau_parties_could_tell_the_others_apart() -> None:
    network = titan.Network.cycle(3)
    with pytest.raises(NotPrivateError, match="3 parties, 1 of them could work out"):
        titan.fit(parts(table(), 3), network, formula="y ~ a", cov_type="cluster", tau=1)
    how: dict[str, Any] = {"formula": "y ~ a", "cov_type": "cluster", "tau": 1}
    with pytest.raises(NotPrivateError, match="4 parties, 1 of them could work out"):
        titan.fit(parts(table(), 4), titan.Network.cycle(4), **how)
    titan.fit(parts(table(), 4), titan.Network.cycle(4), **how, allow_small=True)
    titan.fit(parts(table(), 5), titan.Network.cycle(5), **how)


def test_clusters_need_parties() -> None:
    with pytest.raises(PlanError, match="at least 2 parties"):
        titan.fit(table(), formula="y ~ a", cov_type="cluster")


def test_unknown_errors_are_refused() -> None:
    with pytest.raises(PlanError, match="HC9"):
        titan.fit(table(), formula="y ~ a", cov_type="HC9")  # type: ignore[arg-type]


def test_rows_that_change_between_the_readings(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("y,a\n1,2\n3,5\n4,4\n" + "2,3\n" * 7)

    def grow(*_: object) -> None:
        with file.open("a") as rows:
            rows.write("5,5\n")

    with pytest.raises(DataError, match="when read again"):
        titan.fit(
            [file] * 2, titan.Network.cycle(2), formula="y ~ a", cov_type="HC0", progress=grow,
            allow_small=True,
        )  # fmt: skip


def test_dropped_rows_are_dropped_again() -> None:
    data = table()
    with_gap = {name: np.append(values, np.nan) for name, values in data.items()}
    fit = titan.fit(with_gap, formula="y ~ a + b", cov_type="HC0", missing="drop")
    assert isinstance(fit, Regression)
    assert dict(fit.bse) == dict(titan.fit(data, formula="y ~ a + b", cov_type="HC0").bse)


def test_errors_beyond_the_largest_double_are_infinite() -> None:
    """As the coefficient itself: what is shown of it is null, and the file holds it."""
    table = {"y": [1e200, 2e200, 5e200, 4e200], "a": [1e-200, 2e-200, 3e-200, 4e-200]}
    fit = titan.fit(table, formula="y ~ a", cov_type="HC0")
    assert math.isinf(fit.params["a"])
    assert math.isinf(fit.bse["a"])
    assert math.isfinite(fit.bse["Intercept"])
    assert fit.to_dict()["bse"]["a"] is None
    assert decode(encode(fit))[0].to_dict() == fit.to_dict()
