"""Invariant: with hundreds of columns a lone row is refused as with few, and nobody waits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titan.errors import ReleaseError
from titan.leastsquares.pooled import exact
from titan.moments import open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.release import Dictionary, Number
from titan.release.joint_rows import JointRows
from titan.release.leverage import Projection, own_leverage
from titan.release.orthonormal import MOST_EXACT, Approximate, orthonormal

COLUMNS = MOST_EXACT + 20
ROWS = 4 * COLUMNS
KNOWN = Dictionary.of(
    {name: Number.read("0", "250", "1") for name in ["y", *(f"x{at}" for at in range(COLUMNS))]}
)
PLAIN = "y ~ " + " + ".join(f"x{at}" for at in range(COLUMNS))


def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = {name: rng.integers(0, 200, ROWS) for name in KNOWN}
    found["x0"][5] = 250
    return found


def rows(formula: str) -> ModelRows:
    return ModelRows(KNOWN.model(formula), check=KNOWN.place)


def test_ordinary_columns_pass_and_leverage_is_that_of_the_exact_way() -> None:
    source, model = open_source(table()), rows(PLAIN)
    own_leverage(JointRows.of([model]), source, (), 3)
    moments = exact(read(source, CollectMoments(model)).moments)
    found = orthonormal(moments)
    assert isinstance(found, Approximate)
    block = next(iter(source.batches(model.model.columns_needed)))
    batch, _ = model.batch(block)
    assert batch is not None
    limit: Any = 1
    h, doubt = Projection(tuple(range(COLUMNS + 1)), found, limit).leverages(batch)
    a = np.stack([c.numbers.astype(float) * float(c.unit) for c in batch.columns[:-1]])
    expected = np.einsum("ij,ij->j", a, np.linalg.solve(a @ a.T, a))
    assert np.abs(h - expected).max() < 1e-9
    assert doubt.max() < 1e-9


@pytest.mark.parametrize("size", ["1", "1e-3", "1e-9", "1e-30"])
def test_a_lone_row_is_refused_however_small_its_column(size: str) -> None:
    spike = f"I(x0 + {size}*exp(-60*((x0-250)*(x0-250))))"
    with pytest.raises(ReleaseError) as refused:
        own_leverage(JointRows.of([rows(f"{PLAIN} + {spike}")]), open_source(table()), (), 3)
    assert refused.value.rule == "leverage"


def test_columns_that_depend_exactly_are_not_refused() -> None:
    twice = f"{PLAIN} + I(2*x0) + I(x1 + x2)"
    own_leverage(JointRows.of([rows(twice)]), open_source(table()), (), 3)
