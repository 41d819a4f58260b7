"""What --ask and its companions say, and how they say that something cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.study.studies import study
from titan.errors import InputError
from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Number
from titan.study.asking import (
    columns_named,
    names_columns,
    numbers_named,
    read_columns,
    read_question,
    with_columns,
)

ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "regression: y ~ age + sex; cov_type=HC0; name=main": (
        "regression", "main", {"formula": "y ~ age + sex", "cov_type": "HC0"},
    ),
    "ridge: y ~ age + sex; alpha=0.1,1,10": (
        "ridge", "", {"formula": "y ~ age + sex", "alphas": ("0.1", "1", "10")},
    ),
    "ridge; alphas = 1 ; formula = y ~ a": ("ridge", "", {"formula": "y ~ a", "alphas": ("1",)}),
    "describe: age, bmi, sex": ("describe", "", {"columns": ("age", "bmi", "sex")}),
    "average": ("average", "", {}),
    "solve": ("solve", "", {}),
    " solve ; name = it ": ("solve", "it", {}),
    'solve: a, "b, c", d e; response=f': (
        "solve", "", {"columns": ("a", "b, c", "d e"), "response": "f"},
    ),
    'regression: y ~ a:b + C(s, levels=["x;y", "z=1"]); weights=w': (
        "regression", "", {"formula": 'y ~ a:b + C(s, levels=["x;y", "z=1"])', "weights": "w"},
    ),
    "regression: `a;b` ~ 1": ("regression", "", {"formula": "`a;b` ~ 1"}),
}  # fmt: skip


@pytest.mark.parametrize("text", ASKED)
def test_what_is_said(text: str) -> None:
    kind, name, options = ASKED[text]
    found = read_question(text)
    assert (found.kind, found.name, found.options) == (kind, name, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("guess: y ~ a", "there is no question of kind 'guess'"),
        ("", "there is no question of kind ''"),
        (": y ~ a", "there is no question of kind ''"),
        ("regression:", "formula is empty"),
        ("regression: y ~ a; ", "'' is not key=value"),
        ("regression: y ~ a; HC0", "'HC0' is not key=value"),
        ("regression: y ~ a; alpha=1", "a regression question has no option 'alpha'"),
        ("regression: y ~ a; formula=y ~ b", "formula is given twice"),
        ("regression: y ~ a; name=a; name=b", "name is given twice"),
        ("ridge: y ~ a; alpha=1,,2", "alphas has an empty item"),
        ("ridge: y ~ a; alpha=", "alphas is empty"),
        ("ridge: y ~ a; name=", "name is empty"),
    ],
)
def test_what_cannot_be_asked(text: str, message: str) -> None:
    with pytest.raises(InputError) as found:
        read_question(text)
    assert found.value.message == f"--ask {text!r}: {message}"
    assert found.value.hint


def test_asked_in_words_or_in_full_it_is_the_same_study() -> None:
    in_words = read_question("ridge: y~age; alpha=0.1, 1")
    in_full = Question("ridge", "q1", (("alphas", ("0.1", "1")), ("formula", "y ~ 1 + age")))
    assert study(questions=(in_words,)).digest == study(questions=(in_full,)).digest


# -- columns ----------------------------------------------------------------------------------


def test_what_is_said_of_columns() -> None:
    found = read_columns(
        ranges=["age=0:120", "a=b=-1.5:2"], steps=["age=1"], levels=['sex=f, "m, or x"'],
        flags=["died"], units=["age=years"],
    )  # fmt: skip
    assert found == {
        "age": Number.read("0", "120", "1", "years"),
        "a=b": Number.read("-1.5", "2"),
        "sex": Category(("f", "m, or x")),
        "died": Flag(),
    }
    assert read_columns() == {}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"ranges": ["age"]}, "--range age: not a range"),
        ({"ranges": ["age=0"]}, "--range age=0: not a range"),
        ({"ranges": ["=0:1"]}, "--range =0:1: not a range"),
        ({"ranges": ["age=2:1"]}, "--range age=2:1: its range is empty"),
        ({"ranges": ["age=0:1"] * 2}, "--range age=0:1: 'age' is described twice"),
        ({"ranges": ["age=0:1"], "steps": ["age"]}, "--step age: not name=value"),
        ({"ranges": ["age=0:1"], "steps": ["age=x"]}, "--range age=0:1: its step is not a decimal"),
        ({"ranges": ["age=0:1"], "steps": ["age=1"] * 2}, "--step age=1: 'age' is described twice"),
        ({"steps": ["age=1"]}, "--step age=1: the range of 'age' is missing"),
        ({"flags": ["age"], "units": ["age=years"]}, "--unit age=years: the range of 'age'"),
        ({"levels": ["sex"]}, "--levels sex: not name=value"),
        ({"levels": ["sex=f,"]}, "--levels sex=f,: its level '' is not"),
        ({"levels": ["sex=f,m"], "flags": ["sex"]}, "--flag sex: 'sex' is described twice"),
    ],
)
def test_what_cannot_be_said_of_columns(said: Any, message: str) -> None:
    with pytest.raises(InputError) as found:
        read_columns(**said)
    assert found.value.message.startswith(message)


# -- which columns ----------------------------------------------------------------------------

COLUMNS = Dictionary.of({
    "a": Number.read("0", "1"), "s": Category(("f", "m")), "c": Number.read("0", "1"),
    "b": Number.read("0", "1"), "died": Flag(),
})  # fmt: skip
NAMES = ["c", "s", "a", "died", "b", "unknown"]


def test_a_system_without_columns_takes_all_but_the_last() -> None:
    """In the order of the data, as `titan solve` does."""
    found = with_columns(read_question("solve"), NAMES, COLUMNS)
    assert found.options == {"response": "b", "columns": ("c", "a")}
    found = with_columns(read_question("solve; response=a"), NAMES, COLUMNS)
    assert found.options == {"response": "a", "columns": ("c", "b")}


def test_an_average_takes_the_numbers_and_a_description_everything() -> None:
    found = with_columns(read_question("average"), NAMES, COLUMNS)
    assert found.options == {"columns": ("c", "a", "b")}
    found = with_columns(read_question("describe"), NAMES, COLUMNS)
    assert found.options == {"columns": ("c", "s", "a", "died", "b")}


def test_what_names_its_columns_keeps_them() -> None:
    for text in ("solve: a, c; response=b", "regression: y ~ a"):
        question = read_question(text)
        assert with_columns(question, NAMES, COLUMNS) == question
    assert with_columns(read_question("solve"), [], Dictionary()) == read_question("solve")


def test_which_columns_must_be_described() -> None:
    assert not names_columns(read_question("regression: y ~ a"))
    assert names_columns(read_question("solve"))
    assert columns_named(read_question("solve: a, c; response=b"), NAMES) == ["a", "c", "b"]
    assert columns_named(read_question("solve"), NAMES) == NAMES


def test_which_columns_a_formula_reads_as_numbers() -> None:
    question = read_question("regression: b ~ log(a) + s + absent + a:died; weights=c")
    assert numbers_named(question, NAMES, COLUMNS) == ["a", "died", "b", "c"]
    assert numbers_named(read_question("solve: a, c"), NAMES, COLUMNS) == []
