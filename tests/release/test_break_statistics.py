"""Invariant: the statistics of a fit, told once with its last step, are not a table of outcomes."""

from __future__ import annotations

from math import exp, factorial, sqrt
from typing import Any

import numpy as np
import pytest

from titan.generalised.families import log_factorial, saturated
from titan.release import Dictionary, Number

from .steps_opened import Sums, ask_steps, found_in, glm

VALUES = 16
KNOWN = Dictionary.of(
    {
        "age": Number.read("0", "100", "1"),
        "weight": Number.read("0", "100", "1"),
        "visits": Number.read("0", "30", "1"),
    }
)


@pytest.mark.xfail(
    strict=True,
    reason="Σ log y! and Σ (y log y − y) are opened to 24 bits and are functions of the table of "
    "outcomes alone: lattice reduction finds how many had each number of visits",
)
@pytest.mark.parametrize(("rows", "mean", "seed"), [(300, 1.2, 2), (150, 1.0, 5), (900, 1.5, 6)])
def test_the_outcomes_of_a_poisson_regression_are_not_found(
    rows: int, mean: float, seed: int
) -> None:
    """With nothing lowered. In two of these one patient alone had the most visits."""
    rng = np.random.default_rng(seed)
    age, weight = (rng.integers(0, 101, rows) for _ in range(2))
    visits = rng.poisson(np.exp(np.log(mean) + 0.004 * (age - 50)))
    columns = {"age": age, "weight": weight, "visits": visits}
    parties: dict[str, Any] = {
        name: {key: values[at::3].tolist() for key, values in columns.items()}
        for at, name in enumerate(("north", "east", "south"))
    }
    ended, steps = ask_steps(parties, KNOWN, glm("visits ~ age + weight", family="poisson"))
    if ended.refused is not None or not steps[-1].point.last:
        return
    told = steps[-1].statistics
    names = [name for name in ("log_factorial", "saturated") if name in told]
    functions = {"log_factorial": log_factorial, "saturated": saturated}
    near = float(steps[-1].statistics_error) / 3 * sqrt(3 / 12)
    y = range(VALUES)
    sums = Sums(
        [np.array([functions[name](value) for value in y]) for name in names],
        [float(told[name]) for name in names],
        [near] * len(names),
    )
    # rows, those without a visit and Σ y are opened, and rows off coarser grids of y
    exact = [[1] * VALUES, [int(value == 0) for value in y], list(y)]
    exact += [[int(value % step != 0) for value in y] for step in (2, 5, 10)]
    secret = np.bincount(visits, minlength=VALUES).tolist()
    average = float(np.mean(visits))
    guess = [exp(-average) * average**value / factorial(value) * rows for value in y]
    assert found_in(sums, exact, secret, guess) < VALUES
