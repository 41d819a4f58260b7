"""`titan.average`: what users hand in, what they get, and every way it is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from titan import Network
from titan.errors import InputError, NetworkError, NotPrivateError, NumberError, PlanError

NET = Network(
    [("north", "east"), ("east", "south"), ("south", "west"), ("west", "north")],
)


def test_scalars_in_order_and_as_a_mapping() -> None:
    out = titan.average([1.5, 2, 3, 4], NET, tau=1)
    assert out.value == 2.625
    assert out.total == 10.5
    assert 0 < out.error_bound < 1e-15
    assert out.cost.bytes_sent["north"] > 0
    named = {"west": 4, "north": 1.5, "south": 3, "east": 2}
    assert titan.average(named, NET).value == 2.625


def test_arrays_keep_their_shape() -> None:
    values = np.arange(24.0).reshape(4, 2, 3) / 7
    for given_values in (values, list(values), dict(zip(NET.parties, values, strict=True))):
        out = titan.average(given_values, NET)
        assert isinstance(out.value, np.ndarray)
        assert out.value.shape == out.total.shape == out.error_bound.shape == (2, 3)  # type: ignore[union-attr]
        np.testing.assert_allclose(out.value, values.mean(axis=0), rtol=1e-15)


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-15),
            st.integers(-(10**15), 10**15),
            st.fractions(min_value=-1000, max_value=1000).filter(lambda x: x.denominator < 10**9),
        ),
        min_size=4,
        max_size=4,
    ),
    st.sampled_from(["topk", "flood", "tree", "auto"]),
    st.sampled_from(["local", "vectorised"]),
)
def test_the_error_bound_holds(values: list[Any], recovery: Any, engine: Any) -> None:
    out = titan.average(values, NET, recovery=recovery, engine=engine)
    truth = sum(map(Fraction, values), Fraction(0)) / 4
    error = abs(Fraction(float(out.value)) - truth)
    assert error <= Fraction(float(out.error_bound))


def test_all_choices_together() -> None:
    out = titan.average(
        [1, 2, 3, 4], NET, recovery="topk", k=2, rounds=6, bits=64, engine="vectorised", tau=1
    )
    assert out.value == 2.5
    assert (out.recovery, out.bits, out.cost.recovery_rounds) == ("topk", 64, 12)


def test_kinds_are_not_converted_behind_the_users_back() -> None:
    """A large integer beside a float stays exact; a Decimal is the decimal it says."""
    big = 2**60 + 1
    out = titan.average([big, 0.5, Decimal("0.1"), Fraction(1, 3)], NET)
    exact = (big + Fraction(1, 2) + Fraction(1, 10) + Fraction(1, 3)) / 4
    assert abs(out.exact[0] - exact) <= Fraction(1, 2**65)


def test_a_bound_buys_precision_or_range() -> None:
    tiny = titan.average([1e-30, 2e-30, 3e-30, 4e-30], NET, bound=1e-29)
    assert tiny.value == pytest.approx(2.5e-30, rel=1e-9)
    huge = titan.average([1e30, 2e30, 3e30, 4e30], NET, bound=1e31)
    assert huge.value == 2.5e30
    with pytest.raises(NumberError, match="exceeds the bound of 1 "):
        titan.average([0.5, 2, 0, 0], NET, bound=1)


@pytest.mark.parametrize("bound", [0, -1, float("nan"), float("inf"), "much"])
def test_bounds_that_are_none(bound: Any) -> None:
    with pytest.raises(InputError, match="bound"):
        titan.average([1, 2, 3, 4], NET, bound=bound)


@pytest.mark.parametrize(
    ("values", "error", "complaint"),
    [
        ([1, 2, 3], InputError, "3 values for 4 parties"),
        ([[1, 2], [3, 4], [5], [6, 7]], InputError, r"'south' has shape \(1,\)"),
        ([1, np.nan, 3, 4], NumberError, "the value of 'east' is NaN"),
        ([[1, 2], [3, np.inf], [5, 6], [7, 8]], NumberError, "entry 1 of 'east' is infinite"),
        ([1, 2, 1e30, 4], NumberError, "the value of 'south' does not fit"),
        ([1, 2, 1e-30, 4], NumberError, "the value of 'south' is not zero but would round"),
        (["a", "b", "c", "d"], NumberError, "not a real number"),
        ([None] * 4, NumberError, "not a real number"),
        ({"north": 1, "east": 2, "south": 3, "up": 4}, NetworkError, "up"),
        ({"north": 1, "east": 2, "south": 3}, NetworkError, "no value for 'west'"),
    ],
)
def test_bad_values(values: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        titan.average(values, NET)


def test_bad_choices() -> None:
    with pytest.raises(PlanError, match="engine='gpu' is unknown"):
        titan.average([1, 2, 3, 4], NET, engine="gpu")  # type: ignore[arg-type]
    with pytest.raises(NotPrivateError) as error:
        titan.average([1, 2, 3, 4], NET, tau=2)
    assert len(error.value.cut) == 2
    with pytest.raises(InputError, match="bits"):
        titan.average([1, 2, 3, 4], NET, bits=0)
    with pytest.raises(NumberError, match="2 bits cannot hold the sum of 4"):
        titan.average([1, 2, 3, 4], NET, bits=2)


def test_empty_vectors_average_to_empty_vectors() -> None:
    out = titan.average([[], [], [], []], NET)
    assert isinstance(out.value, np.ndarray)
    assert out.value.shape == (0,)


@pytest.mark.parametrize("engine", ["local", "vectorised"])
def test_progress_reaches_the_end(engine: Any) -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    titan.average([1, 2, 3, 4], NET, recovery="topk", k=1, engine=engine, progress=progress)
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)
