"""Random and real problems against mpmath at 60 digits, and separated ones, which have no answer.

    python -m tests.generalised.campaign --random 300 --separated 100

Exit status 1 where one estimate lies outside its bound, or one separated problem has an answer.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import titan
from tests.generalised import problems, real, truth
from titan.errors import DataError

PRECISIONS: tuple[int | str, ...] = (24, 40, "exact")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=300)
    parser.add_argument("--separated", type=int, default=100)
    parser.add_argument("--no-real", action="store_true")
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(chosen.random):
        one_random(seed, counts)
    if not chosen.no_real:
        for name in real.NAMES:
            one_real(name, counts)
    for seed in range(chosen.separated):
        one_separated(seed, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:6d} {what}")
    return int(bool(counts["OUTSIDE"] or counts["SEPARATED AND ANSWERED"]))


def one_random(seed: int, counts: Counter[str]) -> None:
    drawn = problems.drawn(seed)
    precision = PRECISIONS[seed % 3]
    penalty: dict[str, Any] = {"alpha": 0.5} if seed % 7 == 0 else {}
    try:
        out = titan.glm(drawn.table, **drawn.asked, **penalty, precision=precision)
    except DataError:
        counts["random: no proof"] += 1
        return
    compare(out, drawn, counts, "random", bool(penalty))


def compare(out: Any, drawn: Any, counts: Counter[str], what: str, penalised: bool = False) -> None:
    p = drawn.matrix.shape[1]
    params, errors = truth.estimate(
        drawn.matrix.tolist(),
        drawn.y.tolist(),
        drawn.asked["family"],
        weights=drawn.weights,
        offset=drawn.offset,
        penalties=[0.0] + [0.5] * (p - 1) if penalised else None,
        start=list(out.params.values()),
    )
    right = truth.inside(out.params, params)
    if not penalised:
        right += truth.inside(out.bse, errors)
        right += truth.told(out.to_dict(), truth.tests_of(params, errors))
    counts[f"{what}: certified at {out.opened.problem.bits} bits"] += 1
    counts[f"{what}: {min(out.digits, 20):2d} digits at {out.opened.problem.bits} bits"] += 1
    counts["numbers compared"] += len(right)
    counts["OUTSIDE"] += right.count(False)


def one_real(name: str, counts: Counter[str]) -> None:
    for precision in PRECISIONS:
        drawn = real.drawn(name)
        try:
            out = titan.glm(drawn.table, **drawn.asked, precision=precision)
        except DataError:
            counts[f"real: no proof of {name}"] += 1
            continue
        compare(out, drawn, counts, "real")


def one_separated(seed: int, counts: Counter[str]) -> None:
    drawn = problems.separated(seed)
    try:
        titan.glm(drawn.table, **drawn.asked, precision=PRECISIONS[seed % 3])
    except DataError:
        counts["separated: no answer"] += 1
    else:
        counts["SEPARATED AND ANSWERED"] += 1


if __name__ == "__main__":
    sys.exit(main())
