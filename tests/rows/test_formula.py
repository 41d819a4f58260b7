"""A formula says what its grammar can say, exactly, and nothing else; hostile ones are refused."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import FormulaError
from titan.moments import expressions, formula
from titan.moments.columns import Column
from titan.moments.expressions import Apply, Binary, Expression, Name, Negate, Number, Power
from titan.moments.model import Model
from titan.moments.terms import Numeric

S = 'C(s, levels=["u", "v", "w"])'
T = "C(t, levels=['p','q'])"


# -- what formulas mean -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y ~ a + b", ["Intercept", "a", "b", "y"]),
        ("y ~ a + b - 1", ["a", "b", "y"]),
        ("y ~ 0 + a", ["a", "y"]),
        ("y ~ 1", ["Intercept", "y"]),
        ("log(y) ~ a*b", ["Intercept", "a", "b", "a:b", "log(y)"]),
        ("y ~ a*b - a", ["Intercept", "b", "a:b", "y"]),
        ("y ~ (a + b):c", ["Intercept", "a:c", "b:c", "y"]),
        ("y ~ a + a + b:a + a:b", ["Intercept", "a", "b:a", "y"]),
        ("y ~ I(x**2) + sqrt(2*x+1)", ["Intercept", "I(x ** 2)", "sqrt(2 * x + 1)", "y"]),
        ("y~poly(x,2,raw=True)", ["Intercept", "poly(x, 2, raw=True)[1]",
                                  "poly(x, 2, raw=True)[2]", "y"]),
        ("y ~ `max rate` + Q('a.b')", ["Intercept", "max rate", "a.b", "y"]),
        (f"y ~ {S}", ["Intercept", "C(s)[T.v]", "C(s)[T.w]", "y"]),
        (f"y ~ 0 + {S}", ["C(s)[u]", "C(s)[v]", "C(s)[w]", "y"]),
        ("y ~ C(k, levels=[-1, 2.5])", ["Intercept", "C(k)[T.2.5]", "y"]),
        # As patsy codes them: every level where the base is not spanned yet.
        (f"y ~ a:{T}", ["Intercept", "a:C(t)[p]", "a:C(t)[q]", "y"]),
        (f"y ~ a*{T}", ["Intercept", "a", "C(t)[T.q]", "a:C(t)[T.q]", "y"]),
        (f"y ~ a:{T} + a", ["Intercept", "a:C(t)[T.q]", "a", "y"]),
        (f"y ~ {S}:{T}", ["Intercept", "C(t)[T.q]", "C(s)[T.v]:C(t)[p]", "C(s)[T.w]:C(t)[p]",
                          "C(s)[T.v]:C(t)[q]", "C(s)[T.w]:C(t)[q]", "y"]),
        (f"y ~ 0 + {T}:{S}", ["C(t)[p]:C(s)[u]", "C(t)[q]:C(s)[u]", "C(t)[p]:C(s)[v]",
                              "C(t)[q]:C(s)[v]", "C(t)[p]:C(s)[w]", "C(t)[q]:C(s)[w]", "y"]),
        (f"y ~ 0 + {S} + {T}", ["C(s)[u]", "C(s)[v]", "C(s)[w]", "C(t)[T.q]", "y"]),
    ],
)  # fmt: skip
def test_names_of_the_columns(text: str, names: list[str]) -> None:
    model = Model(text)
    assert list(model.names) == names
    assert Model(str(model)) == model
    assert Model(str(model)).names == model.names


def test_equal_models_have_equal_text() -> None:
    one, other = Model(f"y~a*b+{S}"), Model(f"y  ~ 1 + (a) + b\n + a:b + {S}")
    assert one == other
    assert str(one) == 'y ~ 1 + a + b + a:b + C(s, levels=["u", "v", "w"])'
    assert Model("y ~ a", weights="w") != Model("y ~ a")
    assert "w" in str(Model("y ~ a", weights="w"))


def test_columns_chosen_by_name_need_no_formula() -> None:
    model = Model.from_columns("y", ["age", 'odd "name" `here`', "a.b", "größe"])
    assert model.names == ("Intercept", "age", 'odd "name" `here`', "a.b", "größe", "y")
    assert model.columns_needed == ("age", 'odd "name" `here`', "a.b", "größe", "y")
    assert Model.from_columns("y", ["a"], intercept=False) == Model("y ~ 0 + a")


def test_a_column_chosen_twice_is_refused() -> None:
    with pytest.raises(FormulaError, match='column "a" is chosen twice'):
        Model.from_columns("y", ["b", "a", "a"])
    with pytest.raises(FormulaError, match='two columns of the model are called "y"'):
        Model.from_columns("y", ["a", "y"])


def test_what_the_data_must_have() -> None:
    model = Model(f"log(y) ~ I(a * b) + {S} + a", weights="w")
    assert model.columns_needed == ("a", "b", "y", "w", "s")
    assert model.number_columns == ("a", "b", "y", "w")


leaves: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from([Name("a"), Name("b"), Name("odd name")]),
    st.sampled_from([Number("2"), Number("0.1"), Number("1e-3")]),
)
trees: st.SearchStrategy[Expression] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Negate, inner),
        st.builds(Binary, st.sampled_from("+-*"), inner, inner),
        st.builds(Power, inner, st.integers(0, 3)),
        st.builds(Apply, st.just("abs"), inner),
        st.builds(Binary, st.just("/"), inner, st.sampled_from([Number("4"), Number("0.2")])),
    ),
    max_leaves=6,
)


def twin(expression: Expression, row: dict[str, Fraction]) -> Fraction:
    """The dumb evaluator: one row of fractions."""
    match expression:
        case Name(name):
            return row[name]
        case Number(text):
            return Fraction(text)
        case Negate(argument):
            return -twin(argument, row)
        case Binary("+", left, right):
            return twin(left, row) + twin(right, row)
        case Binary("-", left, right):
            return twin(left, row) - twin(right, row)
        case Binary("/", left, right):
            return twin(left, row) / twin(right, row)
        case Binary(_, left, right):
            return twin(left, row) * twin(right, row)
        case Apply("abs", argument):
            return abs(twin(argument, row))
        case Power(base, exponent):
            return twin(base, row) ** exponent
        case _:
            raise AssertionError


@given(trees)
def test_expressions_are_exact_and_read_back(tree: Expression) -> None:
    columns = {
        "a": Column(np.array([0.1, -7.25, 1e10])),
        "b": Column(np.array([3, 0, -(2**62)]), two=-2, five=-2),
        "odd name": Column(np.array([0, 1, 1])),
    }
    values = {name: column.fractions() for name, column in columns.items()}
    expected = [twin(tree, {name: v[i] for name, v in values.items()}) for i in range(3)]
    assert expressions.evaluate(tree, columns, 3).fractions() == expected
    if expressions.degree(tree) <= 64:
        [term] = formula.parse(f"y ~ 0 + I({tree})").terms
        assert term == (Numeric(tree, identity=True),)


# -- what they cannot say -----------------------------------------------------------------------

HOSTILE = [
    "__import__('os').system('x')",
    "y ~ __import__('os').system('x')",
    "y ~ I(__import__('os'))",
    "y ~ x.__class__",
    "y ~ np.linalg.inv(x)",
    "y ~ np.load(x)",
    "y ~ np.log.__class__(x)",
    "y ~ np.log",
    "y ~ numpy.log(x)",
    "y ~ I(x > __import__('os'))",
    "y ~ I(x > 'a')",
    "y ~ I(1 > 0)",
    "y ~ I(x > 1 > 0)",
    "y ~ I(x & 1)",
    "y ~ I(~x)",
    "y ~ I(x = 1)",
    "y ~ I((x > 1) + (x > 2))",
    "y ~ I(-(x > 1))",
    "y ~ I(x / 0)",
    "y ~ I(x / (1 - 1))",
    "I(y > 1) ~ x",
    "y ~ x > 1",
    "y ~ I((x * 1e308) ** 30 > 1)",
    "y ~ I(1 / (x * 1e308) ** 30)",
    "y ~ I(x / ((9 ** 60) ** 60) ** 60)",
    "y ~ I(x / (1e-300 * 1e-300 * 1e-300 * 1e-300 * 1e-300 * 1e-300 * 1e-300))",
    "y ~ I(" + "(x > 1) & " * 10_000 + "(x > 1))",
    "y ~ I(" + "~" * 10_000 + "(x > 1))",
    "y ~ I(" + "x / " * 10_000 + "x)",
    "y ~ (a + b)**0",
    "y ~ (a + b)**2**2",
    "y ~ (a + b)**1.5",
    "y ~ (a + b)**x",
    "y ~ C(s, Sum(levels=['a', 'b'])",
    "y ~ C(s, Helmert, levels=['a', 'b'])",
    "y ~ C(s, Treatment('c'), levels=['a', 'b'])",
    "y ~ C(s, Treatment(2), levels=['a', 'b'])",
    "y ~ C(s, Treatment(x), levels=['a', 'b'])",
    "y ~ center(x)",
    "y ~ (lambda: 1)()",
    "y ~ [x for x in y]",
    "y ~ {x: 1}",
    "y ~ f'{x}'",
    "y ~ eval('x')",
    "y ~ exec(x)",
    "y ~ open('x')",
    "y ~ getattr(x, 'y')",
    "y ~ log(x)(x)",
    "y ~ I(x)(x)",
    "y ~ C(s)(t)",
    "y ~ Q('a' + 'b')",
    "y ~ (x := 3)",
    "y ~ I(x if x else x)",
    "y ~ I(x and x)",
    "y ~ I(x @ x)",
    "y ~ I(x // x)",
    "y ~ I(x[0])",
    "y ~ I(*x)",
    "y ~ I(x, **x)",
    "y ~ __class__",
    "y ~ __builtins__",
    "y ~ I(x**999999999)",
    "y ~ I(x**65)",
    "y ~ I((x**60)**60)",
    "y ~ I(((10**60)**60)**60)",
    "y ~ I(2**2**2)",
    "y ~ I(x ** -1)",
    "y ~ I(x ** 0.5)",
    "y ~ I(x ** x)",
    "y ~ I(1e999999999 * x)",
    "y ~ I(" + "9" * 5000 + " * x)",
    "y ~ I((x * 1e308) ** 30)",
    "y ~ I((x + 1e-308) ** 30)",
    "y ~ I((1e308 * x - 1e-308) ** 4)",
    "y ~ I(" + "1e300 * " * 9 + "x)",
    "y ~ log((x * 1e308) ** 30)",
    "I((x * 1e308) ** 30) ~ x",
    "y ~ poly(x * 1e308, 30, raw=True)",
    "y ~ " + ":".join(f"I((x{i} * 1e308) ** 2)" for i in range(4)),
    "y ~ " + " + ".join(f"I((x{i} * 1e308) ** 6)" for i in range(3)),
    "y ~ C(s, levels=[1, 2, 3, 4, 5, 6, 7]):I((x * 1e308) ** 6)",
    "y ~ poly(x, 999999999, raw=True)",
    "y ~ poly(x ** 60, 60, raw=True)",
    "y ~ poly(x, 0, raw=True)",
    "y ~ " + "(" * 100_000 + "x",
    "y ~ " + "(" * 1000 + "x" + ")" * 1000,
    "y ~ I(" + "(" * 1000 + "x" + ")" * 1000 + ")",
    "y ~ I(" + "-" * 10_000 + "x)",
    "y ~ I(" + "x + " * 10_000 + "x)",
    "y ~ I(" + "x * " * 10_000 + "x)",
    "y ~ " + "log(" * 1000 + "x" + ")" * 1000,
    "y ~ " + "x" * 300_000,
    "y ~ " + "*".join(f"x{i}" for i in range(40)),
    "y ~ " + "*".join(f"(a{i} + b{i} + c{i} + d{i} + e{i} + f{i})" for i in range(7)),
    "y ~ " + ":".join(f"C(x{i}, levels=[1, 2, 3, 4, 5, 6, 7, 8, 9])" for i in range(8)),
    "y ~ (a + b + c + d + e + f + g + h + i)**13",
    "y ~ ｌｏｇ(x)",
    "y ~ \U0001d465",
    "y ~ x\u202e",
    "y ~ `a\u202eb`",
    "y ~ `a\x00b`",
    "y ~ ``",
    "y ~ C(s, levels=['\u200b', 'b'])",
    "y ~ x; import os",
    "y ~ x # comment",
    "y ~ x \\\n + b",
    "y ~ 'text'",
    'y ~ "unfinished',
    "y ~ `unfinished",
    "y ~ I(x",
    "y ~ a b",
    "y ~ a + ",
    "y ~ a ~ b",
    "y ~ a | b",
    "y ~ a // b",
    "y ~ a % b",
    "y ~ a ^ 2",
    "y ~ .",
    "y ~ ...",
    "",
    "y",
    "~ x",
    "y ~",
    "y ~ 0",
    "y ~ 2",
    "y ~ - 0",
    "y ~ a - b",
    "y ~ y",
    "y + z ~ a",
    "C(y, levels=['a', 'b']) ~ x",
    "poly(y, 2, raw=True) ~ x",
    "y ~ C(s, levels=[])",
    "y ~ C(s, levels=['a'])",
    "y ~ C(s, levels=['a', 'a'])",
    "y ~ C(s, levels=[1, 1.0])",
    "y ~ C(s, levels=['a', 1])",
    "y ~ C(s, levels=x)",
    "y ~ C(s, levels=[' a', 'b'])",
    "y ~ C(s, levels=['a', 'b'], x=1)",
    "y ~ C(log(s), levels=['a', 'b'])",
    "y ~ log()",
    "y ~ log(x, 2)",
    "y ~ Q(x)",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:30] for text in HOSTILE])
def test_hostile_and_malformed_formulas_are_refused(text: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Model(text)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isascii() or "…" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("I(x)", 0),
        ("I(2.5 * x)", 2),
        ("I(12e3 + x - 0.125)", 8),
        ("I(-(1e-3 * x) ** 4)", 12),
        ("I(1E2 * 1e-2 * x)", 5),
        ("I(3 ** 0 * x)", 1),
        ("I(log(1e300 * x) + 1)", 1),
    ],
)
def test_digits_of_constants(text: str, digits: int) -> None:
    [[factor]] = formula.parse(f"y ~ 0 + {text}").terms
    assert isinstance(factor, Numeric)
    assert expressions.digits(factor.expression) == digits


@given(trees)
def test_constants_make_no_longer_numbers_than_counted(tree: Expression) -> None:
    """With 1 for every column, the result and its unit have as many digits as are counted."""
    ones = {name: Column(np.ones(1, np.int64)) for name in expressions.names(tree)}
    number = expressions.evaluate(tree, ones, 1)
    carries = len(list(expressions.parts(tree))) * max(expressions.degree(tree), 1)
    assert len(str(abs(int(number.numbers[0])))) <= expressions.digits(tree) + carries


def test_ordinary_constants_are_within_the_bounds() -> None:
    for text in (
        "I((x - 3.14159265358979) ** 64)",
        "poly(x * 0.001, 32, raw=True)",
        "poly(x - 98.25, 12, raw=True) * C(s, levels=['a', 'b', 'c', 'd'])",
        "I(6.02214076e23 * x) + I(1.380649e-23 * x)",
        " + ".join(f"I(0.5 * x{i})" for i in range(5000)),
    ):
        Model(f"y ~ {text}")


def test_levels_must_be_stated_and_the_reason_is_given() -> None:
    with pytest.raises(FormulaError, match="would not agree"):
        Model("y ~ C(site)")


@pytest.mark.parametrize("rest", [")", ", raw=False)", ", raw=1)"])
def test_orthogonal_polynomials_are_refused_with_the_reason(rest: str) -> None:
    with pytest.raises(FormulaError, match="depend on all parties' rows"):
        Model("y ~ poly(x, 3" + rest)


def test_a_square_outside_of_i_is_no_square_and_says_so() -> None:
    with pytest.raises(FormulaError, match=r"I\(x \*\* 2\)"):
        Model("y ~ x**2")


@given(st.text("ylogCIQpoxab01 ~+-*:()[]=,.'\"`_\\", max_size=25))
def test_any_text_is_a_model_or_a_formula_error(text: str) -> None:
    for candidate in (text, "y ~ " + text):
        try:
            model = Model(candidate)
        except FormulaError:
            continue
        assert Model(str(model)) == model


def test_a_study_of_many_columns_is_within_the_bounds() -> None:
    names = [f"x{i}" for i in range(2000)]
    assert len(Model.from_columns("y", names).names) == 2002


def test_nothing_on_the_way_of_a_formula_can_run_code() -> None:
    """No module that handles formulas so much as names a way to evaluate text."""
    dangerous = {"eval", "exec", "compile", "__import__", "import_module", "literal_eval"}
    folder = Path(formula.__file__).parent
    modules = [path.stem for path in folder.glob("formula*.py")]
    assert len(modules) == 4
    modules += ["expressions", "functions", "arithmetic", "terms", "model"]
    for module in modules:
        tree = ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not dangerous & named
        assert not (dangerous - {"compile"}) & attributes  # re.compile
