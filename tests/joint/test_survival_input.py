"""Bad input of a question about survival: said in words, before anything leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titan
from tests.joint.trial import COLUMNS, asking
from tests.release.asking import study_of
from titan.errors import DataError, InputError, PlanError, ReleaseError
from titan.release import Category, Dictionary, Flag, Number
from titan.study.asking import read_question

SMALL: dict[str, list[Any]] = {"t": [1, 2, 3, 4], "d": [1, 0, 1, 1], "g": ["a", "a", "b", "b"]}
STATED: dict[str, Any] = {"t": Number.read(0, 4, 1), "d": Flag(), "g": Category(("a", "b"))}


def asked(rows: dict[str, Any] = SMALL, **changes: Any) -> Any:
    return titan.survival(rows, **({"time": "t", "event": "d"} | changes))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ({"t": [1, 2, 3, 5]}, "outside the study's range, 0 to 4"),
        ({"t": [1, 2, 3, -1]}, "outside the study's range, 0 to 4"),
        ({"d": [1, 0, 2, 1]}, "neither 0 nor 1"),
        ({"t": [0, 2, 3, 4]}, 'column "t": the event at time 0'),
        ({"t": [0.4, 2, 3, 4]}, 'column "t": the event at time 0'),
        ({"t": [1, 2, 3, None]}, "values that are not there"),
        ({"g": ["a", "a", "b", "c"]}, "none of the stated levels"),
        ({"t": ["x", "2", "3", "4"]}, "text"),
    ],
)
def test_rows_that_cannot_be_used(rows: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=why):
        asked(SMALL | rows, by="g", dictionary=STATED)


def test_who_leaves_at_time_0_without_the_event_is_in_the_first_interval() -> None:
    rows = {"t": [0, 1, 2, 3], "d": [0, 1, 1, 0]}
    assert asked(rows)["all"].at_risk == (4, 2, 1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"time": "g"}, "is a category in the dictionary, and a time is a number"),
        ({"event": "g"}, "an event is a flag"),
        ({"event": "t"}, "stands twice"),
        ({"by": ["g", "g"]}, "stands twice"),
        ({"by": 7}, "not the name of a column"),
        ({"time": None}, "not the name of a column"),
        ({"grid": 0}, "not a whole number of steps"),
        ({"grid": 1.5}, "not a whole number of steps"),
        ({"grid": "x"}, "grid is not a decimal number"),
        ({"grid": 2, "until": 3}, "until is 3"),
        ({"until": -2}, "until is -2"),
        ({"missing": "guess"}, "missing"),
        ({"dictionary": {"t": 1}}, "does not say by name"),
        ({"dictionary": {"t": STATED["t"], "d": Number.read(0, 1, 1)}}, "an event is a flag"),
        ({"dictionary": {"t": Number.read(-1, 4, 1), "d": Flag()}}, "can be below 0"),
        ({"dictionary": {"t": Number.read(0, 4), "d": Flag()}}, "does not say the step"),
        ({"dictionary": {"t": STATED["t"]}}, "does not say what 'd' is"),
        ({"by": "x", "dictionary": STATED | {"x": Number.read(0, 9, 1)}}, "more than 5 values"),
        ({"tau": 1}, "tau without a network"),
    ],
)
def test_questions_that_cannot_be_asked(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        asked(**changes)


def test_negative_times_without_a_dictionary() -> None:
    with pytest.raises(InputError, match="can be below 0"):
        asked(SMALL | {"t": [-1, 2, 3, 4]})


def test_an_infinite_time_is_named_with_its_row() -> None:
    with pytest.raises(DataError, match=r'row 1 .*column "t": an infinite number'):
        asked(SMALL | {"t": np.array([1.0, np.inf, 3.0, 4.0])})


def test_parties_of_few_rows_and_bits() -> None:
    with pytest.raises(ReleaseError, match="a party needs at least 10"):
        asked([SMALL, SMALL, SMALL], network="cycle")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="does not take bits"):
        asked([SMALL, SMALL], network="complete", bits=64)  # type: ignore[arg-type]


def test_a_number_of_few_values_or_a_flag_makes_groups() -> None:
    rows = SMALL | {"g": [0, 0, 1, 1]}
    assert asked(rows, by="g").names == ("g = 0", "g = 1")
    assert asked(rows, by="g", dictionary=STATED | {"g": Flag()})["1"].nobs == 2


def test_gaps_are_dropped_where_that_is_said() -> None:
    assert asked(SMALL | {"t": [1, 2, None, 4]}, missing="drop").nobs == 3


def test_the_words_of_a_question() -> None:
    asked = read_question("survival: months, died; by=arm, sex; grid=6; until=24; name=os")
    assert asked.options["by"] == ("arm", "sex")
    study = study_of({"a": 1, "b": 2, "c": 3}, COLUMNS, asked)
    assert str(study.question("os")) == "survival: months, died; by arm, sex; grid 6; until 24"
    (settled,) = study_of({"a": 1, "b": 2}, COLUMNS, asking(until=60), tau=0).questions
    assert settled.options == {"time": "months", "event": "died", "grid": "1"}
    for wrong in ("survival: months", "survival: a, b, c", "survival: months,"):
        with pytest.raises(InputError, match="begins with its time and its event"):
            read_question(wrong)
    with pytest.raises(InputError, match="does not say its event"):
        study_of({"a": 1, "b": 2}, COLUMNS, read_question("survival; time=months"))


def test_a_study_file_says_the_same() -> None:
    study = study_of({"a": 1, "b": 2, "c": 3}, COLUMNS, asking(by=["arm"], grid=6))
    text = study.to_toml()
    assert 'kind = "survival"\nname = "os"' in text
    assert study.parse(text).digest == study.digest


def test_too_many_cells_are_refused() -> None:
    columns = Dictionary.of({"t": Number.read(0, 100_000, 1), "d": Flag()})
    with pytest.raises(InputError, match="100000 intervals in 1 groups"):
        asked(dictionary=columns)
