"""Survival curves of four hospitals that show each other no patient.

The patients are made up, from a seed. The first question is too fine, and the error says what would
do; the second is answered. With matplotlib, the picture is written too.

    python examples/survival.py [survival.png]
"""

from __future__ import annotations

import random
import sys
from typing import Any

import titan
from titan.release import Category, Column, Flag, Time

HOSPITALS = ("north", "east", "south", "west")
DICTIONARY: dict[str, Column] = {
    "months": Time.read(0, 60, 1, "months"),
    "died": Flag(),
    "arm": Category(("new", "usual")),
}


def patients(count: int, seed: int) -> dict[str, list[Any]]:
    """Of one hospital."""
    rng = random.Random(seed)  # noqa: S311 - patients, not masks
    rows: dict[str, list[Any]] = {"months": [], "died": [], "arm": []}
    for _ in range(count):
        arm = rng.choice(("new", "usual"))
        event = 1 + int(rng.expovariate(1 / (30 if arm == "new" else 18)))
        followed = rng.randrange(24, 61)
        rows["months"].append(min(event, followed))
        rows["died"].append(int(event <= followed))
        rows["arm"].append(arm)
    return rows


def main() -> None:
    data = {name: patients(200, seed) for seed, name in enumerate(HOSPITALS)}
    asked: dict[str, Any] = {"time": "months", "event": "died", "by": "arm", "tau": 1}
    try:
        titan.survival(data, "cycle", **asked, grid=1, dictionary=DICTIONARY)
    except titan.TitanError as refused:
        print(f"grid=1: {refused}\n")
    found = titan.survival(data, "cycle", **asked, grid=3, until=45, dictionary=DICTIONARY)
    print(found.summary())
    if len(sys.argv) > 1:
        found.plot(sys.argv[1])


if __name__ == "__main__":
    main()
