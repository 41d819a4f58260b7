"""Invariant: `titan.solve` encloses the exact answer, whoever holds the rows and however summed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import titan
from tests.leastsquares.systems import Problem, hilbert
from tests.strategies import networks
from titan.engines import ENGINES, EngineName, local
from titan.errors import DataError, InputError, NetworkError, NumberError, PlanError, RankError
from titan.leastsquares import Solution

solve = partial(titan.solve, allow_small=True)  # a few rows are easier to check; see test_limits

NET = titan.Network(
    [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")], parties=["a", "b", "c"]
)  # fmt: skip
A = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4], [1, 1, 1], [5, 0, 2], [1, 2, 0]], np.float64)
B = np.array([1.5, -2, 3, 0.25, 1, 7])


def shared(A: Any, b: Any, m: int = 3) -> list[tuple[Any, Any]]:
    return [(A[i::m], b[i::m]) for i in range(m)]


def exact(A: Any, b: Any) -> list[Fraction]:
    rows, rhs = [[Fraction(v) for v in row] for row in A], [Fraction(v) for v in b]
    return Problem(tuple(map(str, range(len(rows[0])))), rows, rhs).solution()


def assert_encloses(solution: Solution, truth: list[Fraction]) -> None:
    for x, bound, ball, t in zip(
        solution.x, solution.error_bound, solution.enclosures, truth, strict=True
    ):
        assert abs(Fraction(float(x)) - t) <= Fraction(float(bound))
        assert abs(ball.mid - t) <= ball.rad


# -- the answer -------------------------------------------------------------------------------


def test_list_and_mapping() -> None:
    parts = shared(A, B)
    listed = solve(parts, NET)
    by_name = solve(dict(zip("cab", [parts[2], parts[0], parts[1]], strict=True)), NET)
    assert_encloses(listed, exact(A.tolist(), B.tolist()))
    assert np.array_equal(listed.x, by_name.x)
    assert listed.enclosures == by_name.enclosures
    assert listed.names == ("x1", "x2", "x3")
    assert listed.rows == 6
    assert min(listed.digits) > 30


@pytest.mark.parametrize(
    "kind", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint64, bool, list]
)
def test_types_of_numbers(kind: Any) -> None:
    """Each counts as the exact number it is: here all are the same."""
    A01 = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]])
    b = np.array([1, 0, 1, 1])
    expected = solve(shared(A01, b), NET)
    if kind is list:
        parts: Any = [(p.tolist(), q.tolist()) for p, q in shared(A01, b)]
    else:
        parts = shared(A01.astype(kind), b.astype(kind))
    assert solve(parts, NET).enclosures == expected.enclosures


@pytest.mark.parametrize("number", [Fraction, lambda v: Decimal(int(v)), int])
def test_objects(number: Any) -> None:
    objects = np.vectorize(number, otypes=[object])
    b = np.arange(6)
    found, expected = (solve(shared(*s), NET) for s in ((objects(A), objects(b)), (A, b)))
    assert found.enclosures == expected.enclosures


def test_thirds_and_tenths_are_what_they_say() -> None:
    rows = np.array([[Fraction(1, 3), Decimal("0.1")], [Fraction(2, 7), 5], [1, 0.5]], object)
    b = np.array([Fraction(1, 9), Decimal("1e-3"), 2], object)
    assert_encloses(solve(shared(rows, b), NET), exact(rows, b))


def test_the_ends_of_int64() -> None:
    low = np.array([[-(2**63), 5], [3, 4], [1, 1]], np.int64)
    high = np.array([[2**64 - 1, 5], [3, 4], [1, 1]], np.uint64)
    b = np.array([1, 1, 1])
    for rows in (low, high):
        assert_encloses(solve(shared(rows, b), NET), exact(rows.tolist(), b.tolist()))


CHOICES: list[dict[str, Any]] = [
    {"recovery": "topk", "k": 1},
    {"recovery": "topk", "k": 3, "rounds": 4},
    {"recovery": "flood"},
    {"recovery": "tree"},
    {"masks": "seeded"},
    {"tau": 1},
]


@pytest.mark.parametrize("engine", ["local", "vectorised"])
@pytest.mark.parametrize("choices", CHOICES, ids=lambda c: "-".join(map(str, c.values())))
def test_every_way_gives_the_same_bits(engine: EngineName, choices: dict[str, Any]) -> None:
    expected = solve(shared(A, B), NET)
    found = solve(shared(A, B), NET, engine=engine, **choices)
    assert found.x.tobytes() == expected.x.tobytes()
    assert found.error_bound.tobytes() == expected.error_bound.tobytes()
    assert found.enclosures == expected.enclosures


@st.composite
def systems(draw: st.DrawFn) -> tuple[titan.Network, list[tuple[Any, Any]], Any, Any]:
    network = draw(networks(most=5))
    n = draw(st.integers(1, 3))
    p = draw(st.integers(n, 7))
    number = (
        st.integers(-9, 9)
        | st.integers(-(2**80), 2**80)
        | st.fractions(-2, 2, max_denominator=50)
        | st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: abs(x) > 1e-9)
    )
    entries = [[draw(number) for _ in range(n + 1)] for _ in range(p)]
    rows = np.empty((p, n + 1), object)
    rows[:] = entries
    owner = np.array([draw(st.integers(0, len(network) - 1)) for _ in range(p)])
    parts = [(rows[owner == i, :n], rows[owner == i, n]) for i in range(len(network))]
    return network, parts, rows[:, :n], rows[:, n]


@given(systems())
@settings(max_examples=60)
def test_the_bound_contains_the_exact_answer(system: Any) -> None:
    network, parts, rows, b = system
    try:
        solution = solve(parts, network)
    except RankError:
        try:
            solution = solve(parts, network, bits=2048)
        except RankError:
            with pytest.raises(ZeroDivisionError):
                exact(rows, b)
            return
    assert_encloses(solution, exact(rows, b))


@given(systems(), st.sampled_from([64, 192, 300]))
@settings(max_examples=20)
def test_other_sizes_of_ring(system: Any, bits: int) -> None:
    network, parts, rows, b = system
    try:
        solution = solve(parts, network, bits=bits)
    except RankError:
        assume(False)
    assert_encloses(solution, exact(rows, b))


def test_more_bits_prove_more_digits() -> None:
    by_bits = {bits: solve(shared(A, B), NET, bits=bits) for bits in (64, 128, 192)}
    digits = [min(solution.digits) for solution in by_bits.values()]
    assert 10 < digits[0] < digits[1] < digits[2]
    sent = [solution.cost.bytes_sent.total for solution in by_bits.values()]
    assert sent == sorted(sent)


def test_a_party_may_be_deficient_or_empty() -> None:
    parts = [(A[:1], B[:1]), (A[1:], B[1:]), (A[:0], B[:0])]
    assert solve(parts, NET).enclosures == solve(shared(A, B), NET).enclosures


PROVEN_BELOW = 14


@pytest.mark.parametrize("order", range(5, 17))
def test_hilbert(order: int) -> None:
    """Proven at 128 bits up to order 13, refused from 14 on with the bits that do."""
    problem = hilbert(order)
    rows = np.empty((order, order), object)
    rows[:] = problem.A
    parts = shared(rows, np.array(problem.b, object))
    bits: int | None = 128
    if order >= PROVEN_BELOW:
        with pytest.raises(RankError) as caught:
            solve(parts, NET)
        bits = caught.value.bits
        assert bits is not None
        assert f"bits={bits}" in caught.value.hint
    assert_encloses(solve(parts, NET, bits=bits or 128), problem.solution())


# -- release and cost -------------------------------------------------------------------------


def test_one_party_solves_and_tells() -> None:
    alone = solve(shared(A, B), NET)
    told = solve(shared(A, B), NET, solver="b")
    assert told.x.tobytes() == alone.x.tobytes()
    assert told.cost.messages > alone.cost.messages
    for party in set(NET.parties) - {"b"}:  # all are told x and its bounds, 8 bytes each
        extra = told.cost.bytes_received[party] - alone.cost.bytes_received[party]
        assert extra >= 2 * 3 * 8


def test_an_unknown_solver_is_refused_before_any_sum() -> None:
    def progress(*_: int) -> None:
        raise AssertionError("a sum has begun")

    with pytest.raises(NetworkError, match="nobody"):
        solve(shared(A, B), NET, solver="nobody", progress=progress)


def test_what_is_released() -> None:
    solution = solve(shared(A, B), NET, release="solution")
    inference = solve(shared(A, B), NET, release="inference")
    assert solution.enclosures == inference.enclosures
    # bᵀb is one number more in the first sum
    assert solution.cost.numbers_sent.total < inference.cost.numbers_sent.total
    with pytest.raises(PlanError, match="everything"):
        solve(shared(A, B), NET, release="everything")  # type: ignore[arg-type]


# -- refusals ---------------------------------------------------------------------------------


def test_dependent_columns_are_named() -> None:
    rows = np.column_stack([A, A[:, 0] - 2 * A[:, 2]])
    with pytest.raises(RankError) as caught:
        solve(shared(rows, B), NET, names=["u", "v", "w", "z"])
    assert set(caught.value.columns) == {"u", "w", "z"}


def test_a_zero_column_is_named() -> None:
    with pytest.raises(RankError, match="'v' is zero in all rows"):
        solve(shared(A * [1, 0, 1], B), NET, names=["u", "v", "w"])


def test_a_tiny_column_is_named() -> None:
    with pytest.raises(NumberError, match="'v' of 'a' is too small") as caught:
        solve(shared(A * [1, 1e-60, 1], B), NET, names=["u", "v", "w"])
    assert "rescale" in caught.value.hint


def test_a_huge_column_is_named() -> None:
    with pytest.raises(NumberError, match="v"):
        solve(shared(A * [1, 1e60, 1], B), NET, names=["u", "v", "w"])


def test_a_column_may_be_called_b() -> None:
    assert solve(shared(A, B), NET, names=["b", "b'", "c"]).names == ("b", "b'", "c")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float64, object])
def test_numbers_that_are_none(bad: float, kind: Any) -> None:
    rows = A.copy()
    rows[1, 2] = bad  # the first row of party b
    with pytest.raises(InputError, match="'b'") as caught:
        solve(shared(rows.astype(kind), B), NET)
    assert str(bad) not in str(caught.value).split()


def test_no_value_is_in_an_error() -> None:
    secret = 987654321.125
    rows = A * [1, 1e-60, 1]
    rows[0, 0] = secret
    with pytest.raises(NumberError) as caught:
        solve(shared(rows, B), NET)
    assert "98765" not in str(caught.value)


BAD: list[tuple[Any, type[Exception], str]] = [
    (shared(A, B)[:2], InputError, "2 items for 3 parties"),
    (dict(zip("abd", shared(A, B), strict=True)), NetworkError, '"d"'),
    (dict(zip("ab", shared(A, B)[:2], strict=True)), InputError, "nothing for 'c'"),
    (7, InputError, "int does not hold one item per party"),
    ([7] * 3, DataError, r"'a' has no pair"),
    ([(A, B[:2])] * 3, DataError, r"\(6, 3\) and b of shape \(2,\)"),
    ([(A, B[:, None])] * 3, DataError, r"b of shape \(6, 1\)"),
    ([(A, B), (A[:, :2], B), (A, B)], DataError, "'b' has the columns 'x1', 'x2', 'b', 'a' has"),
    ([(A[:0], B[:0])] * 3, DataError, "0 rows in all for 3 coefficients"),
    (shared(A[:2], B[:2]), DataError, "2 rows in all for 3 coefficients"),
    ([(A[:, :0], B)] * 3, DataError, "no column to solve for"),
    ([(A * 1j, B)] * 3, DataError, "complex128"),
    ([(np.array([["x"]]), B[:1])] * 3, DataError, "type <U1"),
    ([(np.array([["x"]], object), B[:1])] * 3, NumberError, "an entry of 'a' is of type str"),
    ([(np.ma.array(A, mask=A.mean() < A), B)] * 3, NumberError, "masked"),
]


@pytest.mark.parametrize(("parts", "error", "says"), BAD)
def test_bad_input(parts: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        solve(parts, NET)


def test_numpy_numbers_among_fractions_do_not_overflow() -> None:
    large = 4 * 10**18
    rows: list[list[Any]] = [[large, 1], [Fraction(1, 10), 2], [1, 3]]
    others = [([[1, 0]], [1]), ([[0, 1]], [1])]
    plain = solve([(rows, [1, 2, 4]), *others], NET)
    rows[0][0] = np.int64(large)
    rows[1][0] = Fraction(np.int64(1), np.int64(10))  # type: ignore[call-overload]
    numpy = solve([(rows, [np.float32(1), 2, 4]), *others], NET)
    assert numpy.x.tolist() == plain.x.tolist()


def test_options_that_are_not_there() -> None:
    for choices in ({"bitz": 3}, {"bits": "128"}, {"bits": 4}):
        with pytest.raises(InputError):
            solve(shared(A, B), NET, **choices)
    with pytest.raises(NetworkError, match="'star' is not a network"):
        solve(shared(A, B), "star")
    with pytest.raises(NetworkError, match="int is not a network"):
        solve(shared(A, B), 3)  # type: ignore[arg-type]
    assert solve(shared(A, B), "cycle").x.tolist() == solve(shared(A, B), NET).x.tolist()


def test_the_row_count_is_checked_before_the_rest_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    sums: list[int] = []

    def counted(plan: Any, *rest: Any, **choices: Any) -> Any:
        sums.append(plan.ring.bits)
        return local.run(plan, *rest, **choices)

    monkeypatch.setitem(ENGINES, "local", counted)
    with pytest.raises(DataError, match="2 rows in all"):
        solve(shared(A[:2], B[:2]), NET)
    assert sums == [512], "the second sum was not made"


def test_a_party_may_not_fill_the_wide_ring() -> None:
    """Three parties each just below the ring's range would wrap around together."""
    for size, fits in ((2.0**126, True), (2.0**127, False)):
        rows = np.array([[size, 1.0], [0.0, 1.0], [0.0, 2.0]])
        parts = [(rows, np.zeros(3))] * 3
        if fits:
            solve(parts, NET)
        else:
            with pytest.raises(NumberError, match="x1"):
                solve(parts, NET)


def test_names_for_every_column() -> None:
    with pytest.raises(DataError, match="3 columns for 2 names"):
        solve(shared(A, B), NET, names=["u", "v"])
    with pytest.raises(DataError, match='two columns are called "u"'):
        solve(shared(A, B), NET, names=["u", "u", "v"])


def test_a_network_that_is_not_private_enough() -> None:
    with pytest.raises(NetworkError):
        solve(shared(A, B), NET, tau=2)


def test_too_few_bits() -> None:
    with pytest.raises(PlanError, match="4 bits are too few"):
        solve(shared(A, B), NET, bits=4)
