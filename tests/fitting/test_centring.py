"""Invariant: center(x) is patsy's, follows from sums that are opened anyway, and opens no more.

What cannot follow from the sums of the formula is refused, with a formula that can.
"""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from titan.errors import FormulaError, InputError, TitanError
from titan.joint.kinds import Question
from titan.leastsquares import Regression, RidgePath, Solution
from titan.moments import Model, open_source
from titan.release import Dictionary
from titan.release.dictionary import Category, Number
from titan.results import decode, encode

pd = import_module("pandas")
RNG = np.random.default_rng(19)
N = 90
X = RNG.integers(300, 700, N) / 10
TABLE = pd.DataFrame(
    {
        "x": X,
        "z": RNG.integers(1, 90, N),
        "g": np.array(list("uvw"))[RNG.integers(0, 3, N)],
        "y": RNG.integers(0, 900, N) / 4 + X,
        "w": RNG.integers(1, 5, N),
    }
)
LEVELS = ["u", "v", "w"]
G = 'C(g, levels=["u", "v", "w"])'
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
KINDS: list[Any] = ["nonrobust", "HC0", "HC1", "HC2", "HC3"]
FORMULAS = [
    "center(x)",
    "center(x) + z + G",
    "center(x)*z",
    "center(x)*center(z)",
    "z*center(x)*G",
    "0 + G + center(x)",
    "center(x) + I(center(x)**2) + I(center(x)**3)",
    "center(np.log(x)) + z",
    "z + I(center(x) / 10)",
    "(center(x) + z + G)**2",
    "x + z + center(x):z",
    "center(x + z) + z",
    "G/center(x)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_number_is_that_of_statsmodels(formula: str) -> None:
    ols = import_module("statsmodels.formula.api").ols
    kind = KINDS[FORMULAS.index(formula) % len(KINDS)]
    ours = titan.fit(TABLE, formula=f"y ~ {formula.replace('G', G)}", cov_type=kind)
    theirs = ols(f"y ~ {formula.replace('G', 'C(g)')}", TABLE).fit(cov_type=kind)
    names = list(ours.names)
    assert sorted(names) == sorted(theirs.params.index)
    for one, other in (
        (ours.params, theirs.params[names]),
        (ours.bse, theirs.bse[names]),
        (ours.pvalues, theirs.pvalues[names]),
        (ours.cov_params(), theirs.cov_params().loc[names, names]),
        (ours.conf_int(), theirs.conf_int().loc[names]),
        ([ours.rsquared, ours.llf, ours.df_model], [theirs.rsquared, theirs.llf, theirs.df_model]),
        (ours.predict(TABLE[:7]), theirs.predict(TABLE[:7])),
        (ours.get_prediction(TABLE[:7]).se_obs, theirs.get_prediction(TABLE[:7]).se_obs),
        (ours.f_test(np.eye(len(names))).fvalue, theirs.f_test(np.eye(len(names))).fvalue),
    ):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), **CLOSE)
    means = {"x": TABLE.x, "z": TABLE.z, "np.log(x)": np.log(TABLE.x), "x + z": TABLE.x + TABLE.z}
    for text, centre in ours.centres.items():
        assert float(centre) == pytest.approx(means[text].mean(), rel=1e-14)


def divided() -> list[Any]:
    return [TABLE[i::3] for i in range(3)]


@pytest.mark.parametrize("kind", ["nonrobust", "HC0", "HC3"])
def test_parties_have_the_bounds_of_what_they_pooled(kind: Any) -> None:
    """Rounded sums are still within their proven errors of the exact ones."""
    formula = f"y ~ center(x)*z + {G} + I(center(x)**2)"
    alone = titan.fit(TABLE, formula=formula, cov_type=kind)
    for bits in (64, 128):
        pooled = titan.fit(divided(), "cycle", formula=formula, cov_type=kind, bits=bits)
        for what in ("params", "bse", "tvalues"):
            pairs = zip(getattr(alone, what).enclosures, getattr(pooled, what).enclosures)  # noqa: B905
            assert all(abs(a.mid - b.mid) <= a.rad + b.rad for a, b in pairs), what
        assert 0 < max(pooled.error_bound.values()) < 1e-6
        assert pooled.centres == alone.centres


