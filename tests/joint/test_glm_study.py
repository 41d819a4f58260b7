"""Invariant: a GLM asked in a study ends with the same bits at every party, however driven."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.party.loopback import NAMES, Gathering, run
from titan.errors import InputError, VetoError
from titan.joint import SumSettings, together
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.release import Dictionary, Flag
from titan.results import encode
from titan.study import Study, check

from .plain import number

COLUMNS = Dictionary.of({"x": number("0", "20", "0.1"), "z": number("0", "10", "0.1"), "d": Flag(),
                         "n": number("0", "30", "1")})  # fmt: skip
LOGISTIC = Question("glm", "risk", (("formula", "d ~ x + z"),))
POISSON = Question("glm", "visits", (("formula", "n ~ x + z"), ("family", "poisson")))


def lines(name: str, rows: int = 60) -> str:
    rng = random.Random(name)
    found = ["x,z,d,n"]
    for _ in range(rows):
        x, z = rng.randrange(201) / 10, rng.randrange(101) / 10
        d = int(rng.random() < 1 / (1 + np.exp(1.5 - 0.12 * x - 0.1 * z)))
        found.append(f"{x},{z},{d},{min(int(rng.expovariate(0.3)), 30)}")
    return "\n".join(found) + "\n"


def gathering(folder: Path, *questions: Question, **changes: Any) -> Gathering:
    g = Gathering(folder, changes={"questions": questions, "columns": COLUMNS, **changes})
    for name in NAMES:
        g.write(name, lines(name))
    return g


def in_one_process(study: Study, folder: Path, engine: Any = "local") -> Any:
    meeting = study.meeting
    parts = [meeting.prepare(open_source(str(folder / f"{name}.csv"))) for name in NAMES]
    settings = SumSettings(study.network, tau=1, engine=engine)
    return together(meeting, parts, settings).answer


def test_real_parties_find_the_bits_that_one_process_finds(tmp_path: Path) -> None:
    g = gathering(tmp_path, LOGISTIC, POISSON)
    outcomes = run(g.all())
    assert len({encode(outcomes[name].results) for name in NAMES}) == 1
    results = outcomes["north"].results
    states = in_one_process(g.study, tmp_path)
    for (name, _), state in zip(g.study.meeting.computations, states, strict=True):
        assert results[name].to_state() == state.answer.to_state()
        assert results[name].digits >= 3  # of 180 rows, in two questions of the same numbers
        assert 2 + results[name].iterations <= 14
    vectorised = in_one_process(g.study, tmp_path, "vectorised")
    assert [s.answer.to_state() for s in vectorised] == [s.answer.to_state() for s in states]


def test_check_lists_what_every_step_opens(tmp_path: Path) -> None:
    report = check(gathering(tmp_path, LOGISTIC).study, datetime.now(UTC)).as_dict()
    (question,) = report["questions"]
    steps = [each for each in question["sums"] if each["name"].startswith("step ")]
    assert len(steps) == 22
    assert len(question["sums"]) <= 25
    learned = {item["what"]: item for item in report["learned"]}
    assert (
        "for each of at most 22 steps 9 numbers, p(p+3)/2 for p = 3" in learned["steps"]["sentence"]
    )
    assert "16 bits" in learned["steps"]["sentence"]
    assert learned["steps"]["numbers"] == 22 * 9
    told = sum(item["numbers"] for item in report["learned"])
    assert told == sum(each["entries"] for each in question["sums"])


def test_check_says_what_is_not_opened(tmp_path: Path) -> None:
    exposed = Question("glm", "rate", (*POISSON.options.items(), ("offset", "I(x / 10)")))
    report = check(gathering(tmp_path, exposed).study, datetime.now(UTC)).as_dict()
    learned = {item["what"]: item for item in report["learned"]}
    assert learned["statistics"]["numbers"] == 22 * 4
    assert "not Σ log y!, Σ (y log y − y)" in learned["statistics"]["sentence"]
    assert "_" not in learned["statistics"]["sentence"], "names of the program, not words"
    assert "only where the offset's table allows" in learned["steps"]["sentence"]


def test_a_party_vetoes_a_step_in_which_its_rows_have_all_the_weight(tmp_path: Path) -> None:
    """Separated, and a single row in the middle: as the slope grows it has all the weight."""
    g = gathering(tmp_path, Question("glm", "risk", (("formula", "d ~ x"),)))
    for name in NAMES:
        rng = random.Random(name)
        rows = [f"{x},1,{int(x > 10)},1" for x in rng.choices([0, 1, 2, 4, 16, 18, 19, 20], k=60)]
        rows += ["10,1,0,1"] if name == "east" else []
        g.write(name, "\n".join(["x,z,d,n", *rows]) + "\n")
    with pytest.raises(VetoError) as caught:
        in_one_process(g.study, tmp_path)
    assert "weigh more than one of 3" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((("formula", "x ~ z"),), "not 0 or 1"),
        ((("formula", "d ~ x"), ("precision", "exact")), "precision"),
        ((("formula", "d ~ x"), ("alpha", "-1")), "alpha"),
        ((("formula", "d ~ x"), ("family", "normal")), "family"),
        ((("formula", "d ~ x"), ("exposure", "z")), "does not exist"),
        ((("formula", "d ~ x"), ("offset", "z"), ("exposure", "z")), "exposure"),
    ],
)
def test_what_a_study_does_not_ask(
    tmp_path: Path, asked: tuple[tuple[str, str], ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        assert gathering(tmp_path, Question("glm", "q", asked)).study.meeting


def test_a_question_in_words() -> None:
    from titan.study.asking import read_question

    found = read_question("glm: d ~ x + z; family=binomial; offset=z; alpha=0.5; name=risk")
    assert (found.kind, found.name) == ("glm", "risk")
    settled = Question.of(found.kind, found.name, found.options, COLUMNS)
    assert settled.options["alpha"] == "0.5"
