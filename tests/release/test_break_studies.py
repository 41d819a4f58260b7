"""Invariant: what two studies of the same times open, one taken from the other, is nobody's row.

Each of these pairs was taken by every party's ledger. Each test first shows what the difference of
the two tells, and then that the second study is refused.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from titan.errors import DamagedError
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.party.preparing import prepare
from titan.release import Dictionary, Flag, Number, Time
from titan.study import Study
from titan.study.asking import earlier_models, read_question
from titan.study.ledger import Ledger
from titan.study.row_digests import RowKey

from .asking import asked_of, study_of
from .steps_opened import steps_opened

NAMES = "north", "east", "south"
Rows = dict[str, dict[str, list[Any]]]


def columns(
    step: str = "1", ends: tuple[str, str] = ("0", "60"), time: str = "months"
) -> Dictionary:
    return Dictionary.of(
        {
            time: Time.read(*ends, step, "months"),
            "died": Flag(),
            "age": Number.read("0", "120", "1"),
            "weight": Number.read("0", "200", "1"),
            "sex": Flag(),
        }
    )


def people(rows: int = 200) -> Rows:
    """Times are whole months; nobody leaves after 24 months exactly, nor after 30."""
    rng = random.Random(4)
    months = [m for m in range(1, 53) if m not in (24, 30)]
    return {
        name: {
            "months": [str(rng.choice(months)) for _ in range(rows)],
            "died": [rng.randrange(2) for _ in range(rows)],
            "age": [rng.randrange(30, 90) for _ in range(rows)],
            "weight": [rng.randrange(50, 110) for _ in range(rows)],
            "sex": [rng.randrange(2) for _ in range(rows)],
        }
        for name in NAMES
    }


def cox(formula: str = "age + weight", time: str = "months", **options: str) -> Question:
    said = {"formula": formula, "time": time, "event": "died", **options}
    return Question("cox", "hr", tuple(said.items()))


def survival(time: str = "months", **options: Any) -> Question:
    return Question("survival", "os", tuple({"time": time, "event": "died", **options}.items()))


def refused(path: Path, rows: Mapping[str, Any], *studies: Study) -> list[str]:
    """What east's ledger has against the last of these studies."""
    with Ledger.open(path / "ledger") as ledger:
        for study in studies[:-1]:
            ledger.record(prepare(study, 1, open_source(rows["east"]), ledger.row_key)[1])
        _, entries = prepare(studies[-1], 1, open_source(rows["east"]), ledger.row_key)
        return [each.reason for each in ledger.check(entries)]


def answer(rows: Rows, study: Study) -> Any:
    ended = asked_of(study, study.meeting, rows)
    assert ended.refused is None
    return ended.states[0].answer


def first_score(rows: Rows, study: Study) -> Any:
    """At 0, of the columns as they are: what all parties see."""
    with steps_opened() as steps:
        answer(rows, study)
    step = steps[1]
    T = np.array([[float(x) for x in row] for row in step.problem.transform])
    scaled = T / 2.0 ** np.array(step.problem.scales)
    score = [float(x) for x in step.values[step.problem.layout.score]]
    return np.linalg.solve(scaled, score)


def test_events_that_count_from_another_number_at_risk_on(tmp_path: Path) -> None:
    """The second study is stricter, min_cell = 4: so it leaves out the one event that came when
    three of east's patients were left, and the difference of the scores is these three."""
    rows = people()
    for own in rows.values():
        last = sorted(range(200), key=lambda i: float(own["months"][i]))[-5:]
        for at, i in enumerate(last):
            own["months"][i], own["died"][i] = str(53 + at), 0
    east = rows["east"]
    left = [i for i in range(200) if float(east["months"][i]) >= 55]
    east["died"][left[0]] = 1
    east["months"] = [
        "55" if i == left[0] else "56" if i in left else m for i, m in enumerate(east["months"])
    ]
    usual, stricter = (study_of(rows, columns(), cox(), **k) for k in ({}, {"min_cell": 4}))
    three = np.array([[east["age"][i], east["weight"][i]] for i in left])
    told = first_score(rows, usual) - first_score(rows, stricter)
    assert told == pytest.approx(three[0] - three.mean(axis=0), abs=0.2), "one less three's mean"
    assert refused(tmp_path, rows, usual, stricter) == ["intervals"]
    (tmp_path / "other").mkdir()
    assert refused(tmp_path / "other", rows, usual, study_of(rows, columns(), cox("age"))) == []


