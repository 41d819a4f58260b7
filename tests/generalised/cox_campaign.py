"""Random times to an event against mpmath at 60 digits, and monotone likelihoods: no answer.

    python -m tests.generalised.cox_campaign --random 200 --monotone 80

Exit status 1 where a number lies outside its bound, or a monotone likelihood has an answer.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import titan
from tests.generalised import cox_problems, cox_truth, truth
from titan.errors import TitanError

PRECISIONS: tuple[int | str, ...] = (24, 40, "exact")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=200)
    parser.add_argument("--monotone", type=int, default=80)
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(chosen.random):
        one_random(seed, counts)
    for seed in range(chosen.monotone):
        one_monotone(seed, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:6d} {what}")
    return int(bool(counts["OUTSIDE"] or counts["MONOTONE AND ANSWERED"]))


def fitted(timed: cox_problems.Timed, **asked: Any) -> titan.Cox:
    among: dict[str, Any] = {"network": "complete", "allow_small": True}
    several = isinstance(timed.tables, list)
    return titan.cox(timed.tables, **timed.asked, **asked, **(among if several else {}))


def one_random(seed: int, counts: Counter[str], rows: tuple[int, int] = (25, 90)) -> None:
    timed = cox_problems.drawn(seed, rows)
    penalty = 0.5 if seed % 7 == 0 else 0.0
    try:
        out = fitted(timed, precision=PRECISIONS[seed % 3], alpha=penalty or None)
    except TitanError:
        counts["random: no proof"] += 1
        return
    compare(out, timed, counts, penalty)


def compare(
    out: titan.Cox, timed: cox_problems.Timed, counts: Counter[str], penalty: float = 0.0
) -> None:
    found = cox_truth.estimate(
        timed.matrix.tolist(),
        timed.table["t"].tolist(),
        timed.table["d"].tolist(),
        timed.party.tolist(),
        timed.asked["ties"],
        penalty=penalty,
        start=list(out.params.values()),
    )
    right = truth.inside(out.params, found.params)
    if not penalty:
        right += truth.inside(out.bse, found.bse)
        tested = truth.tests_of(found.params, found.bse)
        right += truth.told(out.to_dict(), tested | truth.ratios_of(tested))
    told = [out.statistics["llf"], out.statistics["llnull"]]
    right += truth.inside(titan.leastsquares.named.Named(["llf", "llnull"], told), found[2:])
    bits = out.opened.problem.bits
    counts[f"random: certified at {bits} bits"] += 1
    counts[f"random: {min(out.digits, 20):2d} digits at {bits} bits"] += 1
    counts["numbers compared"] += len(right)
    counts["OUTSIDE"] += right.count(False)


def one_monotone(seed: int, counts: Counter[str]) -> None:
    timed = cox_problems.monotone(seed)
    try:
        fitted(timed, precision=PRECISIONS[seed % 3])
    except TitanError:
        counts["monotone: no answer"] += 1
    else:
        counts["MONOTONE AND ANSWERED"] += 1


if __name__ == "__main__":
    sys.exit(main())
