"""A formula whose categories are known beforehand: names as patsy's, and text that stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titan.errors import FormulaError
from titan.moments import Model, collect

LEVELS = {"sex": ("f", "m"), "site": ("north", "east", "a b"), "one": ("x",)}
FORMULAS = [
    "y ~ sex",
    "y ~ age + sex",
    "y ~ 0 + sex",
    "y ~ 0 + sex + site",
    "y ~ sex * site",
    "y ~ sex:site",
    "y ~ age:sex",
    "y ~ age * site - site",
    "y ~ C(sex) + age",
    "y ~ C(sex) * site",
]
ROWS: dict[str, list[Any]] = {
    "y": [1, 2, 4, 7, 3, 5, 6, 2],
    "age": [30, 41, 52, 33, 44, 61, 29, 50],
    "sex": ["f", "m", "m", "f", "m", "f", "f", "m"],
    "site": ["north", "east", "a b", "east", "north", "a b", "north", "east"],
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_names_and_columns_are_those_of_patsy(formula: str) -> None:
    patsy = pytest.importorskip("patsy")
    import pandas as pd

    data: dict[str, Any] = {"y": ROWS["y"], "age": ROWS["age"]}
    data |= {name: pd.Categorical(ROWS[name], LEVELS[name]) for name in ("sex", "site")}
    _, design = patsy.dmatrices(formula, pd.DataFrame(data))
    model = Model(formula, levels=LEVELS)
    assert set(model.names[:-1]) == set(design.design_info.column_names)
    gram = np.asarray(design).T @ np.asarray(design)
    moments = collect(ROWS, model).moments
    at = [model.names.index(name) for name in design.design_info.column_names]
    ours = [[float(moments.fraction(j, k)) for k in at] for j in at]
    assert np.array_equal(ours, gram)


@pytest.mark.parametrize("formula", FORMULAS)
def test_canonical_text_stands_alone(formula: str) -> None:
    model = Model(formula, levels=LEVELS)
    for levels in ({}, LEVELS):
        again = Model(model.formula, levels=levels)
        assert (again, again.names) == (model, model.names)


def test_what_it_looks_like() -> None:
    model = Model("y ~ age + sex + C(site)", levels=LEVELS)
    assert model.formula == (
        'y ~ 1 + age + sex["f", "m"] + C(site, levels=["north", "east", "a b"])'
    )
    assert model.names[2:4] == ("sex[T.m]", "C(site)[T.east]")
    odd = Model('y ~ Q("the sex")', levels={"the sex": ("f", 'm"')})
    assert odd.names == ("Intercept", 'the sex[T.m"]', "y")
    assert Model(odd.formula).names == odd.names


def test_another_base_may_be_chosen() -> None:
    assert Model('y ~ sex["m", "f"]', levels=LEVELS).names[1] == "sex[T.f]"
    assert Model('y ~ C(sex, levels=["m", "f"])', levels=LEVELS).names[1] == "C(sex)[T.f]"


def test_numbers_as_levels_may_be_written_either_way() -> None:
    known = {"stage": ("1", "2")}
    assert Model("y ~ C(stage, levels=[1, 2])", levels=known).names[1] == "C(stage)[T.2]"
    rows = {"y": [1, 2, 4, 4], "stage": [1, 2, 1, 2]}
    assert collect(rows, Model("y ~ stage", levels=known)).moments.rows == 4


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ('y ~ C(sex, levels=["f", "m", "x"])', "levels of 'sex' are not those that are known"),
        ('y ~ C(sex, levels=["f", "d"])', "levels of 'sex' are not those that are known"),
        ('y ~ sex["f", "d"]', "levels of 'sex' are not those that are known"),
        ("y ~ C(other)", "levels of 'other' are not stated"),
        ("y ~ one", "'one' in the formula has one level only"),
        ("y ~ I(sex ** 2)", "reads 'sex' as a number"),
        ("y ~ log(age + sex)", "reads 'sex' as a number"),
        ("y ~ poly(sex, 2, raw=True)", "reads 'sex' as a number"),
        ("log(sex) ~ age", "reads 'sex' as a number"),
        ("sex ~ age", "one number per row"),
        ('y ~ other["x"]', "at least two different levels"),
        ('y ~ other["x", 1]', "partly text and partly numbers"),
        ('y ~ I(other["x", "y"])', "was expected"),
    ],
)
def test_what_does_not_fit(formula: str, message: str) -> None:
    with pytest.raises(FormulaError) as found:
        Model(formula, levels=LEVELS)
    assert message in found.value.message


def test_weights_are_numbers() -> None:
    with pytest.raises(FormulaError, match="the weights are 'sex', which is a category"):
        Model("y ~ age", weights="sex", levels=LEVELS)


def test_rows_at_a_level_are_counted_by_the_same_name() -> None:
    model = Model("y ~ sex", levels=LEVELS)
    moments = collect(ROWS, model).moments
    diagonal = [moments.fraction(j, j) for j in range(2)]
    assert model.level_counts(diagonal, moments.rows) == {"sex[T.m]": 4, "sex[f]": 4}


def test_of_one_level_the_others_are_to_be_stated() -> None:
    with pytest.raises(FormulaError, match=r"^'one' in the formula has one level only") as refused:
        Model("y ~ one", levels={"one": ("a",)})
    assert "--levels one=a,b" in refused.value.hint