def test_a_patient_between_the_steps_of_one_dictionary(tmp_path: Path) -> None:
    """A woman of east died after 30.5 months: on steps of a half in (30, 36], of 1 in (24, 30]."""
    rows = people()
    for name, value in (("months", "30.5"), ("died", 1), ("sex", 1)):
        rows["east"][name][5] = value
    asked = survival(by=("sex",), grid="6")
    fine, coarse = (study_of(rows, columns(step), asked) for step in ("0.5", "1"))
    before, after = (np.array(answer(rows, study)["1"].events) for study in (fine, coarse))
    assert abs(after - before).tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0], "one, and she died"
    assert refused(tmp_path, rows, fine, coarse) == ["intervals"]


@pytest.mark.parametrize("other", [{"step": "0.5"}, {"ends": ("0.5", "60.5")}])
def test_so_with_proportional_hazards(tmp_path: Path, other: Any) -> None:
    rows = people()
    asked = cox(grid="1")
    studies = study_of(rows, columns(), asked), study_of(rows, columns(**other), asked)
    assert refused(tmp_path, rows, *studies) == ["intervals"]


def test_a_histogram_in_one_study_and_a_curve_in_the_other(tmp_path: Path) -> None:
    """[12, 24) is a cell of the one, (12, 24] an interval of the other: one leaves at 24."""
    rows = people()
    rows["east"]["months"][5] = "24"
    table = study_of(rows, columns(), read_question("describe: months; bins=months=0:60:12"))
    curve = study_of(rows, columns(), survival(grid="12"))
    cells = answer(rows, table).to_dict()["columns"]["months"]["histogram"]["counts"]
    found = answer(rows, curve)["all"]
    by_24 = sum(found.events[:2]) + sum(found.censored[:2])
    assert by_24 - sum(cells[:2]) == 1
    assert refused(tmp_path, rows, table, curve) == ["intervals"]
    (tmp_path / "other").mkdir()
    assert refused(tmp_path / "other", rows, curve, table) == ["intervals"]


def test_two_histograms_with_cells_that_differ(tmp_path: Path) -> None:
    rows = people()
    asked = (read_question(f"describe: age; bins=age=0:120:{width}") for width in (20, 15))
    studies = [study_of(rows, columns(), each) for each in asked]
    assert refused(tmp_path, rows, *studies) == ["intervals"]
    assert refused(tmp_path, rows, studies[0]) == [], "the same again tells nothing new"


@pytest.mark.parametrize("name", ["time; months", "months; grid 6"])
@pytest.mark.parametrize("asked", [cox, survival])
def test_a_name_that_looks_like_options(tmp_path: Path, asked: Any, name: str) -> None:
    """Both grids were read from words, in which the name is not told from what follows it."""
    rows: Rows = {p: own | {name: own["months"]} for p, own in people().items()}
    grids = (asked(time=name, grid=grid) for grid in ("6", "4"))
    studies = [study_of(rows, columns(time=name), each) for each in grids]
    assert refused(tmp_path, rows, *studies) == ["intervals"]


NAMED = ["a;b", "w; x", "w; weights x", "a, b", "patient's weight", 'say "w"', "`w", '"', "w: x"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(
    "asked",
    [
        lambda name: Question("regression", "q", (("formula", "age ~ sex"), ("weights", name))),
        lambda name: Question("solve", "q", (("columns", ("age", name)), ("response", "sex"))),
        lambda name: cox("age", time=name),
        lambda name: Question("describe", "q", (("columns", (name, "age")),)),
        lambda name: survival(time=name, grid="6"),
    ],
    ids=["weights", "solve", "time", "describe", "survival"],
)
def test_what_was_asked_is_read_from_words_whatever_columns_are_called(
    asked: Any, name: str
) -> None:
    """After a study of a column called a;b every other one ended with an error of the program; of
    one with an apostrophe its model was not looked at beside later ones."""
    known = Dictionary.of({**columns(), name: Number.read("1", "60", "1")})
    (question,) = study_of(people(), known, asked(name)).questions
    key = RowKey(bytes(32), known.content())
    found = earlier_models([str(question)], (), key)
    assert all(name in model.columns_needed for model in found)
    assert len(found) == (question.kind not in ("describe", "survival"))


def test_what_a_ledger_knows_of_intervals_is_not_lost_when_it_is_damaged(tmp_path: Path) -> None:
    rows = people()
    studies = [study_of(rows, columns(), cox(grid=grid)) for grid in ("6", "4")]
    assert refused(tmp_path, rows, *studies) == ["intervals"]
    with closing(sqlite3.connect(tmp_path / "ledger")) as file, file:
        file.execute("UPDATE divided SET content = '[[\"months\"]]'")
    with pytest.raises(DamagedError, match="it is damaged"):
        refused(tmp_path, rows, studies[1])
