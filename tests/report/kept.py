"""A real run to report on: every kind of question, and names that would break a careless page."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.party.loopback import Gathering, run
from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Number, Time

ODD = "\"' onclick=alert(3) <script>alert(1)</script> & <img src=x onerror=alert(2)>"
NAMES = ("north", "east", "south")
COLUMNS = Dictionary.of(
    {
        "age": Number.read("18", "90", "1", "<b>years</b>"),
        "y": Number.read("0", "300", "1"),
        "sex": Category((ODD, "m")),
        "died": Flag(),
        "<i>weight</i>": Number.read("0", "200", "1"),
        "months": Time.read("0", "60", "1", "months"),
    }
)


def _asked(kind: str, name: str, **options: Any) -> Question:
    return Question(kind, name, tuple(options.items()))


QUESTIONS = (
    _asked("regression", ODD, formula="y ~ sex + age", cov_type="HC0"),
    _asked("ridge", "shrunk", formula="y ~ age", alphas=("0.1", "1")),
    _asked("glm", "risk", formula="died ~ age", family="binomial"),
    _asked("describe", "table", columns=("age", "sex", "died", "<i>weight</i>")),
    _asked("survival", "os", time="months", event="died", by=("sex",), grid="12", until="36"),
    _asked("solve", "equations", columns=("age",), response="y"),
    _asked("cox", "hazard", formula="y", time="months", event="died", grid="3"),
)


def rows(name: str, count: int = 60) -> str:
    rng = random.Random(name)
    lines = ["age,y,sex,died,months,<i>weight</i>"]
    for _ in range(count):
        age, sex = rng.randrange(20, 90), rng.choice((ODD, "m"))
        y = min(2 * age + rng.randrange(60), 300)
        died, quoted = int(rng.random() < age / 100), sex.replace('"', '""')
        lines.append(f'{age},{y},"{quoted}",{died},{rng.randrange(1, 60)},{rng.randrange(40, 120)}')
    return "\n".join(lines) + "\n"


def run_of_all_kinds(folder: Path) -> Gathering:
    """Three parties' runs, in folders of their own, and the study's file beside."""
    changes = {"columns": COLUMNS, "questions": QUESTIONS, "title": ODD, "recovery": "tree"}
    found = Gathering(folder, names=NAMES, changes=changes)
    for name in NAMES:
        found.write(name, rows(name))
    run(found.all())
    found.study.save(folder / "study.toml")
    return found
