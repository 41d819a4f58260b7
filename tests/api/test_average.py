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


@pytest.mark.parametrize(
    "values",
    [
        [[2**60 + 1, 0.5], [-(2**60), 0.5], [0, 0], [0, 0]],
        [[2**60 + 1], [0.5], [0], [0]],
        [[2**60, 2**60 + 1], [1, 0.5], [0, 0], [0, 0]],
        [2**60 + 1, 0.5, 0, 0],
        [9007199254740993, 0.25, 0, 0],
    ],
)
def test_no_list_is_rounded_on_its_way_in(values: list[Any]) -> None:
    """NumPy would make floats of integers beside a float; the bound would be false."""
    out = titan.average(values, NET)
    rows = [v if isinstance(v, list) else [v] for v in values]
    truth = [sum(map(Fraction, column), Fraction(0)) / 4 for column in zip(*rows, strict=True)]
    assert list(out.exact) == truth


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
        ([1, 2, 3], InputError, "3 items for 4 parties"),
        ([[1, 2], [3, 4], [5], [6, 7]], InputError, r"'south' has shape \(1,\)"),
        ([1, np.nan, 3, 4], NumberError, "the value of 'east' is NaN"),
        ([[1, 2], [3, np.inf], [5, 6], [7, 8]], NumberError, "entry 1 of 'east' is infinite"),
        ([1, 2, 1e30, 4], NumberError, "the value of 'south' does not fit"),
        ([1, 2, 1e-30, 4], NumberError, "the value of 'south' is not zero but would round"),
        (["a", "b", "c", "d"], NumberError, "not a real number"),
        ([None] * 4, NumberError, "not a real number"),
        ({"north": 1, "east": 2, "south": 3, "up": 4}, NetworkError, "up"),
        ({"north": 1, "east": 2, "south": 3}, InputError, "nothing for 'west'"),
    ],
)
def test_bad_values(values: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        titan.average(values, NET)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (5, "int does not hold one item per party"),
        (None, "NoneType does not hold"),
        ("1234", "str does not hold"),
        ([[1, [2]], 1, 1, 1], "shape|type"),
        ([Decimal("sNaN"), 1, 1, 1], "'north' is NaN"),
        ([Decimal("-Infinity"), 1, 1, 1], "'north' is infinite"),
        ({1: 1.0, "1": 2.0, "north": 1}, "1"),
        (np.ma.array([1.0, 2, 3, 4], mask=[False, True, False, False]), "masked"),
        ([np.ma.array([1.0, np.nan], mask=[False, True]), [1, 2], [1, 2], [1, 2]], "masked"),
    ],
)
def test_values_of_other_kinds(values: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        titan.average(values, NET)


def test_a_party_named_twice() -> None:
    with pytest.raises(InputError, match="two items are said to be of '1'"):
        titan.average({1: 10.0, "1": 99.0, "2": 3.0}, Network.cycle(2))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "choices",
    [
        {"k": 2.0},
        {"k": True},
        {"rounds": "6"},
        {"rounds": 6.5, "recovery": "flood"},
        {"engine": []},
        {"bits": 64.0},
        {"bits": 10**9},
        {"rounds": 10**30, "recovery": "topk"},
        {"bound": []},
    ],
)
def test_choices_of_other_kinds(choices: Any) -> None:
    with pytest.raises(InputError):
        titan.average([1, 2, 3, 4], NET, **choices)


def test_numbers_of_numpy_are_numbers() -> None:
    out = titan.average([1, 2, 3, 4], NET, bits=np.int64(64), k=np.int32(2), bound=np.float32(4))  # type: ignore[arg-type]
    assert out.value == 2.5
    assert titan.count(NET, at_most=np.int64(6)) == 4  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at_most"):
        titan.count(NET, at_most=6.0)  # type: ignore[arg-type]


def test_networks_of_other_kinds() -> None:
    with pytest.raises(NetworkError, match="'star' is not a network"):
        titan.average([1, 2], "star")
    with pytest.raises(NetworkError, match="list is not a network"):
        titan.average([1, 2], [])  # type: ignore[arg-type]
    assert titan.average({"a": 1, "b": 2}, "cycle").value == 1.5
    assert titan.average([1, 2, 3], "complete", record=True).view(["1"]).network.parties[0] == "1"


def test_a_huge_bound_that_is_exceeded() -> None:
    with pytest.raises(NumberError, match=r"exceeds the bound of 1\.00000e\+400"):
        titan.average([10**500, 0, 0, 0], NET, bound=10**400, bits=4096)


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