def test_the_same_penalty_on_the_centred_columns() -> None:
    linear = import_module("sklearn.linear_model")
    x, z = (TABLE[n] - (TABLE[n].mean() if n == "x" else 0) for n in ("x", "z"))
    theirs = linear.Ridge(alpha=50.0).fit(np.column_stack([x, z, x * z]), TABLE.y)
    found = [titan.ridge(divided(), "cycle", formula="y ~ center(x)*z", alpha=50.0)]
    found += [titan.ridge(TABLE, formula="y ~ center(x)*z", alpha=50.0)]
    found += [titan.fit(TABLE, formula="y ~ center(x)*z").ridge(50.0)]
    for ours in found:
        assert tuple(ours.params) == ("Intercept", "center(x)", "z", "center(x):z")
        np.testing.assert_allclose(np.asarray(ours.params)[1:], theirs.coef_, rtol=1e-8)


@pytest.mark.parametrize("kind", ["nonrobust", "HC2"])
def test_it_comes_back_from_its_file(kind: Any) -> None:
    fit = titan.fit(TABLE, formula="y ~ center(x)*z", cov_type=kind)
    for again in (decode(encode(fit))[0], pickle.loads(pickle.dumps(fit))):  # noqa: S301 - our own
        assert again.to_dict() == fit.to_dict()
        np.testing.assert_array_equal(again.predict(TABLE), fit.predict(TABLE))
        np.testing.assert_array_equal(again.cov_params(), fit.cov_params())
    assert fit.to_dict()["centres"] == {"x": float(fit.centres["x"])}
    assert "Centred at the means over all rows: x 5" in fit.summary()


def test_a_file_whose_parts_do_not_belong_together_is_refused() -> None:
    fit = titan.fit(TABLE, formula="y ~ center(x)*z", cov_type="HC0")
    state = fit.to_state()
    other = titan.fit(TABLE, formula="y ~ center(z)*x", cov_type="HC0").to_state()
    mistakes: list[dict[str, Any]] = [
        {"centres": {"x": "1"}},
        {"centres": {}},
        {"centres": {"z": "1"}},
        {"centres": {"x": "1", "z": "1"}},
        {"formula": "y ~ 1 + x + z + x:z"},
        {"robust": other["robust"]},
        {"robust": {k: v for k, v in state["robust"].items() if k != "moments"}},
    ]
    for wrong in mistakes:
        with pytest.raises((ValueError, TitanError)):
            Regression.from_state(state | wrong).bse  # noqa: B018 - it is refused before
    assert Regression.from_state(state).to_state() == state


def test_smaller_models_are_at_the_same_means() -> None:
    ols = import_module("statsmodels.formula.api").ols
    whole = titan.fit(TABLE, formula="y ~ center(x)*z")
    for formula in ("y ~ 0 + center(x)", "y ~ z + center(x):z", "y ~ center(x)"):
        small, theirs = whole.submodel(formula), ols(formula, TABLE).fit()
        np.testing.assert_allclose(np.asarray(small.params), theirs.params, **CLOSE)
        np.testing.assert_allclose(small.predict(TABLE), theirs.predict(TABLE), **CLOSE)
        again = decode(encode(small))[0]
        np.testing.assert_array_equal(again.predict(TABLE), small.predict(TABLE))
    with pytest.raises(InputError, match=r"center\(z\)"):
        whole.submodel("y ~ center(z)")
    assert whole.compare_f_test(whole.submodel("y ~ center(x)")).df_diff == 2
    assert list(whole.anova(2).F)[:2] == ["center(x)", "z"]


# -- in a study -----------------------------------------------------------------------------------

KNOWN = Dictionary.of(
    {
        "x": Number.read("0", "100", "0.1"),
        "z": Number.read("0", "100", "1"),
        "g": Category(("u", "v", "w")),
        "y": Number.read("0", "400", "0.01"),
    }
)


def asked(*questions: Any) -> Ended:
    table = TABLE.drop(columns="w")
    parts = {f"p{i}": open_source(table[i::3], decimal=True) for i in range(3)}
    return ask(parts, KNOWN, *questions)


def question(kind: str, **options: Any) -> Question:
    return Question(kind, "q1", tuple(options.items()))


@pytest.mark.parametrize("kind", ["nonrobust", "HC3"])
def test_a_study_finds_the_means_in_what_it_opened(kind: Any) -> None:
    ended = asked(question("regression", formula="y ~ center(x) + z + g", cov_type=kind))
    alone = titan.fit(
        TABLE,
        formula=f"y ~ center(x) + z + {G}",
        cov_type=kind,
        decimal=True,
    )
    fit = ended.fit()
    assert fit.formula == 'y ~ 1 + center(x) + z + g["u", "v", "w"]'
    assert fit.centres == alone.centres == {"x": sum(map(Fraction, map(str, X))) / N}
    np.testing.assert_allclose(np.asarray(fit.params), np.asarray(alone.params), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(fit.bse), np.asarray(alone.bse), rtol=1e-6)


