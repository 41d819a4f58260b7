"""A trial that never was: times to an event in two arms at four hospitals, from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Time

PARTIES = ("north", "east", "south", "west")
COLUMNS = Dictionary.of(
    {
        "months": Time.read("0", "60", "1", "months"),
        "died": Flag(),
        "arm": Category(("a", "b")),
        "sex": Category(("f", "m")),
    }
)
Rows = dict[str, list[Any]]


def trial(rows: int = 600, seed: int = 1) -> Rows:
    """All patients, and the hospital of each."""
    rng = random.Random(seed)
    found: Rows = {"months": [], "died": [], "arm": [], "sex": [], "hospital": []}
    for _ in range(rows):
        arm = rng.choice("ab")
        event = 1 + int(rng.expovariate(1 / (14 if arm == "a" else 25)))
        followed = rng.randrange(24, 61)
        patient = (min(event, followed), int(event <= followed), arm, rng.choice("fm"))
        for name, cell in zip(found, (*patient, rng.choice(PARTIES)), strict=True):
            found[name].append(cell)
    return found


def by_party(rows: Mapping[str, list[Any]], column: str = "hospital") -> dict[str, Rows]:
    names = [name for name in rows if name != column]
    found: dict[str, Rows] = {party: {name: [] for name in names} for party in PARTIES}
    for at, party in enumerate(rows[column]):
        for name in names:
            found[party][name].append(rows[name][at])
    return found


def asking(name: str = "os", **options: Any) -> Question:
    """Of months to died, with by, grid and until as they are given."""
    said = {key: tuple(v) if isinstance(v, list) else str(v) for key, v in options.items()}
    return Question("survival", name, tuple({"time": "months", "event": "died", **said}.items()))


def asked_again(hint: str) -> list[dict[str, str]]:
    """What a hint names: grid=12 would do, or until=24 with grid=6 …"""
    advice = hint.split(";")[0].split(", or ")
    return [dict(re.findall(r"(grid|until)=([0-9.]+)", each)) for each in advice]
