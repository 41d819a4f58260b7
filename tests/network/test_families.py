"""Families have the diameters and connectivities that are known of them, for every m."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
import pytest

from titan.errors import NetworkError, NotStronglyConnectedError
from titan.network import Network, families


def log(m: int, base: int) -> int:
    return next(steps for steps in range(m) if base**steps >= m)


@pytest.mark.parametrize("m", [2, 3, 5, 17])
def test_cycle_and_complete(m: int) -> None:
    cycle, complete = Network.cycle(m), Network.complete(m)
    assert cycle.edges == tuple((str(i), str(i % m + 1)) for i in range(1, m + 1))
    assert (cycle.diameter, cycle.weak_connectivity) == (m - 1, min(2, m - 1))
    assert len(complete.edges) == m * (m - 1)
    assert (complete.diameter, complete.weak_connectivity) == (1, m - 1)
    assert complete.tolerates(m - 2)


def test_the_papers_first_network() -> None:
    """Five parties, diameter 4, weak connectivity 2."""
    net = Network.cycle(5)
    assert (net.diameter, net.weak_connectivity) == (4, 2)
    assert net.tolerates(1)
    assert not net.tolerates(2)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_de_bruijn_and_kautz_are_short_for_every_m(degree: int) -> None:
    for m in range(degree + 1, 70):
        for family in (Network.de_bruijn, Network.kautz):
            net = family(m, degree)
            assert net.diameter <= log(m, degree)
            assert net.out_degree.max() <= degree


@pytest.mark.parametrize(("degree", "length"), [(2, 3), (2, 5), (3, 3)])
def test_at_their_own_sizes_they_are_the_graphs_of_words(degree: int, length: int) -> None:
    letters = range(degree + 1)
    words = [w for w in product(letters, repeat=length) if all(a != b for a, b in pairwise(w))]
    graph = nx.DiGraph((w, (*w[1:], x)) for w in words for x in letters if x != w[-1])
    kautz = Network.kautz(len(words), degree)
    assert (kautz.diameter, kautz.weak_connectivity) == (length, 2 * degree - 1)
    assert np.all(kautz.out_degree == degree)
    assert nx.is_isomorphic(kautz.to_networkx(), graph)
    de_bruijn = Network.de_bruijn(degree**length, degree)
    assert (de_bruijn.diameter, de_bruijn.weak_connectivity) == (length, 2 * degree - 2)


@pytest.mark.parametrize("m", [2, 3, 4, 9, 40])
def test_random_networks_have_the_out_degree_asked_for(m: int) -> None:
    for out_degree in range(1, m):
        net = Network.random(m, out_degree, seed=m)
        assert net.strongly_connected
        assert np.all(net.out_degree == out_degree)
        assert net == Network.random(m, out_degree, seed=m)
    assert m < 9 or Network.random(m, 2, seed=1) != Network.random(m, 2, seed=2)


def test_random_links_reach_all_alike() -> None:
    """Of 7 parties, 6 possible receivers, each should be chosen in a third of the networks."""
    count = np.zeros((7, 7))
    for seed in range(2000):
        net = Network.random(7, 2, seed=seed)
        count[net.senders, net.receivers] += 1
    chosen = count[~np.eye(7, dtype=bool)] / 2000
    assert abs(chosen - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 2000)


def test_circulant() -> None:
    net = Network.circulant(["a", "b", "c", "d", "e"], [1, -2])
    assert net.edges[:2] == (("a", "b"), ("a", "d"))
    assert net.weak_connectivity == 4
    with pytest.raises(NotStronglyConnectedError, match='"1" cannot reach "2"'):
        Network.circulant(6, [2, 4])
    for m in (5, 12, 31):
        other = nx.circulant_graph(m, [1, 3])
        assert Network.circulant(m, [1, 3]).weak_connectivity == nx.node_connectivity(other)


@pytest.mark.parametrize("m", [16, 17, 100, 257])
def test_the_backbone_with_doubling_is_short(m: int) -> None:
    for reach in (1, 2):
        links = families.backbone(m, reach, factor=2, spread=1)
        net = Network.from_arrays(m, links.senders, links.receivers)
        assert net.diameter <= 2 * log(m, 2)
        assert net.tolerates(2 * reach - 1)


@pytest.mark.parametrize("m", [9, 20, 300])
def test_shuffled_cycles_share_no_pair(m: int) -> None:
    links = families.cycles(m, 3, seed=0)
    assert np.all(links.undirected.out_degree == 6)
    again = families.cycles(m, 3, seed=0)
    assert np.array_equal(links.receivers, again.receivers)


def test_shuffled_cycles_are_the_same_everywhere() -> None:
    links = families.cycles(8, 2, seed=1)
    assert links.receivers.tolist() == [1, 6, 2, 5, 3, 4, 4, 7, 1, 5, 0, 6, 3, 7, 0, 2]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Network.cycle(1), "a network of 1 party"),
        (lambda: Network.complete(0), "a network of 0 parties"),
        (lambda: Network.cycle(["a", "a"]), 'two parties are called "a"'),
        (lambda: Network.kautz(5, 0), "an out-degree of 0 among 5 parties"),
        (lambda: Network.kautz(5, 5), "an out-degree of 5 among 5 parties"),
        (lambda: Network.kautz(6, 1), "not strongly connected"),
        (lambda: Network.de_bruijn(5, 2.0), "2.0 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Network.random(5, 5), "an out-degree of 5 among 5 parties"),
        (lambda: Network.circulant(5, [1, 5]), "would link every party with itself"),
        (lambda: Network.circulant(5, [1, 6]), "the same modulo 5"),
        (lambda: Network.circulant(5, []), "not strongly connected"),
        (lambda: Network.circulant(5, ["1"]), "'1' is not a whole number"),  # type: ignore[list-item]
    ],
)
def test_impossible_families_are_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(NetworkError) as refusal:
        make()
    assert says in str(refusal.value)
