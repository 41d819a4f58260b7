"""Invariant: what results share means the same on all of them, and they know no network."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest

import titan
from titan.errors import InputError
from titan.leastsquares import Named, fit_pooled, ridge_pooled, solve_pooled
from titan.results import Result

from ..leastsquares.systems import heart

SOURCE = Path(titan.__file__).parent
NET = titan.Network.cycle(4)


def results() -> list[Any]:
    moments = heart()[0].pooled(parties=4)
    fit = fit_pooled(moments, constant="Intercept")
    ridge = ridge_pooled(moments, 2, "Intercept")
    return [fit, solve_pooled(moments), ridge, fit.ridge_path([0.5, 2]), fit.lasso_path(count=3)]


@pytest.mark.parametrize("at", range(4))
def test_every_result_has_names_rows_cost_and_record(at: int) -> None:
    result = results()[at]
    assert result.names == heart()[0].names
    assert result.nobs == 854
    assert result.cost is None
    assert result.record is None
    with pytest.raises(InputError, match="nothing was recorded"):
        result.view(["1"])


def test_params_are_named_and_the_same() -> None:
    fit, solution, ridge, path, _ = results()
    assert isinstance(solution.params, Named)
    assert solution.params == fit.params
    assert solution.params.enclosures == fit.params.enclosures
    np.testing.assert_array_equal(np.asarray(solution.params), solution.x)
    assert solution.nobs == solution.rows == ridge.rows == ridge.nobs
    assert path[1].params == ridge.params
    assert tuple(ridge.bse) == ridge.names
    assert not hasattr(solution, "bse")


def test_the_keys_of_a_solution_stay_and_two_join_them() -> None:
    shown = results()[1].to_dict()
    assert set(shown) == {
        "params", "nobs", "x", "error_bound", "digits", "condition", "rows", "method",
    }  # fmt: skip
    assert shown["params"] == shown["x"]
    assert shown["nobs"] == shown["rows"] == 854


def test_several_penalties_are_a_path() -> None:
    fit, _, ridge, path, _ = results()
    assert isinstance(path, titan.RidgePath)
    assert len(path) == 2
    assert [each.alpha for each in path] == path.alphas.tolist() == [0.5, 2.0]
    assert path[-1].params == ridge.params
    assert [each.alpha for each in path[:1]] == [0.5]
    np.testing.assert_array_equal(path.coefs[1], np.asarray(ridge.params))
    assert path.to_dict()["alphas"] == [0.5, 2.0]
    assert path.to_dict()["path"][1] == ridge.to_dict()
    assert path.summary().count("proven within") == 2
    with pytest.raises(InputError, match="no alpha"):
        fit.ridge_path([])


class Seen:
    """Any object with a view will do as a record."""

    def view(self, coalition: Iterable[str | SupportsIndex]) -> list[str | SupportsIndex]:
        return list(coalition)


@pytest.mark.parametrize("at", range(4))
def test_any_object_with_a_view_is_a_record(at: int) -> None:
    recorded = replace(results()[at], record=Seen(), cost="much")
    assert recorded.view(["a", "b"]) == ["a", "b"]
    assert recorded.cost == "much"


@pytest.mark.parametrize("at", range(5))
def test_results_are_pickled_without_their_record(at: int) -> None:
    result = results()[at]
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert type(again) is type(result)
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()


def test_a_pickle_holds_no_secret_of_the_record() -> None:
    rng = np.random.default_rng(4)
    data = {party: {"x": rng.normal(size=12), "y": rng.normal(size=12)} for party in NET.parties}
    fit = titan.fit(data, NET, response="y", columns=["x"], record=True)
    record: Any = fit.record
    pickled = pickle.dumps(fit)
    assert pickle.loads(pickled).record is None  # noqa: S301
    for kept in record.sums:
        assert all(bytes(envelope.payload) not in pickled for envelope in kept.envelopes)
    assert len(pickled) < 10_000


def test_the_room_of_least_squares_knows_no_network() -> None:
    for room in ("leastsquares", "results"):
        for file in (SOURCE / room).glob("*.py"):
            for imported in _imports(file):
                assert not imported.startswith(
                    ("titan.network", "titan.privacy", "titan.engines", "titan.party")
                ), f"{file.name} imports {imported}"


def _imports(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    assert found or file.name == "__init__.py"
    return found


def test_two_kinds_of_results_cannot_share_a_name() -> None:
    with pytest.raises(InputError, match=r"'ridge' is taken, by titan\..*\.Ridge"):

        class Other(Result, kind="ridge"):
            pass


def test_the_types_are_exported() -> None:
    fit, solution, ridge, path, lasso = results()
    assert isinstance(fit, titan.Regression)
    assert isinstance(solution, titan.Solution)
    assert isinstance(ridge, titan.Ridge)
    assert isinstance(path, titan.RidgePath)
    assert isinstance(lasso, titan.LassoPath)
    assert lasso.params(0)["Intercept"] == lasso.coefs[0, 0]
