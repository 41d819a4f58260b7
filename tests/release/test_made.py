"""Invariants: every value of a column lies within its size; what is made is a whole number of few
bits, at most half a unit from the exact value; and rows enter every sum rounded alike.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from titan.errors import InputError
from titan.joint import SumSettings, together
from titan.joint.equations import Given
from titan.joint.kinds import Question, Setting
from titan.joint.regression import Regression
from titan.moments import columns, open_source
from titan.moments.expressions import Apply, Binary, Expression, Name, Negate, Number, Power
from titan.moments.model import Readings
from titan.network import Network
from titan.release import Category, Dictionary, Flag
from titan.release import Number as Range
from titan.release.draft import draft
from titan.release.made import MadeColumns
from titan.release.policy import NONE
from titan.release.sizes import sizes
from titan_lab import datasets

from ..fitting.test_fit import formula_of
from ..leastsquares.test_nist import SETS, assert_agrees

KNOWN = Dictionary.of(
    {
        "age": Range.read("0", "120", "1"),
        "kg": Range.read("2.5", "250", "0.1"),
        "t": Range.read("-40", "40", "0.25"),
        "sick": Flag(),
        "sex": Category(("f", "m")),
        "y": Range.read("60", "220", "1"),
    }
)
NAMES = ("age", "kg", "t", "sick")


def made(formula: str, precision: Any = 16) -> MadeColumns:
    return MadeColumns.of(KNOWN.model(formula), KNOWN, precision)


def deeper(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Negate, inner),
        st.builds(Binary, st.sampled_from("+-*"), inner, inner),
        st.builds(Power, inner, st.integers(0, 4)),
        st.builds(Apply, st.sampled_from(["log", "exp", "sqrt"]), inner),
    )


leaves = st.one_of(
    st.builds(Name, st.sampled_from(NAMES)),
    st.builds(Number, st.sampled_from(["0", "1", "0.01", "2.5", "1e-9", "300"])),
)
formulas = st.builds("y ~ I({0}) + I({0}):sex".format, st.recursive(leaves, deeper, max_leaves=6))


@st.composite
def some_rows(draw: st.DrawFn) -> Readings:
    count = draw(st.integers(1, 6))
    numbers = {}
    for name in (*NAMES, "y"):
        known: Any = KNOWN[name]
        low, high, step = (
            (0, 1, 1) if isinstance(known, Flag) else (known.low, known.high, known.step)
        )
        steps = st.one_of(st.integers(0, int((high - low) / step)), st.just(0))
        values = [low + step * draw(steps) for _ in range(count)]
        numbers[name] = columns.Column.of_fractions([Fraction(v) for v in values])[0]
    codes = np.array(draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)))
    return Readings(count, numbers, dict.fromkeys(KNOWN.model("y ~ sex").categories, codes))


@given(formulas, some_rows(), st.sampled_from([4, 16, 20, 53, None]))
def test_values_lie_within_their_sizes_and_rounding_is_by_half_a_unit(
    formula: str, rows: Readings, precision: Any
) -> None:
    try:
        model = KNOWN.model(formula)
        found, exact = made(formula, precision), sizes(model, KNOWN)
    except InputError:
        assume(False)
    values = model.evaluate(rows)
    rounded = found.rounding(values)
    each = zip(values, exact, rounded, found.sizes, found.rounding.twos, strict=True)
    for column, before, after, size, two in each:
        for x, r in zip(column.fractions(), after.fractions(), strict=True):
            assert before.low <= x <= before.high
            assert (x / before.unit).denominator == 1
            assert size.low <= r <= size.high
            assert (r / size.unit).denominator == 1
            assert r == x if two is None else abs(r - x) <= Fraction(2) ** two / 2
        if two is not None and precision is not None:
            assert size.most < 2**precision  # it fits, and half as much would not
            assert 2 * max(-before.low, before.high) > Fraction(2) ** two * (2**precision - 2)


def test_what_is_raw_is_exact_and_only_what_is_too_fine_is_rounded() -> None:
    formula = "log(y) ~ age + kg*sex + I(age - 50) + sick:kg + age:kg + I(kg ** 2) + I(age ** 2)"
    found, model = made(formula), KNOWN.model(formula)
    by_name = dict(zip(model.names, zip(found.raw, found.rounding.twos, strict=True), strict=True))
    assert by_name == {
        "Intercept": (True, None),
        "age": (True, None),
        "kg": (True, None),
        "sex[T.m]": (True, None),
        "kg:sex[T.m]": (True, None),
        "I(age - 50)": (True, None),
        "sick:kg": (True, None),
        "age:kg": (False, -1),  # 30,000 in halves; in tenths it would be 300,000
        "I(kg ** 2)": (False, 0),
        "I(age ** 2)": (False, None),  # 14,400 has 14 bits
        "log(y)": (False, -13),
    }


def test_exact_rounds_no_polynomial() -> None:
    """Nor a function whose doubles all have the same unit or nearly so; 0 has no unit."""
    found = made("y ~ poly(kg, 7, raw=True) + log(kg) + log(age + 1)", None)
    assert found.rounding.twos == (*[None] * 9, -61, None)


@pytest.mark.parametrize(
    ("formula", "found", "hint"),
    [
        ("y ~ log(age)", r'column "log\(age\)": .* argument of log\(age\) .* from 0 to 120', "age"),
        ("y ~ sqrt(t):sick", r"from -40 to 40, and sqrt of a negative number does not exist", "t"),
        ("y ~ exp(kg * age)", r"from 0 to 30000, and exp of a number too large", "'kg', 'age'"),
        ("log(age - y) ~ kg", r'column "log\(age - y\)"', "narrower range"),
    ],
)
def test_a_function_without_a_value_is_refused_when_the_question_is_asked(
    formula: str, found: str, hint: str
) -> None:
    with pytest.raises(InputError, match=found) as error:
        Question.of("regression", "q", {"formula": formula}, KNOWN)
    assert hint in error.value.hint


def asked(formula: str, known: Dictionary, precision: Any = 16, **options: str) -> Regression:
    question = Question.of("regression", "q", {"formula": formula, **options}, known)
    computation = question.computation(
        Setting(("a", "b", "c"), known, replace(NONE, precision=precision))
    )
    assert isinstance(computation, Regression)
    return computation


def pooled(computation: Regression, tables: list[Any]) -> Any:
    parts = [computation.prepare(open_source(table)) for table in tables]
    return together(computation, parts, SumSettings(Network.cycle(3))).answer


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_the_answer_is_that_of_the_rounded_columns(cov_type: str) -> None:
    """Rounded by hand beforehand, the same rows give the same answer, robust errors too."""
    random = np.random.default_rng(1)
    unit, by_hand, tables = 2.0**-13, [], []
    for _ in range(3):
        kg, y = random.integers(25, 2500, 40) / 10, random.integers(60, 221, 40)
        tables.append({"kg": kg, "y": y})
        by_hand.append({"log_kg": np.rint(np.log(kg) / unit) * unit, "y": y})
    of_hand = Dictionary.of(
        {"log_kg": Range(Fraction(0), Fraction(8), Fraction(1, 2**13)), "y": KNOWN["y"]}
    )
    computation = asked("y ~ log(kg)", KNOWN, cov_type=cov_type)
    assert isinstance(computation.equations, Given)
    assert [size.unit for size in computation.equations.sizes] == [1, Fraction(1, 2**13), 1]
    found = pooled(computation, tables)
    expected = pooled(asked("y ~ log_kg", of_hand, cov_type=cov_type), by_hand)
    assert list(found.params.values()) == list(expected.params.values())
    assert list(found.bse.values()) == list(expected.bse.values())


def test_the_sum_is_no_wider_than_the_rounded_columns() -> None:
    rounded, exact = (asked("y ~ log(kg)", KNOWN, p).sums[1].ring.bits for p in (16, None))
    assert rounded <= 40 + 2 * 16 + 2
    assert exact >= rounded + 80


@pytest.mark.parametrize("name", SETS)
def test_nist_by_a_dictionary_and_exact_gives_every_certified_digit(name: str) -> None:
    certified = datasets.nist(name)
    model, path = certified.facts["model"], certified.path
    with path.open() as file:
        rows = list(csv.DictReader(file))
    formula = formula_of(model, [key for key in rows[0] if key != "y"])
    tables = [{key: [row[key] for row in rows[at::3]] for key in rows[0]} for at in range(3)]
    computation = asked(formula, draft([open_source(path)]), None)
    assert isinstance(computation.equations, Given)
    fit = pooled(computation, tables)
    for j, parameter in enumerate(certified.facts["certified"]["parameters"]):
        assert_agrees(fit.params.enclosures[j], parameter["estimate"])
        assert_agrees(fit.bse.enclosures[j], parameter["sd"])
