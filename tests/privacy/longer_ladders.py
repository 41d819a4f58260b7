"""Many models of one number: what passes the budget of bits, lattice reduction does not find.

Functions of age are drawn at random; those near the limit are attacked as in `release.ladders`.
"""

from __future__ import annotations

import random

import pytest

from titan.errors import InputError

from ..release.ladders import AGES, ROWS, budget, counts_recovered

_TOGETHER = 40


def drawn(rng: random.Random) -> str:
    at, rate = rng.randint(30, 75), rng.choice(["0.01", "0.02", "0.05", "0.1", "0.2"])
    return rng.choice(
        [
            f"I(age ** {rng.randint(2, 7)})",
            f"exp(-{rate} * {rng.randint(1, 5)} * age)",
            f"exp(-0.1 * {rate} * (age - {at}) ** 2)",
            f"sqrt((age - {at}) ** 2)",
            f"log(age + {at})",
            f"I(sqrt((age - {at}) ** 2) * (age - {at}))",
        ]
    )


@pytest.mark.parametrize("seed", range(10))
def test_what_passes_is_not_found(seed: int) -> None:
    rng, passed, found = random.Random(seed), 0, 0
    while passed < _TOGETHER:
        pieces = dict.fromkeys(drawn(rng) for _ in range(rng.randint(1, 6)))
        formula, precision = "y ~ age + " + " + ".join(pieces), rng.choice([12, 16, 20, 24])
        try:
            of_counts = budget(formula, precision).shares[0]
        except InputError:
            continue
        if of_counts.passes(len(ROWS)):
            passed += 1
            assert counts_recovered(formula, precision) < len(AGES) / 2, formula
        else:
            found += counts_recovered(formula, precision) == len(AGES)
    assert found, "the attack itself works"
