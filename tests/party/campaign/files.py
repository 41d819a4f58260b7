"""The files of one run: keys, rows and the study; and the answer it must have."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import titan
from tests.party.campaign.scenario import Scenario
from titan.joint.kinds import Question
from titan.release import Dictionary, Number
from titan.study import Card, Identity, Link, Study

MADE = datetime(2024, 1, 1, tzinfo=UTC)
FORMULA = "y ~ a + b"
COLUMNS = Dictionary.of({name: Number.read("-100", "100", "0.001") for name in "aby"})
ROWS = 30


@cache
def _identity(name: str) -> Identity:
    return Identity.create(name, "127.0.0.1:1", now=MADE, days=36_500)


def write(scenario: Scenario, folder: Path, addresses: Mapping[str, str]) -> dict[str, Any]:
    """Everything the parties need; the result that `titan.fit` has for the same rows."""
    rng = Random(f"rows {scenario.seed}")
    cards = []
    for name in scenario.parties:
        found = _identity(name)
        card = Card(name, addresses[name], found.card.certificate)
        Identity(card, found._key).save(folder)
        cards.append(card)
        _write_rows(rng, folder / f"{name}.csv")
    study = Study(
        title=f"run {scenario.seed}",
        tau=scenario.tau,
        parties=tuple(cards),
        links=tuple(Link(*link) for link in scenario.links),  # type: ignore[arg-type]
        columns=COLUMNS,
        questions=(Question("regression", "", (("formula", FORMULA),)),),
        **scenario.choices,
    )
    study.save(folder / "study.toml")
    return _expected(study, folder)


def load(path: Path) -> dict[str, Any]:
    """A saved answer."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _write_rows(rng: Random, path: Path) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "y"])
        for _ in range(ROWS):
            rows.writerow([f"{rng.gauss(0, 10):.3f}" for _ in range(3)])


def _expected(study: Study, folder: Path) -> dict[str, Any]:
    tables = {card.name: folder / f"{card.name}.csv" for card in study.parties}
    fitted = titan.fit(tables, study.network, formula=FORMULA, tau=study.tau)
    found: dict[str, Any] = json.loads(json.dumps(fitted.to_dict()))
    return found