def test_nothing_more_is_opened_than_without_it() -> None:
    pairs = [("center(x)*z", "x*z"), ("center(x) + g", "x + g"), ("g*center(x)", "g*x")]
    for formula, plain in pairs:
        one, other = (
            asked(question("regression", formula=f"y ~ {text}", cov_type="HC0"))
            for text in (formula, plain)
        )
        first, second = (each.study.meeting.computation("q1") for each in (one, other))
        assert one.opened == other.opened
        assert first.sums == second.sums
        assert first.explanation == second.explanation  # type: ignore[attr-defined]
        assert one.states[0].known.opened.gram == other.states[0].known.opened.gram


def test_the_solution_alone_and_ridges_are_centred_too() -> None:
    solved = asked(question("regression", formula="y ~ center(x)*z", release="solution"))
    answer = solved.states[0].answer
    assert isinstance(answer, Solution)
    assert answer.names == ("Intercept", "center(x)", "z", "center(x):z")
    path = asked(question("ridge", formula="y ~ center(x) + z", alphas=("2", "50"))).states[0]
    assert isinstance(path.answer, RidgePath)
    whole = titan.fit(TABLE, formula="y ~ center(x) + z", decimal=True)
    assert dict(path.answer[1].params) == pytest.approx(dict(whole.ridge(50).params))


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "0 + center(x)",
        "center(x):z",
        "z + center(x):z",
        "I(center(x)**3)",
        "center(x)/z",
        "I(center(x) * center(z))",
        "g:center(x)",
        "center(x):center(z)",
        "z:I(center(x)**2)",
    ],
)
def test_a_hint_has_what_is_missing(formula: str) -> None:
    with pytest.raises(FormulaError, match="does not follow from the sums") as refused:
        Model.pooled(f"y ~ {formula}", levels={"g": LEVELS})
    found = re.fullmatch(r"write ([^;]*)(; fit.submodel\((\".*\")\) then .*)?", refused.value.hint)
    assert found is not None
    whole = titan.fit(TABLE, formula=re.sub(r"\bg\[", "C(g, levels=[", found[1]).replace("]", "])"))
    assert len(whole.names) == len(Model.pooled(found[1]).names) - 1
    if found[2]:
        asked_for = found[3].replace('\\"', '"')[1:-1]
        theirs = import_module("statsmodels.formula.api").ols(f"y ~ {formula}", TABLE).fit()
        small = whole.submodel(asked_for)
        np.testing.assert_allclose(np.asarray(small.rsquared), theirs.rsquared, rtol=1e-9)


@pytest.mark.parametrize(
    ("formula", "said", "followed"),
    [
        ("y ~ log(center(x) + 99)", "inside log", "y ~ log((x - 50) + 99)"),
        ("y ~ I(center(x) > 0)", "inside a comparison", "y ~ I((x - 50) > 0)"),
        ("y ~ I(1 / center(x))", "in a quotient", "y ~ I(1 / (x - 50))"),
        ("y ~ I(center(x) / z)", "in a quotient", "y ~ I((x - 50) / z)"),
        ("y ~ I(center(x) / 3)", "in a quotient", "y ~ I((x - 50) / 3)"),
        ("y ~ center(center(x))", r"inside center", "y ~ center((x - 50))"),
        ("center(y) ~ x", "in the response", "I(y - 50) ~ x"),
        ("y ~ center(x > 5)", "centres what is made of columns", "y ~ center(1 * (x > 5))"),
        ("y ~ x + center(x)", "differ by means only", "y ~ center(x)"),
        ("y ~ scale(x)", "no function 'scale'", "y ~ center(x)"),
    ],
)
def test_where_it_cannot_stand(formula: str, said: str, followed: str) -> None:
    with pytest.raises(FormulaError, match=said) as refused:
        Model.pooled(formula)
    assert refused.value.hint
    assert Model.pooled(followed).names


def test_who_does_not_know_the_mean_refuses() -> None:
    """Weights, generalised models and files of moments: I(x - 50) is what to write."""
    for refused in (
        lambda: titan.fit(TABLE, formula="y ~ center(x)", weights="w"),
        lambda: titan.glm(TABLE, formula="g ~ center(x)"),
        lambda: Model("y ~ center(x)"),
        lambda: Model("y ~ x", offset="center(z)"),
    ):
        with pytest.raises(FormulaError, match="center") as error:
            refused()
        assert "- 50)" in error.value.hint


def test_a_column_may_be_called_center() -> None:
    assert Model.pooled("y ~ center + log").names == ("Intercept", "center", "log", "y")
    assert Model.pooled('y ~ center(Q("my x"))').formula == 'y ~ 1 + center(Q("my x"))'
