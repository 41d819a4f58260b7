"""Of every kind of answer, all numbers are held against each other but how good a solution is.

That goes by where a number stands: columns, levels and questions may be called as those fields are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.party.loopback import NAMES, Gathering, run
from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Number, Time
from titan.study.cross_check import cross_check
from titan.study.transcript import Transcript
from titan.study.verified import Facts, verify

ESTIMATES = ("condition", "error_bound", "digits")
# A place: what a column, group, level or question is called is "*", and so is a number in a path.
EXEMPT = {
    *(("questions", "*", name) for name in ESTIMATES),
    ("questions", "*", "path", "*", "error_bound"),
    ("questions", "*", "columns", "*", "error_bound"),
    ("questions", "*", "groups", "*", "error_bound"),
    ("questions", "*", "logrank", "error_bound"),
}
COLUMNS = Dictionary.of(
    {
        "condition": Number.read("0", "99", "1"),
        "error_bound": Number.read("0", "300", "1"),
        "digits": Flag(),
        "arm": Category(("digits", "condition")),
        "months": Time.read("0", "60", "1", "months"),
    }
)


def _asked(kind: str, name: str, **options: Any) -> Question:
    return Question(kind, name, tuple(options.items()))


QUESTIONS = (
    _asked("regression", "condition", formula="error_bound ~ condition"),
    _asked("ridge", "error_bound", formula="error_bound ~ condition", alphas=("0.1", "1")),
    _asked("glm", "digits", formula="digits ~ condition", family="binomial"),
    _asked("describe", "columns", columns=("condition", "arm")),
    _asked("survival", "path", time="months", event="digits", by=("arm",), grid="12", until="36"),
    _asked("solve", "groups", columns=("condition",), response="error_bound"),
    _asked("cox", "logrank", formula="condition", time="months", event="digits", grid="3"),
)


def rows(name: str) -> str:
    rng = random.Random(name)
    lines = ["condition,error_bound,digits,arm,months"]
    for _ in range(60):
        x = rng.randrange(99)
        row = x, 2 * x + rng.randrange(60), int(rng.random() < x / 100)
        arm, months = rng.choice(("digits", "condition")), rng.randrange(1, 60)
        lines.append(",".join(map(str, (*row, arm, months))))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Transcript]:
    changes = {"columns": COLUMNS, "questions": QUESTIONS}
    g = Gathering(tmp_path_factory.mktemp("kinds"), changes=changes)
    for name in NAMES:
        g.write(name, rows(name))
    run(g.all())
    return [verify(g.run_folder(name) / "transcript.json").transcript for name in NAMES[:2]]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every number stands that is not zero."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    elif isinstance(value, int | float) and value:
        yield path


def altered(result: Any, path: tuple[Any, ...]) -> Any:
    new = deepcopy(result)
    at = new
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] *= 2
    return new


def place(path: tuple[Any, ...]) -> tuple[Any, ...]:
    by_name = ("questions", "path", "columns", "groups")
    return tuple(
        "*" if at == 1 or (at == 3 and path[2] in by_name) else key for at, key in enumerate(path)
    )


def exempt(path: tuple[Any, ...]) -> bool:
    return any(place(path)[: len(each)] == each for each in EXEMPT)


def differ(one: Transcript, result: Any, other: Transcript) -> bool:
    lying = replace(one, result=result, result_sha256="ab" * 32, sums=one.sums[:1])
    honest = replace(other, sums=other.sums[:1])  # messages are not what is tested here
    found = cross_check((Facts(lying, ""), Facts(honest, ""))).differences
    return "the result" in {each.about for each in found}


def test_every_number_is_compared_that_is_not_an_estimate(told: list[Transcript]) -> None:
    one, other = told
    assert one.result == other.result
    paths = list(leaves(one.result))
    assert {path[1] for path in paths} == {each.name for each in QUESTIONS}
    missed = [p for p in paths if not differ(one, altered(one.result, p), other)]
    assert {place(p) for p in missed if not exempt(p)} == set()
    assert set(missed) == {p for p in paths if exempt(p)}
    met = {each for each in EXEMPT for p in missed if place(p)[: len(each)] == each}
    assert met == EXEMPT, "every kind of answer was there"


@pytest.mark.parametrize("question", [each.name for each in QUESTIONS])
def test_so_is_that_of_a_single_question(told: list[Transcript], question: str) -> None:
    one, other = (replace(t, result=t.result["questions"][question]) for t in told)
    for path in leaves(one.result):
        expected = not exempt(("questions", question, *path))
        assert differ(one, altered(one.result, path), other) == expected, path


def test_a_coefficient_of_a_column_called_condition(told: list[Transcript]) -> None:
    one, other = told
    path = ("questions", "condition", "params", "condition")
    assert differ(one, altered(one.result, path), other)
    without = {k: v for k, v in one.result["questions"].items() if k != "digits"}
    assert differ(one, {"questions": without}, other), "a whole question"
