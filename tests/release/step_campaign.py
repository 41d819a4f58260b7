"""Random studies of one number: does lattice reduction find its table in what their steps opened?

    python -m tests.release.step_campaign --studies 100

Exit status 1 where it finds the rows at nine of ten values in a study that passes. The same studies
without the rule are its control: there it must find some.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np

from titan.release import Dictionary, Flag, Number

from .steps_opened import ask_steps, found_in, glm, sums_of

_NAMES = "north", "east", "south"


def drawn(seed: int) -> tuple[dict[str, Any], Dictionary, str, int, list[float]]:
    """Columns, their dictionary, a family, the bits, and what somebody expects of the table."""
    rng = np.random.default_rng(seed)
    rows, values = (
        int(np.exp(rng.uniform(np.log(60), np.log(2000)))),
        int(rng.choice([31, 51, 121])),
    )
    centre, spread = values * rng.uniform(0.3, 0.65), values * rng.uniform(0.06, 0.3)
    x = np.clip(np.round(rng.normal(centre, spread, rows)), 0, values - 1).astype(int)
    slope = rng.choice([0.3, 0.6, 1.5]) * rng.choice([-1, 1]) * (x - centre) / spread
    outcome: Any = Flag()
    if seed % 3 == 2:
        y = np.minimum(rng.poisson(np.exp(0.5 + 0.5 * slope)), 200)
        outcome = Number.read("0", "200", "1")
    else:
        y = (rng.random(rows) < 1 / (1 + np.exp(-slope))).astype(int)
    known = Dictionary.of({"x": Number.read("0", str(values - 1), "1"), "y": outcome})
    usual = np.exp(-(((np.arange(values) - centre) / spread) ** 2) / 2)
    family = "poisson" if seed % 3 == 2 else "binomial"
    bits = int(rng.choice([24, 24, 32, 40]))
    return {"x": x, "y": y}, known, family, bits, (usual / usual.sum() * rows).tolist()


def one(seed: int, *, limited: bool) -> str:
    columns, known, family, bits, guess = drawn(seed)
    parties = {name: {key: list(column[at::3]) for key, column in columns.items()}
               for at, name in enumerate(_NAMES)}  # fmt: skip
    asked = glm("y ~ x", family=family, precision=bits)
    ended, steps = ask_steps(parties, known, asked, limited=limited)
    if ended.refused is not None or len(steps) < 2:
        return f"refused: {ended.refused.rule if ended.refused else 'no proof'}"
    grid = np.arange(len(guess))
    points, rows = (np.stack([np.ones(len(v)), v], axis=1) for v in (grid, columns["x"]))
    exact = [grid**0, grid, grid**2, grid % 2 != 0, grid % 5 != 0, grid % 10 != 0]
    secret = np.bincount(columns["x"], minlength=len(grid)).tolist()
    sums = sums_of(steps, points, rows, columns["y"])
    found = found_in(sums, [f.tolist() for f in exact], secret, guess)
    expected = sum(round(g) == s for g, s in zip(guess, secret, strict=True))
    return "FOUND" if found >= 0.9 * len(grid) > expected * 1.2 else "passed, not found"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    studies = parser.parse_args().studies
    counts = {
        limited: Counter(one(seed, limited=limited) for seed in range(studies))
        for limited in (False, True)
    }
    for limited, found in counts.items():
        print("as they are:" if limited else "without the rule:")
        for what, count in sorted(found.items()):
            print(f"{count:6d} {what}")
    return int(bool(counts[True]["FOUND"]) or not counts[False]["FOUND"])


if __name__ == "__main__":
    sys.exit(main())
