"""A study that nobody gave a title is called by what it asks."""

from __future__ import annotations

import pytest

from titan.release import Category, Dictionary, Number
from titan.study.asking import read_question
from titan.study.title import title_of

COLUMNS = Dictionary.of(
    {
        "y": Number.read("0", "9", "1"),
        "age": Number.read("1", "120", "1"),
        "sex": Category(("f", "m")),
        **{"x" * 40 + str(n): Number.read("0", "1", "1") for n in range(7)},
    }
)


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        (["regression: y ~ log(age) + sex"], "How y depends on age, sex"),
        (["regression: y ~ sex; weights=age"], "How y depends on sex"),
        (["regression: y ~ 1", "describe: age, sex"], "The mean of y; a description of age, sex"),
        (["ridge: y ~ age; alpha=1", "regression: y ~ age"], "How y depends on age"),
        (["solve: age; response=y"], "Linear equations in age"),
        (["average: y"], "The average of y"),
        (
            ["regression: y ~ age", "regression: age ~ y", "describe: y", "average: age"],
            "How y depends on age; how age depends on y; a description of y; and 1 more",
        ),
    ],
)
def test_what_is_asked_in_a_few_words(asked: list[str], title: str) -> None:
    assert title_of(list(map(read_question, asked)), COLUMNS) == title


def test_a_long_one_is_cut_to_what_a_title_may_be() -> None:
    title = title_of([read_question("describe: " + ", ".join(list(COLUMNS)[3:]))], COLUMNS)
    assert (len(title), title[-1]) == (200, "…")
