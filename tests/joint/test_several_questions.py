"""Invariant: what several questions tell together is looked at for every row, whatever its gaps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.study.studies import NAMES, regression, study
from titan.errors import VetoError
from titan.joint.kinds import Question
from titan.joint.together import together
from titan.moments import open_source
from titan.release import Dictionary, Number

X = Number.read("0", "999", "1")
COLUMNS = Dictionary.of(dict.fromkeys("xzwy", X))


def table(name: str, rows: int = 60) -> dict[str, list[Any]]:
    rng = random.Random(name)
    return {column: [rng.randrange(900) for _ in range(rows)] for column in "xzwy"}


def ask(tables: Sequence[dict[str, list[Any]]], *formulas: str, **changes: Any) -> Any:
    questions = tuple(regression(formula) for formula in formulas)
    asked = study(questions=questions, columns=COLUMNS, missing="drop", **changes)
    parts = [asked.meeting.prepare(open_source(table)) for table in tables]
    return together(asked.meeting, parts, asked.settings).answer


def test_questions_without_a_common_row() -> None:
    tables = [table(name) for name in NAMES]
    for own in tables:
        own["x"][::2] = own["z"][1::2] = [None] * 30
    states = ask(tables, "y ~ x", "y ~ z")
    assert [state.error for state in states] == [None, None]


@pytest.mark.parametrize("more", [(), ("y ~ w",)])
def test_a_gap_in_another_question_hides_no_row(more: tuple[str, ...]) -> None:
    """What the first two tell of one row does not depend on what a third one asks for."""
    tables = [table(name) for name in NAMES]
    tables[1]["x"][7] = 950
    for own in tables:
        own["w"][:30] = [None] * 30
    spike = "exp(-1 * (x - 950) ** 2)"
    with pytest.raises(VetoError) as caught:
        ask(tables, f"y ~ I(z + 100 * {spike})", "y ~ z", *more)
    assert "stand alone" in str(caught.value.__cause__)


def test_a_party_of_one_row_refuses() -> None:
    """It stands alone among its own, also where others have rows in its cells."""
    tables = [table(name, 1 if name == "east" else 60) for name in NAMES]
    for own in tables:
        own["w"] = [x % 2 for x in own["w"]]
    with pytest.raises(VetoError) as caught:
        ask(tables, "y ~ x + C(w, levels=[0, 1])", min_rows_party=1, min_cell=3)
    assert "stand alone" in str(caught.value.__cause__)


@pytest.mark.parametrize("column", ["z + 100 * exp(-1 * (x - 950) ** 2)", "z + 0.01 * x"])
@pytest.mark.parametrize("gaps", [0, 20])
def test_nor_a_table_beside_it(column: str, gaps: int) -> None:
    """Σ(z + spike)² less the table's Σz² is that patient's z."""
    tables = [table(name) for name in NAMES]
    tables[1]["x"][7] = 950
    for own in tables:
        own["w"][:gaps] = [None] * gaps
    described = Question("describe", "", (("columns", ("w", "z")),))
    asked = study(questions=(regression(f"y ~ I({column})"), described), columns=COLUMNS)
    parts = [asked.meeting.prepare(open_source(table)) for table in tables]
    if "exp" not in column:
        together(asked.meeting, parts, asked.settings)
        return
    with pytest.raises(VetoError) as caught:
        together(asked.meeting, parts, asked.settings)
    assert "stand alone" in str(caught.value.__cause__)


def test_a_value_between_two_steps_does_not_stand_alone_beside_a_table() -> None:
    """Both put it on the grid: what is summed for one is what is summed for the other."""
    tables = [table(name) for name in NAMES]
    tables[1]["x"][7] = tables[1]["x"][7] + 0.4
    described = Question("describe", "table", (("columns", ("x", "z")),))
    asked = study(questions=(regression("y ~ x + z"), described), columns=COLUMNS)
    parts = [asked.meeting.prepare(open_source(own)) for own in tables]
    states = together(asked.meeting, parts, asked.settings).answer
    assert [state.error for state in states] == [None, None]
