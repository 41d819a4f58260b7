"""A design has no link between two parties that can only dial out, and keeps all it promises; where
there is no such network, an error says why. Whether there is one is checked by brute force."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import pytest

from tests.cli.test_commands import titan
from titan.errors import NetworkError
from titan.network import Network


def log2(m: int) -> int:
    return (m - 1).bit_length()


def holds(net: Network, tau: int, only: set[str]) -> None:
    graph = net.to_networkx()
    assert nx.is_strongly_connected(graph)
    assert nx.node_connectivity(graph.to_undirected()) >= tau + 1
    assert not [(a, b) for a, b in net.edges if a in only and b in only]


@pytest.mark.parametrize("m", range(2, 9))
def test_every_design_holds_or_there_is_none(m: int) -> None:
    """With all links but those in between, connectivity is as large as it can be."""
    for count, tau in itertools.product(range(m + 1), range(min(4, m - 2) + 1)):
        only = {str(m - party) for party in range(count)}
        most = nx.complete_graph(list(map(str, range(1, m + 1))))
        most.remove_edges_from(list(itertools.combinations(only, 2)))
        if nx.node_connectivity(most) >= tau + 1:
            holds(Network.design(m, tau, dials_only=only), tau, only)
        else:
            with pytest.raises(NetworkError, match="can only dial out"):
                Network.design(m, tau, dials_only=only)


@pytest.mark.parametrize(("m", "count", "tau"), [(20, 5, 1), (20, 10, 1), (20, 15, 2), (60, 55, 4)])
def test_ways_stay_short_and_links_few(m: int, count: int, tau: int) -> None:
    only = {str(party) for party in range(1, count + 1)}
    net = Network.design(m, tau, dials_only=only)
    holds(net, tau, only)
    assert net.diameter <= 2 * log2(m) + 2
    fewest = max(count * (tau + 1), m * (tau + 1) / 2)
    assert len(net.edges) <= fewest + 2 * m


def test_where_a_design_has_room_nothing_is_lost() -> None:
    plain = Network.design(20, 1)
    net = Network.design(20, 1, dials_only=["3", "4", "5", "6"])
    assert (len(net.edges), net.diameter) == (len(plain.edges), plain.diameter)
    assert Network.design(20, 1, dials_only=["7"]) == plain, "one has no such neighbour"
    four = Network.design(["a", "b", "c", "d"], 1, dials_only=["a", "b"])
    assert len(four.edges) == 4, "the cycle, with these two opposite"
    assert Network.design(20, 3, max_diameter=4, dials_only=["1", "2", "3"]).diameter <= 4


def test_where_there_is_none_the_error_counts() -> None:
    with pytest.raises(NetworkError) as refused:
        Network.design(["a", "b", "c", "d"], 1, dials_only=["a", "b", "c"])
    assert refused.value.message == (
        "3 of 4 parties can only dial out, and are not linked with one another; each needs 2 "
        "neighbours for τ = 1, and there are 1"
    )
    assert refused.value.hint == "let 1 more be dialled, or choose a smaller τ"
    with pytest.raises(NetworkError, match="no network found for 9 parties of whom 6"):
        Network.design(9, 1, degree=1, dials_only=list(range(1, 7)))
    with pytest.raises(NetworkError, match="nobody"):
        Network.design(9, 1, dials_only=["nobody"])


def test_on_the_command_line() -> None:
    words = ["network", "design", "a,b,c,d,e", "--tau", "1", "--dials-only", "a,b", "--json"]
    done = titan(*words)
    edges = json.loads(done.stdout)["edges"]
    assert len(edges) == 5
    assert not {("a", "b"), ("b", "a")} & {tuple(edge) for edge in edges}
    done = titan(*words, "--dials-only", "c", "--dials-only", "d")
    assert done.returncode == 1
    assert "4 of 5 parties can only dial out" in done.stderr


def test_many_parties() -> None:
    only = [str(party) for party in range(1, 3001)]
    net = Network.design(5000, 1, dials_only=only)
    assert net.tolerates(1)
    dialled = set(only)
    assert not any(a in dialled and b in dialled for a, b in net.edges)
