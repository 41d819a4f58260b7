"""Invariant: leverage is the diagonal of A(AᵀA)⁻¹Aᵀ, and a row above 1/k is told to its owner."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from titan.errors import ReleaseError
from titan.leastsquares.pooled import exact
from titan.leastsquares.whitening import whiten
from titan.moments import Model, collect, open_source
from titan.moments.rows import ModelRows
from titan.release.joint_rows import joint_model
from titan.release.leverage import Projection, pooled_leverage

ROWS = 50


def table() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {"y": rng.normal(size=ROWS), "a": rng.normal(size=ROWS), "w": rng.random(ROWS)}


@pytest.mark.parametrize("weights", [None, "w"])
def test_as_numpy_has_it(weights: str | None) -> None:
    data = table()
    model = Model("y ~ a + I(a**2)", weights=weights)
    whitening = whiten(exact(collect(data, model).moments))
    (block,) = open_source(data).batches(model.columns_needed)
    batch, _ = ModelRows(model).batch(block)
    assert batch is not None
    found, doubt = Projection((0, 1, 2), whitening, Fraction(1)).leverages(batch)
    a = np.stack([np.ones(ROWS), data["a"], data["a"] ** 2], axis=1)
    a *= np.sqrt(data["w"] if weights else np.ones(ROWS))[:, None]
    np.testing.assert_allclose(found, np.diag(a @ np.linalg.inv(a.T @ a) @ a.T), rtol=1e-10)
    assert doubt.max() < 1e-10


@pytest.mark.parametrize(("alone", "refused"), [(1, True), (2, True), (3, False)])
@pytest.mark.parametrize("times", [1, 1e-30, 1e30])
def test_a_cell_of_k_rows_is_the_limit(alone: int, refused: bool, times: float) -> None:
    """Whatever unit the column has, and whether float64 can tell or not."""
    data = table()
    data["a"] = np.where(np.arange(ROWS) < alone, times, 0.0)
    model = Model("w ~ a")
    whitening = whiten(exact(collect(data, model).moments))
    rows, source = ModelRows(model), open_source(data)
    if not refused:
        pooled_leverage(rows, source, whitening, 3)
        return
    with pytest.raises(ReleaseError, match=r"weigh more than one of 3.*row 0 ") as caught:
        pooled_leverage(rows, source, whitening, 3)
    assert caught.value.rule == "leverage"
    pooled_leverage(rows, source, whitening, 0)


def test_a_doubt_is_settled_exactly() -> None:
    """Columns so close to each other that float64 sees nothing of their difference."""
    data = {"y": np.arange(6.0), "a": [10**40 + (i == 2) for i in range(6)], "b": [10**40] * 6}
    model = Model("y ~ 0 + a + b")
    whitening = whiten(exact(collect(data, model).moments))
    with pytest.raises(ReleaseError, match="row 2 "):
        pooled_leverage(ModelRows(model), open_source(data), whitening, 3)


def test_rows_that_are_left_out_do_not_shift_the_place() -> None:
    data = {"y": [np.nan, 1, 2, 3, 4, 5], "a": [1.0, np.nan, 0, 0, 0, 9]}
    model = Model("y ~ a")
    whitening = whiten(exact(collect(data, model, missing="drop").moments))
    with pytest.raises(ReleaseError, match="row 5 "):
        pooled_leverage(ModelRows(model, "drop"), open_source(data), whitening, 2)


def test_the_model_of_several_questions_has_all_their_columns() -> None:
    models = [Model("y ~ a * C(g, levels=['u', 'v'])"), Model("log(a) ~ 0 + y"), Model("a ~ y")]
    joint = joint_model(models)
    assert {"a", "y", "log(a)", "Intercept", "C(g)[T.v]", "a:C(g)[T.v]"} == set(joint.names[:-1])
    assert () not in joint_model(models[1:2]).design
