"""Fans are as large as Menger's theorem allows, disjoint, and their cuts as small.

Random graphs seldom have a cut smaller than their smallest degree, so these tests build graphs that
do: groups that are dense within and joined by a few parties only.
"""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import networkx as nx
import pytest

from titan.network import Network
from titan.network.connectivity import _Fan


def random_graph(random: Random) -> Any:
    m = random.randint(5, 14)
    return nx.gnp_random_graph(m, random.uniform(0.15, 0.5), seed=random.randrange(10**6))


def clustered(random: Random) -> Any:
    """Two or three dense groups; hubs linked to all or a few bridges; numbers shuffled."""
    sizes = [random.randint(3, 6) for _ in range(random.randint(2, 3))]
    hubs = random.randint(0, 3)
    graph = nx.disjoint_union_all(nx.complete_graph(size) for size in sizes)
    inside = list(graph.edges)
    graph.remove_edges_from(random.sample(inside, len(inside) // 6))
    m = len(graph)
    graph.add_edges_from((m + hub, v) for hub in range(hubs) for v in range(m))
    pairs = list(nx.non_edges(graph))
    graph.add_edges_from(random.sample(pairs, min(random.randint(0, 4), len(pairs))))
    numbers = list(range(len(graph)))
    random.shuffle(numbers)
    return nx.relabel_nodes(graph, dict(enumerate(numbers)))


def largest_fan(graph: Any, start: int, targets: set[int], avoid: int) -> int:
    """The dumb twin: a maximum flow in the graph with every vertex split in two."""
    flow = nx.DiGraph()
    flow.add_nodes_from([(start, "out"), "end"])
    for u, v in [*graph.edges, *((v, u) for u, v in graph.edges)]:
        if avoid not in (u, v):
            flow.add_edge((u, "out"), (v, "in"))
    flow.add_edges_from((((v, "in"), (v, "out")) for v in graph if v != start), capacity=1)
    flow.add_edges_from((((v, "in"), "end") for v in targets), capacity=1)
    for v in targets:
        flow.remove_edge((v, "in"), (v, "out"))
    return int(nx.maximum_flow_value(flow, (start, "out"), "end"))


def check_paths(graph: Any, fan: _Fan, start: int, targets: set[int], avoid: int) -> int:
    """Follow every path from its target back to the start; count them."""
    seen: set[int] = set()
    ends = [v for v in fan.before if v in targets]
    for v in ends:
        while v != start:
            assert v not in seen
            assert v != avoid
            assert graph.has_edge(fan.before[v], v)
            seen.add(v)
            v = fan.before[v]
            assert v not in targets
    assert seen == set(fan.before)
    assert set(fan.between) == seen - targets
    return len(ends)


@pytest.mark.parametrize("build", [random_graph, clustered])
def test_fans_are_as_large_as_they_can_be(build: Any) -> None:
    random = Random(7)
    for _ in range(250):
        graph = build(random)
        start, avoid, *others = random.sample(sorted(graph), len(graph))
        targets = set(others[: random.randint(1, len(others))])
        if random.random() < 0.5 and not graph.has_edge(start, avoid):
            targets = set(graph[avoid])
        elif random.random() < 0.5:
            avoid = -1
        neighbours = [sorted(graph[v]) for v in range(len(graph))]
        most = largest_fan(graph, start, targets, avoid)
        fan = _Fan(neighbours, start, targets, avoid)
        assert fan.reaches(most)
        assert check_paths(graph, fan, start, targets, avoid) == most
        assert not _Fan(neighbours, start, targets, avoid).reaches(most + 1)
        fan.reaches(len(graph))
        check_cut(graph, fan.cut, most, start, targets, avoid)


def check_cut(
    graph: Any, cut: tuple[int, ...], most: int, start: int, targets: set[int], avoid: int
) -> None:
    assert len(cut) == most
    rest = graph.copy()
    rest.remove_nodes_from([*cut, avoid])
    assert not nx.node_connected_component(rest, start) & targets


def test_weak_connectivity_below_the_smallest_degree() -> None:
    random, smaller = Random(11), 0
    for _ in range(250):
        graph = clustered(random)
        kappa = nx.node_connectivity(graph)
        net = Network.from_networkx(nx.relabel_nodes(graph, {v: v + 1 for v in graph}))
        assert net.weak_connectivity == kappa
        assert not net.tolerates(kappa)
        assert kappa == 0 or net.tolerates(kappa - 1)
        smaller += kappa < min(degree for _, degree in graph.degree)
    assert smaller > 100


def test_hubs_between_two_groups_do_not_hide_the_cut() -> None:
    """The best linked parties are the cut, and those around them lie on both of its sides."""
    for hubs in (1, 2, 3):
        links = [(a, b) for a, b in combinations(range(20), 2) if a % 2 == b % 2 or a < hubs]
        net = Network.from_arrays(20, [a for a, _ in links], [b for _, b in links])
        assert net.weak_connectivity == nx.node_connectivity(net.to_networkx().to_undirected())
        assert net.weak_connectivity == hubs


def test_a_second_path_may_take_a_party_off_the_first() -> None:
    """The short way s-a-u-b-t blocks both; the second path must take back a-u-b, u included."""
    graph = nx.Graph()
    for way in ("saubt", "sdefb", "ahijT"):
        nx.add_path(graph, way)
    number = {name: i for i, name in enumerate(graph)}
    graph = nx.relabel_nodes(graph, number)
    neighbours = [sorted(graph[v]) for v in range(len(graph))]
    targets = {number["t"], number["T"]}
    fan = _Fan(neighbours, number["s"], targets)
    assert fan.reaches(1)
    assert number["u"] in fan.between
    fan = _Fan(neighbours, number["s"], targets)
    assert fan.reaches(2)
    assert check_paths(graph, fan, number["s"], targets, avoid=-1) == 2
    assert number["u"] not in fan.between
