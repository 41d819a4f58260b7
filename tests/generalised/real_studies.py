"""The real data sets as studies describe them: numbers on a grid, a little beyond their ends.

    python -m tests.generalised.real_studies

asks them of four parties with nothing lowered; exit status 1 where one is refused, or has less than
24 bits.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np

from tests.generalised import real
from tests.release.asking import Ended
from tests.release.steps_opened import ask_steps, glm
from titan.release import Dictionary, Flag, Number

NAMES = "vote", "affairs", "travel", "tumour", "visits", "television", "children"
"""Those that have the rows for several parties, and no cell of one or two."""
_STEPS = {
    "logpopul": "0.01", "texture": "0.01", "smoothness": "0.0001", "symmetry": "0.0001",
    "lncoins": "0.01", "lpi": "0.01", "yrs_married": "0.5", "age": "0.5", "disea": "0.1",
    "physlm": "0.01", "occupation": "0.5",
}  # fmt: skip
_PARTIES = "north", "east", "south", "west"


def described(name: str) -> tuple[dict[str, Any], Dictionary]:
    """The columns on their grids, and the dictionary."""
    drawn = real.drawn(name)
    table: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for column, values in drawn.table.items():
        if set(np.unique(values)) <= {0.0, 1.0}:
            table[column], known[column] = values.astype(int).tolist(), Flag()
            continue
        step = Fraction(_STEPS.get(column, "1"))
        at = np.round(values / float(step)).astype(int)
        low, high = int(at.min()), int(at.max())
        beyond = max(1, (high - low) // 10)
        low = low - beyond if low < 0 or low > beyond else 0
        known[column] = Number(low * step, (high + beyond) * step, step)
        table[column] = [float(n * step) for n in at.tolist()]
    return table, Dictionary.of(known)


def asked(name: str) -> Ended:
    """Of four parties, nothing lowered."""
    table, known = described(name)
    order = np.random.default_rng(1).permutation(len(next(iter(table.values()))))
    parties = {
        party: {key: [values[i] for i in order[at::4]] for key, values in table.items()}
        for at, party in enumerate(_PARTIES)
    }
    drawn = real.drawn(name).asked
    return ask_steps(parties, known, glm(drawn["formula"], family=drawn["family"]))[0]


def main() -> int:
    wrong = 0
    for name in NAMES:
        ended = asked(name)
        answer = ended.states[0].answer if ended.states else None
        bits = answer.opened.problem.bits if answer is not None else 0
        wrong += bits != 24
        said = f"{bits} bits, {answer.digits} digits" if answer is not None else ended.refused
        print(f"{name}: {said}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
