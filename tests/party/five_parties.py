"""A logistic regression of ten coefficients among five parties.

    python -m tests.party.five_parties

kills one of them between any two sums, in turn, with sessions over TLS; `make faults` runs it too.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.party.loopback import Gathering, answers_agree, run
from tests.party.test_come_back import KilledError, dies, norths
from titan.joint import SumSettings, together
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.party import run_to_answer
from titan.party.durable_session import DurableSession
from titan.party.session import Session
from titan.release import Category, Dictionary, Flag, Number
from titan.study import Study

NAMES = "north", "east", "south", "west", "centre"
NUMBERS = tuple(f"x{at}" for at in range(7))
FORMULA = f"died ~ {' + '.join(NUMBERS)} + arm"
COLUMNS = Dictionary.of(
    {
        **dict.fromkeys(NUMBERS, Number.read("-50", "50", "0.1")),
        "arm": Category(("a", "b", "c")),
        "died": Flag(),
    }
)
QUESTION = Question("glm", "risk", (("formula", FORMULA),))
COEFFICIENTS = len(NUMBERS) + 3


def lines(name: str, rows: int = 60) -> str:
    rng = random.Random(name)
    found = [",".join([*NUMBERS, "arm", "died"])]
    for _ in range(rows):
        x = [round(max(-49.0, min(49.0, rng.gauss(0, 10))), 1) for _ in NUMBERS]
        arm = rng.choice("abc")
        eta = 0.05 * x[0] - 0.04 * x[1] + 0.03 * x[2] + 0.4 * (arm == "b")
        died = int(rng.random() < 1 / (1 + np.exp(-eta)))
        found.append(",".join(map(str, [*x, arm, died])))
    return "\n".join(found) + "\n"


def gathering(folder: Path) -> Gathering:
    changes = {"questions": (QUESTION,), "columns": COLUMNS, "recovery": "tree"}
    g = Gathering(folder, names=NAMES, changes=changes)
    for name in NAMES:
        g.write(name, lines(name))
    return g


def in_one_process(study: Study, files: Mapping[str, Path]) -> Any:
    meeting = study.meeting
    parts = [meeting.prepare(open_source(str(files[name]))) for name in NAMES]
    (state,) = together(meeting, parts, SumSettings(study.network, tau=1)).answer
    return state.answer


def killed_after(sums: int, folder: Path) -> Any:
    """North is killed once so many totals are known, and comes back; the answer of all."""

    def known(it: DurableSession) -> bool:
        return norths(it) and isinstance(it.session, Session) and len(it.session.totals) == sums

    async def trial() -> Any:
        g = gathering(folder)
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(DurableSession, "accept", known, after=True):
            try:
                await g.join("north")
            except KilledError:
                g.shown.pop("north", None)
                await asyncio.gather(g.join("north"), *others)
            else:
                raise AssertionError("it was not killed")
        answers_agree(g)
        return g.shown["north"]["risk"]

    with patch.object(run_to_answer, "_GRACE", 0.5):
        return run(trial())


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        g = gathering(Path(place))
        expected = in_one_process(g.study, {n: Path(place) / f"{n}.csv" for n in NAMES})
    sums = 2 + expected.iterations
    print(f"{COEFFICIENTS} coefficients, {len(NAMES)} parties, {sums} sums")
    wrong = 0
    for after in range(1, sums):
        with tempfile.TemporaryDirectory() as place:
            same = killed_after(after, Path(place)).to_state() == expected.to_state()
        print(f"killed after sum {after}: {'the same bits' if same else 'OTHER BITS'}", flush=True)
        wrong += not same
    return int(bool(wrong or sums > 14))


if __name__ == "__main__":
    sys.exit(main())
