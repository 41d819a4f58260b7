"""The files of one run: keys, rows and the study; and what it must end in."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.party.campaign.expected import FORMULA, Expected
from tests.party.campaign.scenario import STEPPED, Scenario
from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Number, Time
from titan.release.dictionary import Column
from titan.study import Card, Identity, Link, Study

MADE = datetime(2024, 1, 1, tzinfo=UTC)
LARGE = tuple(f"c{at}" for at in range(64))
"""So many columns that their sums, in a ring of 4096 bits, need more than a chunk."""
ROWS = 30
ROWS_LARGE = 250
NUMBER = Number.read("-100", "100", "0.001")
OUTLIER = "99"
"""Where all other numbers are some tens at most."""
WEIGHT = Number.read("0", "4", "0.25")
LEVELS = Category(("low", "high"))
MONTHS = Time.read("0", "12", "1")
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "regression": ("regression", {"formula": FORMULA}),
    "HC0": ("regression", {"formula": FORMULA, "cov_type": "HC0"}),
    "cluster": ("regression", {"formula": "y ~ a", "cov_type": "cluster"}),
    "weights": ("regression", {"formula": FORMULA, "weights": "w"}),
    "category": ("regression", {"formula": "y ~ a + k"}),
    "ridge": ("ridge", {"formula": FORMULA, "alphas": ("0.5", "3")}),
    "solve": ("solve", {"columns": ("a", "b"), "response": "y"}),
    "average": ("average", {"columns": ("a", "y")}),
    "describe": ("describe", {"columns": ("a", "b", "y"), "bins": ("a=-100:100:100",)}),
    "glm": ("glm", {"formula": "d ~ a + b"}),
    "survival": ("survival", {"time": "t", "event": "d", "grid": "6"}),
    "cox": ("cox", {"formula": "a + b", "time": "t", "event": "d"}),
    "large": ("solve", {"columns": LARGE, "response": "y"}),
}


@cache
def _identity(name: str) -> Identity:
    return Identity.create(name, "127.0.0.1:1", now=MADE, days=36_500)


def write(scenario: Scenario, folder: Path, addresses: Mapping[str, str]) -> Expected:
    """Everything the parties need; what the same rows end in, in one process."""
    rng = Random(f"rows {scenario.seed}")
    cards = []
    columns = _columns(scenario)
    for name in scenario.parties:
        found = _identity(name)
        card = Card(name, addresses[name], found.card.certificate)
        Identity(card, found._key).save(folder)
        cards.append(card)
        rows = ROWS_LARGE if "large" in scenario.questions else ROWS
        first = [OUTLIER] if name == scenario.outlier else []
        _write_rows(rng, folder / f"{name}.csv", columns, rows, first)
        if "average" in scenario.questions:
            _write_rows(rng, folder / f"{name}.row.csv", columns, 1)
    study = Study(
        title=f"run {scenario.seed}",
        tau=scenario.tau,
        parties=tuple(cards),
        links=tuple(Link(*link) for link in scenario.links),  # type: ignore[arg-type]
        columns=Dictionary.of(columns),
        questions=tuple(
            Question(ASKED[name][0], name, tuple(sorted(ASKED[name][1].items())))
            for name in scenario.questions
        ),
        **scenario.choices,
    )
    study.save(folder / "study.toml")
    return Expected.of(study, folder)


def load(path: Path) -> dict[str, Any]:
    """A saved answer."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _columns(scenario: Scenario) -> dict[str, Column]:
    """Weights and categories only where they are asked for."""
    numbers = LARGE if "large" in scenario.questions else ("a", "b")
    found: dict[str, Column] = dict.fromkeys([*numbers, "y"], NUMBER)
    if "weights" in scenario.questions:
        found["w"] = WEIGHT
    if "category" in scenario.questions:
        found["k"] = LEVELS
    if set(STEPPED) & set(scenario.questions):
        found |= {"d": Flag(), "t": MONTHS}
    return found


def _write_rows(
    rng: Random, path: Path, columns: Mapping[str, Column], rows: int, first: Sequence[str] = ()
) -> None:
    """The first row begins with these cells."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for at in range(rows):
            cells = [_cell(rng, column) for column in columns.values()]
            table.writerow([*first, *cells[len(first) :]] if at == 0 else cells)


def _cell(rng: Random, column: Column) -> str:
    if isinstance(column, Category):
        return rng.choice(column.levels)
    if isinstance(column, Flag):
        return rng.choice("01")
    if column is MONTHS:
        return str(rng.randint(1, 12))
    if column is WEIGHT:  # much the same, so that no row stands out between two questions
        return f"{rng.randint(12, 16) / 4}"
    return f"{max(-99, min(99, rng.gauss(0, 10))):.3f}"
