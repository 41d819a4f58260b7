"""Invariant: exp, expit and log1p are off by no more than their proof says, anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from titan.generalised.elementary import RELATIVE, UNIT, exp, log1p, logistic
from titan.moments.precision import working_precision

POINTS = np.concatenate(
    [
        np.linspace(-700, 700, 2001),
        np.arange(-1000, 1001) * (np.log(2) / 2),  # where the reduction changes
        np.random.default_rng(1).normal(size=2000),
        [0.0, -0.0, 1e-300, -1e-300, 2.0**-53],
    ]
)


def worst(found: Any, true: list[arb]) -> float:
    return max(float(abs(arb(float(x)) / t - 1).upper()) for x, t in zip(found, true, strict=True))


def test_exp_is_within_eight_units() -> None:
    x = POINTS[np.abs(POINTS) <= 700]
    with working_precision(160):
        assert worst(exp(x), [arb(float(v)).exp() for v in x]) <= 8 * UNIT


def test_probabilities_are_within_thirty_two_units() -> None:
    found = logistic(POINTS)
    with working_precision(160):
        e = [(-abs(arb(float(v)))).exp() for v in POINTS]
        assert worst(found.less, [t / (1 + t) for t in e]) <= RELATIVE
        assert worst(found.more, [1 / (1 + t) for t in e]) <= RELATIVE
        assert worst(found.less * found.more, [t / (1 + t) ** 2 for t in e]) <= RELATIVE


@given(st.floats(0, 1))
def test_log1p_is_within_thirty_two_units(e: float) -> None:
    (found,) = log1p(np.array([e]))
    if e < 1e-290:
        assert found == pytest.approx(e)
        return
    with working_precision(160):
        assert worst([found], [arb(e).log1p()]) <= RELATIVE


def test_what_is_beyond_is_taken_to_be_at_the_end() -> None:
    assert exp(np.array([1e6]))[0] == exp(np.array([700.0]))[0]
    assert exp(np.array([-1e6]))[0] == exp(np.array([-700.0]))[0]
