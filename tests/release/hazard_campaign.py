"""Random studies of hazards by one number: does who knows nearly all find a party's table?

    python -m tests.release.hazard_campaign --studies 60

The attacker has all rows of two of three parties and the sums over every risk set
(`hazards_opened`). Exit status 1 where it finds nine of ten entries of the third's table in a study
that passes. The same studies without the rule are its control: there it must find some.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from .hazards_opened import Party, attacked, cox, drawn, known, usual
from .steps_opened import ask_steps

_MOST_CELLS = 160  # more take lattice reduction long


def one(seed: int, *, limited: bool) -> str:
    rng = np.random.default_rng(seed)
    values, grid = int(rng.choice([15, 21, 31, 51, 81])), int(rng.choice([60, 60, 30, 20, 12]))
    own, others = (int(np.exp(rng.uniform(*np.log(ends)))) for ends in ((20, 300), (15, 2000)))
    parties = drawn(seed, (others, own, 12), values, float(rng.choice([0.3, 0.6, 1.2])))
    asked = cox("x", grid, ties="breslow", precision=int(rng.choice([24, 32, 40])))
    ended, steps = ask_steps(parties, known(values), asked, limited=limited)
    if ended.refused is not None:
        return f"refused: {ended.refused.rule}"
    if ended.states[0].answer is None:
        return "no proof"
    found = {name: Party.of(rows, grid) for name, rows in parties.items()}
    party = found["east"]
    secret = party.table(values)
    if not 0 < len(secret) <= _MOST_CELLS:
        return "passed, too large a table to try"
    right = attacked(steps, party, [found["north"], found["south"]], values)
    expected = sum(round(g) == s for g, s in zip(usual(party, values), secret, strict=True))
    return "FOUND" if right >= 0.9 * len(secret) > expected * 1.2 else "passed, not found"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=60)
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
