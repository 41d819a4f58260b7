"""Invariant: R², F and df_model are statsmodels', wherever the constant lies among the columns.

It is proven, from the model alone or from the pooled Gram matrix of columns that are 0 or 1.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import ask
from titan.leastsquares.indicators import constant_of_indicators
from titan.leastsquares.pooled import exact
from titan.moments import Model, collect, open_source
from titan.release import Dictionary
from titan.release.dictionary import Flag, Number

N = 90
RNG = np.random.default_rng(2)
AT = np.arange(N)
TABLE: dict[str, Any] = {
    "y": RNG.normal(size=N).round(3),
    "x": RNG.uniform(0, 9, N).round(2),
    "u": RNG.normal(size=N),
    "t": AT % 2,
    "one": np.ones(N),
    "d1": (AT % 3 == 0).astype(int),
    "d2": (AT % 3 == 1).astype(int),
    "d3": (AT % 3 == 2).astype(int),
    "g": np.array(list("pqr"))[RNG.integers(0, 3, N)],
    "h": np.array(list("vw"))[RNG.integers(0, 2, N)],
}
G, H = 'C(g, levels=["p", "q", "r"])', 'C(h, levels=["v", "w"])'
WITH = [
    f"0 + {G}:{H}",
    f"0 + {G} + {H}",
    "0 + I(x ** 0) + x",
    "0 + one + x",
    "0 + t + I(1 - t)",
    "0 + t + I(1 - t) + u",
    "0 + u + I(3 - 2 * u)",
    "0 + d1 + d2 + d3 + x",
]
WITHOUT = ["0 + x + u", "0 + t + x", "0 + d1 + d2 + x", f"0 + {G}:x", "0 + u + I(u ** 2)"]


def statsmodels(right: str, weights: Any = None) -> Any:
    formula = f"y ~ {right}".replace(G, "C(g)").replace(H, "C(h)")
    frame = import_module("pandas").DataFrame(TABLE)
    api = import_module("statsmodels.formula.api")
    return (
        api.ols(formula, frame) if weights is None else api.wls(formula, frame, weights=weights)
    ).fit()


def assert_same(ours: Any, theirs: Any) -> None:
    assert ours.df_model == theirs.df_model
    for name in ("rsquared", "rsquared_adj", "fvalue", "f_pvalue"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-8)


@pytest.mark.parametrize("right", [*WITH, *WITHOUT])
@pytest.mark.parametrize("parties", [1, 3])
def test_as_statsmodels(right: str, parties: int) -> None:
    data: Any = TABLE
    if parties > 1:
        data = [{n: v[i::parties] for n, v in TABLE.items()} for i in range(parties)]
    ours = titan.fit(data, "cycle" if parties > 1 else None, formula=f"y ~ {right}")
    assert (ours.constant is not None) == (right in WITH)
    assert_same(ours, statsmodels(right))


def test_with_weights() -> None:
    weights = 1 + AT % 4
    ours = titan.fit({**TABLE, "w": weights}, formula=f"y ~ 0 + {G}:{H}", weights="w")
    assert_same(ours, statsmodels(f"0 + {G}:{H}", weights))


def test_in_a_study_too() -> None:
    """By the dictionary's flags; a column of ones is a flag that is always set."""
    rows = {n: TABLE[n] for n in ("d1", "d2", "d3", "t")} | {"y": AT % 11}
    known = Dictionary.of(
        {**dict.fromkeys(("d1", "d2", "d3", "t"), Flag()), "y": Number.read("0", "10", "1")}
    )
    thirds = [slice(30 * i, 30 * i + 30) for i in range(3)]
    parts = {f"p{i}": open_source({n: v[s] for n, v in rows.items()}) for i, s in enumerate(thirds)}
    fit = ask(parts, known, "y ~ 0 + d1 + d2 + d3").fit()
    assert fit.constant == {"d1": 1, "d2": 1, "d3": 1}
    fit = ask(parts, known, "y ~ 0 + t + I(1 - t)").fit()
    assert fit.constant == {"t": 1, "I(1 - t)": 1}


def test_columns_that_are_not_0_or_1_prove_nothing() -> None:
    """Σx² may be the number of rows where no x is 1."""
    x = np.array([0, 2] * 2 + [0, 0] * 2)
    own = collect({"x": x, "y": AT[:8]}, Model("y ~ 0 + x")).moments
    assert own.fraction(0, 0) == 8
    assert constant_of_indicators(exact(own), [False]) is None
    assert titan.fit({"x": x, "y": AT[:8]}, formula="y ~ 0 + x").constant is None


@pytest.mark.parametrize(
    ("right", "constant"),
    [
        ("0 + I(2 * x ** 0)", {"I(2 * x ** 0)": Fraction(1, 2)}),
        ("0 + I((x + 1) ** 2) + I(x ** 2) + x", {"I((x + 1) ** 2)": 1, "I(x ** 2)": -1, "x": -2}),
        ("0 + log(x) + I(1 - log(x))", {"log(x)": 1, "I(1 - log(x))": 1}),
        ("0 + poly(x, 2, raw=True) + I(x ** 2 + 5)", None),
        ("0 + x + u", None),
    ],
)
def test_what_a_model_proves(right: str, constant: Any) -> None:
    found = Model(f"y ~ {right}").constant
    if "x ** 2 + 5" in right:  # the powers of a polynomial are columns like others
        constant = {"poly(x, 2, raw=True)[2]": Fraction(-1, 5), "I(x ** 2 + 5)": Fraction(1, 5)}
    assert found == constant
