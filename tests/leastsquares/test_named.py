"""Invariant: the coefficients' names survive whatever a user does with the numbers."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from titan.errors import InputError, NotThereError
from titan.leastsquares import Ball, Named, Regression, fit_pooled

from .systems import heart

pandas: Any = import_module("pandas")


@pytest.fixture(scope="module")
def fit() -> Regression:
    return fit_pooled(heart()[0].pooled(parties=4), constant="Intercept")


def test_vectors_keep_their_names_in_pandas(fit: Regression) -> None:
    frame = pandas.DataFrame({"b": fit.params, "se": fit.bse})
    assert list(frame.index) == list(fit.names)
    assert frame.loc["age", "b"] == fit.params["age"]
    assert frame.loc["cp4", "se"] == fit.bse["cp4"]
    series = pandas.Series(fit.params)
    assert list(series.index) == list(fit.names)
    np.testing.assert_array_equal(series.to_numpy(), np.asarray(fit.params))
    assert np.asarray(fit.params).dtype == np.float64
    assert np.asarray(fit.params, np.float32).dtype == np.float32


def test_confidence_limits_are_pairs_by_name_and_turn_into_a_frame(fit: Regression) -> None:
    limits = fit.conf_int(0.1)
    low, high = limits["age"]
    assert limits["age"] == (low, high)
    assert limits["age"].lower == low < fit.params["age"] < high == limits["age", "upper"]
    assert list(limits) == list(fit.names)
    frame = limits.to_frame()
    assert list(frame.index) == list(fit.names)
    assert list(frame.columns) == ["lower", "upper"]
    assert tuple(frame.loc["age"]) == (low, high)
    assert list(pandas.DataFrame(limits).columns) == list(fit.names)
    named = pandas.DataFrame(limits, index=["lower", "upper"]).T
    pandas.testing.assert_frame_equal(named, frame)
    assert np.asarray(limits).shape == limits.shape == (len(fit.names), 2)


def test_covariances_have_names_on_both_sides(fit: Regression) -> None:
    covariance = fit.cov_params()
    matrix = np.asarray(covariance)
    for frame in (pandas.DataFrame(covariance), covariance.to_frame()):
        assert list(frame.index) == list(frame.columns) == list(fit.names)
        np.testing.assert_array_equal(frame.to_numpy(), matrix)
    assert covariance["age", "sex"] == covariance["age"]["sex"] == covariance[1, 2] == matrix[1, 2]
    np.testing.assert_array_equal(covariance[1], matrix[1])
    ones = np.ones(len(fit.names))
    np.testing.assert_array_equal(covariance @ ones, matrix @ ones)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.asarray(fit.bse), rtol=1e-12)


def test_what_is_not_there_is_said_with_what_is(fit: Regression) -> None:
    for table in (fit.params, fit.conf_int(), fit.cov_params()):
        with pytest.raises(KeyError) as unknown:
            table["nobody"]
        assert "'nobody'" in str(unknown.value)
        assert "Intercept" in str(unknown.value)
    for key in (len(fit.names), -len(fit.names) - 1):
        with pytest.raises(IndexError, match="among 9"):
            fit.params[key]
    with pytest.raises(NotThereError):
        fit.params.enclosure("nobody")
    with pytest.raises(NotThereError):
        fit.conf_int()["age", "middle"]


def test_nothing_can_be_changed(fit: Regression) -> None:
    before = dict(fit.params)
    for name in ("clear", "popitem"):
        with pytest.raises(InputError, match="cannot be changed"):
            getattr(fit.params, name)()
    changes: list[Callable[[Any], object]] = [
        lambda table: table.__setitem__("age", 0.0),
        lambda table: table.__delitem__("age"),
        lambda table: table.pop("age"),
        lambda table: table.setdefault("new", 0.0),
        lambda table: table.update(age=0.0),
        lambda table: table.__ior__({"age": 0.0}),
    ]
    for change in changes:
        for table in (fit.params, fit.conf_int(), fit.cov_params()):
            with pytest.raises(InputError, match="cannot be changed"):
                change(table)
    assert dict(fit.params) == before


def test_vectors_and_tables_are_pickled_and_copied(fit: Regression) -> None:
    for again in (pickle.loads(pickle.dumps(fit.params)), copy.deepcopy(fit.params)):  # noqa: S301
        assert isinstance(again, Named)
        assert again == fit.params
        assert again.enclosures == fit.params.enclosures
        assert isinstance(again.enclosure("age"), Ball)
    for table in (fit.conf_int(), fit.cov_params()):
        again = pickle.loads(pickle.dumps(table))  # noqa: S301
        assert type(again) is type(table)
        assert again == table
        assert again.columns == table.columns
        np.testing.assert_array_equal(again, table)


def test_they_are_json_and_their_repr_is_short(fit: Regression) -> None:
    assert json.loads(json.dumps(fit.params))["age"] == fit.params["age"]
    assert json.loads(json.dumps(fit.conf_int()))["age"] == list(fit.conf_int()["age"])
    assert repr(fit.params).startswith("Named(Intercept=197.287, age=-0.8")
    assert repr(fit.conf_int()).endswith("by lower, upper>")


def test_a_column_may_be_called_anything() -> None:
    named = Named(["", "1", "clear"], [1.0, 2.0, 3.0])
    assert named[""] == named[0] == 1.0
    assert named["1"] == named[1] == 2.0
    assert named["clear"] == named[-1] == 3.0
