"""No method knows where rows live: each gives its answer from rows that were read elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.executors import Elsewhere

import titan
from titan.moments import open_source, reading, rows

ROWS = 240


def table(party: int) -> pa.Table:
    rng = np.random.default_rng(party)
    a, months = rng.integers(0, 20, ROWS), rng.integers(1, 5, ROWS)
    return pa.table(
        {
            "y": a / 4 + rng.integers(0, 9, ROWS),
            "a": a,
            "b": rng.integers(1, 5, ROWS),
            "g": [("u", "v")[i] for i in rng.integers(0, 2, ROWS)],
            "died": (rng.random(ROWS) < 0.3 + a / 60).astype(int),
            "months": months,
        }
    )


LEVELS = 'C(g, levels=["u", "v"])'
METHODS: dict[str, Callable[..., Any]] = {
    "fit": lambda d, *n: titan.fit(d, *n, formula=f"y ~ a + {LEVELS} + log(b)"),
    "HC0": lambda d, *n: titan.fit(d, *n, formula="y ~ a + b", cov_type="HC0"),
    "HC3": lambda d, *n: titan.fit(d, *n, formula="y ~ a", cov_type="HC3", weights="b"),
    "ridge": lambda d, *n: titan.ridge(d, *n, formula="y ~ a + b", alpha=0.5),
    "precision": lambda d, *n: titan.fit(d, *n, formula="y ~ a + log(b)", precision=20),
    "binomial": lambda d, *n: titan.glm(d, *n, formula=f"died ~ a + {LEVELS}"),
    "poisson": lambda d, *n: titan.glm(d, *n, formula="died ~ a", family="poisson", exposure="b"),
    "describe": lambda d, *n: titan.describe(d, *n, columns=["a", "y", "died"]),
    "survival": lambda d, *n: titan.survival(d, *n, time="months", event="died", grid=2),
    "cox": lambda d, *n: titan.cox(d, *n, formula="a + b", time="months", event="died"),
}


@pytest.mark.parametrize("method", METHODS)
def test_alone_and_together(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LEAST_ROWS", 1)
    for module in (rows, reading):
        monkeypatch.setattr(module, "BATCH_ROWS", 100)
    run, tables = METHODS[method], [table(party) for party in range(3)]
    elsewhere = Elsewhere()
    there = [open_source(each, decimal=True, executor=elsewhere) for each in tables]
    here = [open_source(each, decimal=True) for each in tables]
    net = titan.Network.cycle(3)
    for data, network in (((here[0], there[0]), ()), ((here, there), (net,))):
        expected, found = (run(each, *network).to_dict() for each in data)
        assert found == expected
    assert elsewhere.done >= 4 * 3, "three blocks of each table, alone and together"
