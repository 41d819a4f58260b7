"""Invariant: Σ w a aᵀ is exact, and a weighted fit is statsmodels' WLS on all rows together."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import titan
from titan.errors import DataError
from titan.leastsquares import Regression
from titan.moments import Column, Moments
from titan.moments.gram import weighted

api = import_module("statsmodels.api")

NET = titan.Network.cycle(3)

integers = st.integers(-(2**70), 2**70) | st.integers(-9, 9)
floats = st.floats(-1e30, 1e30) | st.sampled_from([0.0, 0.1, -2.5])


@st.composite
def columns(draw: st.DrawFn, rows: int, least: int | None = None) -> Column:
    """int64, Python integers or floats, in any unit."""
    if draw(st.booleans()):
        array = np.array(draw(st.lists(floats, min_size=rows, max_size=rows)), np.float64)
        array = array if least is None else np.abs(array)
        return Column(array)
    numbers = [
        n if least is None else abs(n)
        for n in draw(st.lists(integers, min_size=rows, max_size=rows))
    ]
    return Column.of_integers(numbers, draw(st.integers(-4, 4)), draw(st.integers(-4, 4)))


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[list[Column], Column]]:
    n = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    return [
        ([draw(columns(rows)) for _ in range(n)], draw(columns(rows, least=0))) for rows in sizes
    ]


@given(batches())
def test_weighted_moments_are_the_fractions(batches: list[tuple[list[Column], Column]]) -> None:
    n = len(batches[0][0])
    names = [f"c{j}" for j in range(n)]
    moments = Moments.zero(names)
    for batch, weights in batches:
        moments = moments + weighted(names, batch, weights)
    assert moments.rows == sum(len(weights) for _, weights in batches)
    for j in range(n):
        for k in range(n):
            expected = sum(
                w * a * b
                for batch, weights in batches
                for w, a, b in zip(
                    weights.fractions(),
                    batch[j].fractions(),
                    batch[k].fractions(),
                    strict=True,
                )
            )
            assert moments.fraction(j, k) == expected


@pytest.mark.parametrize("at", ["column", "weight"])
def test_an_infinite_number_is_refused(at: str) -> None:
    bad, good = Column(np.array([1.0, np.inf])), Column(np.array([1.0, 2.0]))
    column, weights = (bad, good) if at == "column" else (good, bad)
    with pytest.raises(DataError, match='"a"' if at == "column" else '"weights"'):
        weighted(["a"], [column], weights)


def test_as_many_weights_as_rows() -> None:
    with pytest.raises(DataError, match="3 weights for 2 rows"):
        weighted(["a"], [Column(np.ones(2))], Column(np.ones(3)))


# -- the fit ----------------------------------------------------------------------------------


def table(rows: int = 40, seed: int = 7) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, rows))
    weights = np.round(rng.random(rows), 2)
    weights[::7] = 0
    return {"y": 1 + 2 * a - b + rng.normal(size=rows), "a": a, "b": b, "w": weights}


def thirds(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: values[i::3] for name, values in data.items()} for i in range(3)]


@pytest.mark.parametrize("intercept", [True, False])
def test_wls_of_statsmodels(intercept: bool) -> None:
    data = table()
    A = np.column_stack([data["a"], data["b"]])
    A = api.add_constant(A) if intercept else A
    theirs = api.WLS(data["y"], A, weights=data["w"]).fit()
    ours = titan.fit(
        thirds(data), NET, response="y", columns=["a", "b"], intercept=intercept, weights="w",
        allow_small=True,
    )  # fmt: skip
    for name in (
        "params", "bse", "tvalues", "pvalues", "rsquared", "rsquared_adj", "fvalue", "f_pvalue",
        "scale", "nobs", "df_resid", "df_model",
    ):  # fmt: skip
        expected = getattr(theirs, name)
        np.testing.assert_allclose(np.asarray(getattr(ours, name)), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params(), rtol=1e-9)
    assert "WLS Regression Results" in ours.summary()


def test_equal_weights_change_only_the_scale() -> None:
    data = table() | {"w": np.full(40, 4.0)}
    plain = titan.fit(thirds(data), NET, formula="y ~ a + b")
    four = titan.fit(thirds(data), NET, formula="y ~ a + b", weights="w")
    assert four.scale == pytest.approx(4 * plain.scale, rel=1e-15)
    assert dict(four.params) == pytest.approx(dict(plain.params), rel=1e-15)


def exact_slope(parts: list[str]) -> Fraction:
    rows = [list(map(Fraction, line.split(","))) for part in parts for line in part.split()]
    over = sum((w * a * y for y, a, w in rows), Fraction(0))
    return over / sum((w * a * a for _, a, w in rows), Fraction(0))


def test_decimal_weights_are_decimals(tmp_path: Path) -> None:
    """0.1 in a CSV is a tenth, also as a weight."""
    texts = ["1,2,0.1 3,1,0.7", "4,5,1.25 2,2,0", "7,1,0.3 1,1,1e-3"]
    for party, text in zip(NET.parties, texts, strict=True):
        (tmp_path / f"{party}.csv").write_text("y,a,w\n" + text.replace(" ", "\n") + "\n")
    files = {party: tmp_path / f"{party}.csv" for party in NET.parties}
    fit = titan.fit(files, NET, formula="y ~ a - 1", weights="w", allow_small=True)
    ball = fit.params.enclosures[0]
    assert not isinstance(ball, float)
    assert abs(ball.mid - exact_slope(texts)) <= ball.rad < Fraction(1, 10**30)


def test_a_party_may_weigh_nothing() -> None:
    parts = thirds(table())
    parts[1]["w"] = np.zeros_like(parts[1]["w"])
    both = {name: np.concatenate([parts[0][name], parts[2][name]]) for name in parts[0]}
    ours = titan.fit(parts, NET, formula="y ~ a", weights="w", allow_small=True)
    alone = titan.fit(both, formula="y ~ a", weights="w")
    assert dict(ours.params) == dict(alone.params)


def test_weights_that_are_all_zero() -> None:
    data = table() | {"w": np.zeros(40)}
    with pytest.raises(DataError, match="every weight is zero"):
        titan.fit(thirds(data), NET, formula="y ~ a", weights="w", allow_small=True)


def test_a_negative_weight_is_refused() -> None:
    data = table()
    data["w"][11] = -1.0
    with pytest.raises(DataError, match=r'the table of .*row 3.*"w": a negative weight'):
        titan.fit(thirds(data), NET, formula="y ~ a", weights="w")


def test_names_like_our_own_do_not_clash() -> None:
    data = table()
    data["weighted y"] = data.pop("b")
    columns = ["a", "weighted y"]
    fit = titan.fit(thirds(data), NET, response="y", columns=columns, weights="w", allow_small=True)
    assert isinstance(fit, Regression)
    assert list(fit.params) == ["Intercept", "a", "weighted y"]
