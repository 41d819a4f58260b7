"""Formulas that patsy and formulaic both take: here they make the same columns, or a hint helps.

Names are patsy's. (formulaic calls the columns of a comparison, and of Sum without an intercept,
otherwise.) Values are those of float64 arithmetic up to its rounding. The list was written down to
cover what people write with numbers and with categories of known levels, without splines.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from titan.errors import FormulaError
from titan.moments import Model, open_source
from titan.moments.rows import ModelRows

LEVELS = {"g": ("u", "v", "w"), "h": ("p", "q"), "k": ("1", "2", "3")}
ROWS = 40
MADE = "make this column in the data"

TAKEN = [
    "1",
    "a",
    "a + b",
    "a + b + x + z",
    "0 + a",
    "a - 1",
    "-1 + a",
    "0 + a + b",
    "a + 0",
    "+a",
    "(a)",
    "(a + b)",
    "(a + b) + x",
    "(a + 1)",
    "a + (b + x)",
    "a:b",
    "b:a + a",
    "a*b",
    "a*b*x",
    "a*b*x*z",
    "a*b - a",
    "a*b - a:b",
    "a*b - a - b",
    "a*b*x - a:b:x",
    "a + b + a:b",
    "a + a",
    "a:a",
    "a*a",
    "a:b:x",
    "a:b + b:x",
    "(a + b):x",
    "(a + b):(x + z)",
    "(a + b)*x",
    "(a + b)*(x + z)",
    "(a + b + x)**2",
    "(a + b + x)**3",
    "(a + b + x)**2 - a:b",
    "(a + b + x + z)**2",
    "(a + b + g)**2",
    "(a + g + h)**2",
    "(a + g + h)**3 - a:g:h",
    "(a + b)**2 + x",
    "(g + h)**2",
    "(a + b)**5",
    "(a + b):x + (a + b)**2",
    "a/b",
    "a/b/x",
    "a/(b + x)",
    "(a + b)/x",
    "a/b + x",
    "a*b/x",
    "g/h",
    "g/x",
    "h/g",
    "g/(x + a)",
    "(g + h)/x",
    "g/h/x",
    "0 + g/x",
    "g/x - 1",
    "g",
    "h",
    "k",
    "g + h",
    "g + h + k",
    "g + x",
    "a + g + h",
    "0 + g",
    "0 + g + h",
    "g - 1",
    "g + h - 1",
    "g:h",
    "g*h",
    "g*h*k",
    "g:x",
    "g:x + x",
    "x:g",
    "x*g",
    "x*g*h",
    "g*x - x",
    "g*x - g",
    "0 + g:h",
    "0 + g:x",
    "0 + x:g",
    "0 + g*h",
    "0 + g*x",
    "g + g:h",
    "g + g:x",
    "g:h:x",
    "g:h + h",
    "g:h + g",
    "g*h - g",
    "x + g:h",
    "x:g + x:h",
    "x:g:h",
    "0 + g + x:g",
    "g:a:b",
    "a + g:b",
    "g + h + g:h",
    "h:g",
    "C(g)",
    "C(h)",
    "C(k)",
    "C(g) + C(h)",
    "C(g)*C(h)",
    "C(g):x",
    "C(g) + x",
    "0 + C(g)",
    "C(g)*x",
    "C(k) + x",
    "C(k)*g",
    "C(k):x - 1",
    "C(g):C(h)",
    "C(g) + g:x",
    "C(g, Treatment('v'))",
    'C(g, Treatment("w"))',
    "C(g, Treatment('v')) + x",
    "C(g, Treatment('v'))*x",
    "C(g, Treatment('v')):h",
    "0 + C(g, Treatment('v'))",
    "C(g, Treatment(reference='v'))",
    "C(k, Treatment(2))",
    "C(k, Treatment(2))*x",
    "C(k, Treatment(reference=3)) + h",
    "C(g, Sum)",
    "C(g, Sum) + x",
    "C(g, Sum)*x",
    "C(g, Sum)*h",
    "C(g, Sum):h",
    "C(g, Sum) + C(h, Sum)",
    "C(g, Sum)*C(h, Sum)",
    "C(h, Sum)/x",
    "C(k, Sum)",
    "C(g, Sum) + C(k, Treatment(2))",
    "x + x:C(g, Sum)",
    "I(a + b)",
    "I(a - b)",
    "I(a * b)",
    "I(a / b)",
    "I(a / 2)",
    "I(1 / a)",
    "I(x ** 2)",
    "I(x**2) + x",
    "x + I(x ** 2) + I(x ** 3)",
    "I(a / b ** 2)",
    "I((a + b) * x)",
    "I((a + b) / 2)",
    "I((a - b) / (a + b))",
    "I(-a)",
    "I(-a ** 2)",
    "I(2 * a + 3)",
    "I(0.5 * x)",
    "I(1e-3 * x)",
    "I(x * x)",
    "I(a * b * x)",
    "I(a + b):g",
    "I(x ** 2):g",
    "I(x ** 2)*g",
    "I(a - 4)",
    "I(a - 4)*g",
    "I(a - 4):I(b - 4)",
    "I(a / 10) + I(b / 10)",
    "I(x / 3)",
    "I(a) + b",
    "I(abs(x))",
    "I(abs(x - 1) ** 2)",
    "I(np.log(a) / 2)",
    "I(np.log(a) ** 2)",
    "I(a ** 2 / b)",
    "I(3 / (2 + a))",
    "abs(x)",
    "abs(x) + x",
    "abs(x):g",
    "np.abs(x)",
    "np.log(a)",
    "np.log(a + 1)",
    "np.log(a) + np.log(b)",
    "np.log(a)*g",
    "np.log(a):g",
    "np.log(a / b)",
    "np.log(a * b)",
    "np.log2(a)",
    "np.log10(a)",
    "np.log10(a + 1)*h",
    "np.log1p(a)",
    "np.log1p(a) + g",
    "np.exp(x)",
    "np.exp(-x)",
    "np.exp(x / 2)",
    "np.exp(-x ** 2)",
    "np.expm1(x)",
    "np.sqrt(a)",
    "np.sqrt(a)*g",
    "np.sqrt(a + b)",
    "np.sqrt(np.abs(x))",
    "np.log(a) + np.sqrt(b) + np.exp(x)",
    "np.log(a):np.log(b)",
    "np.log(a)*np.log(b)",
    "(np.log(a) + x)**2",
    "np.log(a)/g",
    "I(a * (b > 4))",
    "I(x * (a > 4))",
    "I((a > 4) * (x - 1)) + x",
    "I((x - 1) * (x > 1))",
    "I(1 * (a > 4))",
    "I(1 * (a > 4)) + g",
    "I(1 * (a >= 4)):x",
    "I(1 * (a == 4))",
    "I(1 * (a != 4))",
    "I(1 * (x < 0)) + I(1 * (x <= -1))",
    "I(1 * (a > 4) + 1 * (b > 4))",
    "I(0.5 * ((a > 2) & (b < 5)))",
    "I(2 * ((a > 2) | (b < 5)))",
    "I(x * (a > 2) * (b < 6))",
    "I(a > 4)",
    "I(a > 4) + x",
    "I(a > 4) + g",
    "I(a >= 4) + h",
    "I(x < 0)",
    "I(x <= 0.5)",
    "I(a == 4)",
    "I(a != 4)",
    "I(4 < a)",
    "I(a > b)",
    "I(x > -1)",
    "I(a > 4) + I(b > 4)",
    "I((a > 2) & (a < 6))",
    "I((a > 2) | (b > 5))",
    "I((a > 2) * (a < 6))",
    "I(a / b > 1)",
    "I(np.log(a) > 1)",
    "I(abs(x) > 1)",
    "I(a + b > 9)",
    "I(a ** 2 > 10)",
    "I(a > 4)*x",
    "I(a > 4)*h",
    "I(a > 4):x + x",
    "center(a)",
    "center(a) + b",
    "center(a)*g",
    "center(a)*center(b)",
    "center(x):z + x + z",
    "center(np.log(a)) + x",
    "center(x) + I(center(x) ** 2)",
    "0 + g + center(a)",
]

REFUSED = {
    # what is refused: words of the hint, and a formula that follows it
    "x**2": ("I(x ** 2)", "I(x ** 2)"),
    "a**1": ("leave the power out", "a"),
    "g**2": ("leave the power out", "g"),
    "0 + center(a)": ("y ~ 1 + center(a)", "1 + center(a)"),
    "center(a):b": ("+ center(a):b", "1 + center(a) + b + center(a):b"),
    "scale(a)": ("write center(a)", "center(a)"),
    "a - b": ("leave out what is not there", "a"),
    "I(a // 2)": (MADE, "half"),
    "I(a % 2)": (MADE, "odd"),
    "I(a ** 0.5)": ("sqrt(x)", "sqrt(a)"),
    "np.sin(x)": (MADE, "sine"),
    "np.cos(x)": (MADE, "cosine"),
    "np.tanh(x)": (MADE, "tanh"),
    "np.floor(a / 2)": (MADE, "half"),
    "np.sign(x)": (MADE, "sign"),
    "np.maximum(a, b)": (MADE, "larger"),
    "np.square(a)": ("I(a ** 2)", "I(a ** 2)"),
    "np.power(a, 2)": ("I(a ** 2)", "I(a ** 2)"),
    "np.where(a > 4, 1, 0)": ("I(a > 5)", "I(a > 4)"),
    "I(g == 'u')": ("C(g)", "C(g)"),
    "C(g, Helmert)": ("C(g, Sum)", "C(g, Sum)"),
    "C(g, Poly)": ("C(g, Sum)", "C(g, Sum)"),
    "C(g, Diff)": ("C(g, Sum)", "C(g, Sum)"),
    "I((a > 2) + (b > 5))": ("(a > 1) | (b > 1)", "I((a > 2) | (b > 5))"),
    "C(a > 4)": ("I(x > 5)", "I(a > 4)"),
    "C(I(a > 4))": ("I(x > 5)", "I(a > 4)"),
}


@cache
def data() -> Any:
    import pandas as pd

    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "y": rng.integers(1, 50, ROWS) / 4,
        "a": rng.integers(1, 9, ROWS),
        "b": rng.integers(1, 9, ROWS) + 0.5,
        "x": rng.integers(-40, 40, ROWS) / 8,
        "z": rng.integers(1, 100, ROWS) / 16,
    }
    given: list[tuple[str, list[Any]]] = [("g", [*"uvw"]), ("h", [*"pq"]), ("k", [1, 2, 3])]
    for name, levels in given:
        columns[name] = pd.Categorical(rng.choice(levels, ROWS), levels)
    return pd.DataFrame(columns)


def centres() -> dict[str, Fraction]:
    means = {name: data()[name] for name in ("a", "b", "x")} | {"np.log(a)": np.log(data()["a"])}
    return {name: Fraction(float(column.mean())) for name, column in means.items()}


def ours(formula: str) -> dict[str, Any]:
    """Of what is centred: once the mean is known, as patsy knows it."""
    model = Model(f"y ~ {formula}", levels=LEVELS, centres=centres())
    [block] = open_source(data()).batches(model.columns_needed)
    batch, _ = ModelRows(model).batch(block)
    assert batch is not None
    values = [[float(value) for value in column.fractions()] for column in batch.columns]
    return dict(zip(model.names[:-1], values, strict=False))


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(set(TAKEN)) == len(TAKEN) >= 170
    assert len(TAKEN) + len(REFUSED) >= 200
    assert not set(TAKEN) & set(REFUSED)


def test_names_and_values_are_those_of_patsy() -> None:
    patsy = pytest.importorskip("patsy")
    for formula in TAKEN:
        design = patsy.dmatrix(formula, data())
        theirs = dict(zip(design.design_info.column_names, np.asarray(design).T, strict=True))
        found = ours(formula)
        assert found.keys() == theirs.keys(), formula
        for name, values in theirs.items():
            atol = 1e-13 if "center" in name else 0
            assert np.allclose(found[name], values, rtol=1e-14, atol=atol), (formula, name)


def test_both_libraries_take_them() -> None:
    """Of those taken here every eighth, for the time it takes; all of them were tried once."""
    patsy, formulaic = pytest.importorskip("patsy"), pytest.importorskip("formulaic")
    for formula in [*TAKEN[::8], *REFUSED]:
        patsy.dmatrix(formula, data())
        formulaic.model_matrix(formula, data(), context={"np": np})


@pytest.mark.parametrize("formula", REFUSED)
def test_a_hint_works_when_it_is_followed(formula: str) -> None:
    words, followed = REFUSED[formula]
    with pytest.raises(FormulaError) as refused:
        Model.pooled(f"y ~ {formula}", levels=LEVELS)
    assert words in refused.value.hint
    assert Model.pooled(f"y ~ {followed}", levels=LEVELS).names


def test_the_one_form_reads_back() -> None:
    for formula in TAKEN:
        model = Model.pooled(f"y ~ {formula}", levels=LEVELS)
        again = Model.pooled(model.formula)
        assert (again, again.names) == (model, model.names)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("g*x", {"Intercept": 1, "g": 2, "x": 1, "g:x": 2}),
        ("0 + C(g, Sum) + I(a > 4)", {"C(g, Sum)": 3, "I(a > 4)": 1}),
        ("poly(x, 3, raw=True)", {"Intercept": 1, "poly(x, 3, raw=True)": 3}),
    ],
)
def test_which_columns_belong_to_which_term(formula: str, terms: dict[str, int]) -> None:
    model = Model(f"y ~ {formula}", levels=LEVELS)
    found = model.columns_by_term
    assert {term: len(names) for term, names in found.items()} == terms
    assert [name for names in found.values() for name in names] == [*model.names[:-1]]


# -- as people write who come from R or statsmodels ---------------------------------------------

HABITS = {
    # what is written: words of the hint, and a formula that follows it
    "y ~ as.factor(g)": ('C(g, levels=["a", "b"])', 'y ~ C(g, levels=["u", "v", "w"])'),
    "y ~ factor(g)": ('C(g, levels=["a", "b"])', 'y ~ C(g, levels=["u", "v", "w"])'),
    "y ~ relevel(g, 'v')": ('Treatment("b")', 'y ~ C(g, Treatment("v"), levels=["u", "v"])'),
    "y ~ interaction(x, z)": ("x:z", "y ~ x:z"),
    "y ~ ifelse(x > 5, 1, 0)": ("I(x > 5)", "y ~ I(x > 5)"),
    "y ~ cut(x, 3)": ("I(x > 5) + I(x > 7)", "y ~ I(x > 5) + I(x > 7)"),
    "y ~ pd.cut(x, 3)": ("I(x > 5) + I(x > 7)", "y ~ I(x > 5) + I(x > 7)"),
    "y ~ numpy.log(a)": ("np.log(…) or log(…)", "y ~ np.log(a)"),
    "y ~ x.diff()": ("make this column", "y ~ x"),
    "y ~ a.b": ("`a.b`", "y ~ `a.b`"),
    "y ~ my x": ("backquotes", "y ~ `my x`"),
    "y ~ x + (1 | k)": ("C(group) has fixed effects", 'y ~ x + C(k, levels=["1", "2"])'),
    "y = x": ("y ~ a + b", "y ~ x"),
    "y + x ~ z": ("inside I(…)", "I(y + x) ~ z"),
    "y ~ x \u2212 1": ("the keyboard is -", "y ~ x - 1"),
    "y ~ C(g, levels=[\u201cu\u201d])": ("quotes of the keyboard", 'y ~ C(g, levels=["u", "v"])'),
    "y ~ x['a']": ("x by itself is the column", "y ~ x"),
}


@pytest.mark.parametrize("formula", HABITS)
def test_habits_from_elsewhere_are_told_what_to_write(formula: str) -> None:
    words, followed = HABITS[formula]
    with pytest.raises(FormulaError) as refused:
        Model.pooled(formula)
    assert words in refused.value.hint
    assert Model.pooled(followed).names
