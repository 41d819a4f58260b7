"""Invariant: what real processes find is what all parties in one process find, to the last bit.

Every kind of question, every recovery, on digraphs that are not cycles: one meeting asks all.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titan
from titan import Network
from titan.joint import together
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.party.loopback import study_among
from titan.party.rehearsal import rehearse
from titan.party.run_to_answer import with_cost
from titan.protocol import RecoveryName
from titan.release import Category, Dictionary, Flag, Number
from titan.results import Results, encode
from titan.study import Study

NAMES = ("north", "east", "south")
DIGRAPHS = {
    "one link back": [(0, 1), (1, 2), (2, 0), (2, 1)],
    "two links back": [(0, 1), (1, 2), (2, 0), (2, 1), (0, 2)],
}
COLUMNS = Dictionary.of(
    {
        "age": Number.read("18", "90", "1", "years"),
        "bmi": Number.read("10", "60", "0.1"),
        "sex": Category(("f", "m")),
        "smokes": Flag(),
        "score": Number.read("-50", "50", "0.25"),
    }
)
QUESTIONS = (
    Question("regression", "plain", (("formula", "score ~ age + sex + smokes"),)),
    Question("regression", "robust", (("formula", "score ~ bmi"), ("cov_type", "HC0"))),
    Question("regression", "made", (("formula", "score ~ log(age)"),)),
    Question("ridge", "ridge", (("formula", "score ~ age + bmi"), ("alphas", ("0.5", "10")))),
    Question(
        "describe", "table", (("bins", ("age=0:120:60",)), ("columns", ("age", "bmi", "sex")))
    ),
    Question("solve", "system", (("columns", ("age", "bmi")), ("response", "score"))),
    Question("cox", "hazards", (("formula", "bmi"), ("time", "age"), ("event", "smokes"))),
)


def rows(name: str, count: int) -> str:
    rng = random.Random(name)
    lines = [
        f"{rng.randrange(18, 91)},{rng.randrange(100, 601) / 10},{rng.choice('fm')},"
        f"{rng.randrange(2)},{rng.randrange(-200, 201) / 4}"
        for _ in range(count)
    ]
    return "\n".join(["age,bmi,sex,smokes,score", *lines]) + "\n"


def in_one_process(study: Study, data: dict[str, Path]) -> bytes:
    """What a party's file would hold, by the local engine."""
    meeting = study.meeting
    parts = [meeting.prepare(open_source(data[name])) for name in study.network.parties]
    found = together(meeting, parts, study.settings)
    outcomes = {
        question.name: state.error or with_cost(state.answer, found.cost)
        for question, state in zip(study.questions, found.answer, strict=True)
    }
    parties, cost = study.network.parties, found.cost.as_dict()
    return encode(Results(outcomes, study=study.digest, run=1, parties=parties, cost=cost))


def study_on(edges: list[tuple[int, int]], folder: Path, **content: Any) -> Study:
    network = Network([(NAMES[a], NAMES[b]) for a, b in edges], parties=list(NAMES))
    settled = {"title": "acceptance", "tau": 1, "columns": COLUMNS, **content}
    return study_among(network, folder / "keys", keys=None, now=datetime.now(UTC), **settled)


@pytest.mark.parametrize("digraph", DIGRAPHS)
@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_every_kind_of_question(tmp_path: Path, recovery: RecoveryName, digraph: str) -> None:
    data = {}
    for at, name in enumerate(NAMES):
        data[name] = tmp_path / f"{name}.csv"
        data[name].write_text(rows(name, 100 + at))
    study = study_on(DIGRAPHS[digraph], tmp_path, questions=QUESTIONS, recovery=recovery)
    kept = tmp_path / "kept"
    found = rehearse(study, data, folder=kept)
    expected = in_one_process(found.study, data)
    files = {name: folder / "result.json" for name, folder in found.runs.items()}
    assert {name for name in NAMES if files[name].read_bytes() == expected} == set(NAMES)
    results = titan.load(kept)
    assert not results.errors
    together_ = {name: np.concatenate([_column(data[n], name) for n in NAMES]) for name in COLUMNS}
    plain = titan.fit(together_, formula="score ~ bmi", decimal=True, cov_type="HC0")
    assert dict(results["robust"].params) == dict(plain.params), (
        "that of all rows, to the last digit"
    )


def _column(file: Path, name: str) -> Any:
    header, *lines = file.read_text().splitlines()
    cells = [line.split(",")[header.split(",").index(name)] for line in lines]
    return np.array(cells if name == "sex" else list(map(float, cells)))


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_an_average_of_what_every_party_holds(tmp_path: Path, recovery: RecoveryName) -> None:
    """One row each."""
    data = {}
    for at, name in enumerate(NAMES):
        data[name] = tmp_path / f"{name}.csv"
        data[name].write_text(f"score,bmi\n{-12.25 + at},{20.1 + at:.1f}\n")
    asked = Question("average", "mean", (("columns", ("score", "bmi")),))
    study = study_on(DIGRAPHS["two links back"], tmp_path, questions=(asked,), recovery=recovery)
    found = rehearse(replace(study), data, folder=tmp_path / "kept")
    (expected,) = {in_one_process(found.study, data)}
    assert all((f / "result.json").read_bytes() == expected for f in found.runs.values())
    mean = titan.load(tmp_path / "kept")["mean"]
    assert mean.to_dict()["value"] == {"score": -11.25, "bmi": 21.1}
