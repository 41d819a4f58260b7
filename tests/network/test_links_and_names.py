"""A network is what its edges say: immutable, in one canonical order, and refused if ambiguous."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import NetworkError
from titan.network import Network

TRIANGLE = [("a", "b"), ("b", "c"), ("c", "a")]


def test_parties_come_in_order_of_first_appearance() -> None:
    net = Network([("b", "a"), ("c", "b"), ("a", "c")])
    assert net.parties == ("b", "a", "c")
    assert net.edges == (("b", "a"), ("a", "c"), ("c", "b"))
    assert len(net) == 3
    assert repr(net) == "<Network: 3 parties, 3 links>"


def test_an_explicit_order_is_kept_and_may_hold_parties_without_links() -> None:
    net = Network(TRIANGLE, parties=["d", "c", "b", "a"])
    assert net.parties == ("d", "c", "b", "a")
    assert net.edges == (("c", "a"), ("b", "c"), ("a", "b"))
    assert net.out_neighbours(0) == net.in_neighbours(0) == ()


def test_integers_are_their_decimal_text() -> None:
    net = Network([(1, 2), (np.int64(2), "3"), ("3", 1)])
    assert net.parties == ("1", "2", "3")
    assert net == Network.cycle(3)
    assert net.index(3) == net.index("3") == 2


def test_equal_networks_are_equal_however_they_were_made() -> None:
    one, other = Network(TRIANGLE), Network(TRIANGLE[::-1], parties=["a", "b", "c"])
    assert one == other
    assert hash(one) == hash(other)
    assert Network.cycle(5) == Network.cycle(["1", "2", "3", "4", "5"])
    assert hash(Network.cycle(5)) == hash(Network.cycle(["1", "2", "3", "4", "5"]))
    assert one != Network(TRIANGLE, parties=["b", "c", "a"])
    assert one != Network([*TRIANGLE, ("a", "c")])
    assert one != "a triangle"
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes


def test_a_network_cannot_be_changed() -> None:
    net = Network(TRIANGLE)
    with pytest.raises(FrozenInstanceError):
        net._names = net._names  # type: ignore[misc]
    for array in (net.senders, net.receivers, net.out_degree, net.in_degree):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] != e[1])))
def test_arrays_neighbours_and_degrees_tell_the_same_links(links: set[tuple[int, int]]) -> None:
    ordered = sorted(links)
    net = Network.from_arrays(7, [s for s, _ in ordered[::-1]], [r for _, r in ordered[::-1]])
    assert list(zip(net.senders.tolist(), net.receivers.tolist(), strict=True)) == ordered
    for i in range(7):
        assert net.out_neighbours(i) == tuple(r for s, r in ordered if s == i)
        assert net.in_neighbours(i) == tuple(s for s, r in ordered if r == i)
        assert net.out_degree[i] == len(net.out_neighbours(i))
        assert net.in_degree[i] == len(net.in_neighbours(i))
    assert net.edges == tuple((str(s + 1), str(r + 1)) for s, r in ordered)
    assert net == Network(net.edges, parties=net.parties)


@pytest.mark.parametrize(
    ("edges", "parties", "says"),
    [
        ([], None, "a network of 0 parties"),
        ([], ["alone"], "a network of 1 party"),
        ([], 1, "a network of 1 party"),
        ([], -3, "a network of -3 parties"),
        ([("a", "b")], ["a", "b", "a"], 'two parties are called "a"'),
        ([(1, 2)], [1, 2, "1"], 'two parties are called "1"'),
        ([("a", "b"), ("b", "b")], None, 'party "b" is linked with itself'),
        ([("a", "b"), ("b", "a"), ("a", "b")], None, 'the link from "a" to "b" is given twice'),
        ([(1, 2), (2, 1), ("1", "2")], None, 'the link from "1" to "2" is given twice'),
        ([("a", "x")], ["a", "b"], 'there is no party "x" (the parties are a, b)'),
        ([("a", "")], None, "a party has an empty name"),
        ([("a", " b")], None, "blanks around it"),
        ([("a", "b\x1b[2J")], None, "characters that do not print"),
        ([("a", 1.5)], None, "a party cannot be called 1.5, of type float"),
        ([("a", None)], None, "a party cannot be called None"),
        ([("a", np.array([1, 2]))], None, "of type ndarray"),
        ([(1, 2), (2, True)], None, "a party cannot be called True"),
        ([("a", "b", "c")], None, "('a', 'b', 'c') is not an edge"),
        (["ab"], None, "'ab' is not an edge"),
        ([7], None, "7 is not an edge"),
        ([{"a", "b"}], None, "(an edge is a pair of names"),
        ("ab", None, "'ab' is not a list of edges"),
        (5, None, "5 is not a list of edges"),
        ([("a", "b")], "ab", "'ab' is not a list of parties"),
        ([("a", "b")], True, "True is not a list of parties"),
        ([("a", "b")], 2.0, "2.0 is not a list of parties"),
    ],
)
def test_bad_edges_and_parties_are_refused_by_name(edges: Any, parties: Any, says: str) -> None:
    with pytest.raises(NetworkError) as refusal:
        Network(edges, parties)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("senders", "receivers", "says"),
    [
        ([0, 1], [1], "2 senders and 1 receivers"),
        ([0, 3], [1, 0], "link 1 names party number 3"),
        ([0, -1], [1, 0], "link 1 names party number -1"),
        ([0.0, 1.0], [1, 0], "type float64"),
        ([[0, 1]], [1, 0], "shape (1, 2)"),
        ([0, 1], [1, 1], 'party "2" is linked with itself'),
        ([0, 1, 0], [1, 0, 1], 'the link from "1" to "2" is given twice'),
    ],
)
def test_bad_arrays_are_refused(senders: Any, receivers: Any, says: str) -> None:
    with pytest.raises(NetworkError) as refusal:
        Network.from_arrays(3, senders, receivers)
    assert says in str(refusal.value)


def test_no_name_is_an_unknown_party() -> None:
    with pytest.raises(NetworkError, match='there is no party ""') as refused:
        Network.cycle(["north", "south"]).index("")
    assert refused.value.hint == "the parties are north, south"


def test_an_unknown_party_is_named_with_what_may_have_been_meant() -> None:
    with pytest.raises(NetworkError, match=r'no party "d" \(the parties are a, b, c\)'):
        Network(TRIANGLE).index("d")
    cities = [f"hospital-{letter}" for letter in "abcdefghijklmnop"]
    with pytest.raises(NetworkError, match=r"did you mean hospital-"):
        Network.cycle(cities).index("hospitl-c")
    with pytest.raises(NetworkError, match=r"there are 16 parties"):
        Network.cycle(cities).index("xyz")
    for wrong in ("0", "21", "007", "-1", "1.0", "٣", "9" * 40):
        with pytest.raises(NetworkError, match=r"numbered 1 to 20"):
            Network.cycle(20).index(wrong)
    for i in (-1, 3):
        with pytest.raises(NetworkError, match=f"no party number {i}"):
            Network(TRIANGLE).out_neighbours(i)
        with pytest.raises(NetworkError, match=f"no party number {i}"):
            Network(TRIANGLE).distances_from(i)


def test_a_million_numbered_parties_hold_no_name_until_asked() -> None:
    m = 1_000_000
    i = np.arange(m)
    net = Network.from_arrays(m, np.concatenate([i, i]), np.concatenate([i + 1, i + 2]) % m)
    assert repr(net) == "<Network: 1000000 parties, 2000000 links>"
    assert net.index("1000000") == m - 1
    assert net.out_neighbours(m - 1) == (0, 1)
    assert net.in_neighbours(0) == (m - 2, m - 1)
    assert "all" not in vars(net._names)
    assert "edges" not in vars(net)
