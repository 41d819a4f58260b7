"""κ is exact, τ is tolerated exactly when κ ≥ τ + 1, and every cut set named really cuts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import NetworkError, NotPrivateError, PlanError
from titan.network import Network, connectivity


@st.composite
def networks(draw: st.DrawFn, most: int = 9) -> Network:
    m = draw(st.integers(2, most))
    pairs = [(s, r) for s in range(m) for r in range(m) if s != r]
    chosen, sparse = draw(st.sets(st.sampled_from(pairs))), draw(st.booleans())
    kept = [pair for pair in pairs if (pair in chosen) == sparse]
    return Network.from_arrays(
        m, np.array([s for s, _ in kept], int), np.array([r for _, r in kept], int)
    )


def undirected(net: Network) -> Any:
    return net.to_networkx().to_undirected()


def separates(net: Network, cut: frozenset[str]) -> bool:
    rest = undirected(net)
    rest.remove_nodes_from(cut)
    return not nx.is_connected(rest)


@given(networks())
def test_weak_connectivity_is_that_of_networkx(net: Network) -> None:
    kappa = nx.node_connectivity(undirected(net))
    assert net.weak_connectivity == kappa
    for tau in range(len(net) + 1):
        assert net.tolerates(tau) == (kappa >= tau + 1)


@given(networks())
def test_the_decision_agrees_with_every_coalition_one_by_one(net: Network) -> None:
    """The definition itself: all coalitions of at most τ leave the others connected."""
    for tau in range(min(3, len(net) - 1)):
        hidden = all(
            net.hides_from(coalition)
            for size in range(tau + 1)
            for coalition in combinations(net.parties, size)
        )
        assert net.tolerates(tau) == hidden


@given(networks())
def test_a_refusal_names_a_cut_set(net: Network) -> None:
    for tau in range(len(net) - 1):
        if net.tolerates(tau):
            net.check_tolerates(tau)
            continue
        with pytest.raises(NotPrivateError) as refusal:
            net.check_tolerates(tau)
        assert len(refusal.value.cut) <= tau
        assert separates(net, refusal.value.cut)
        assert not net.hides_from(refusal.value.cut)


@pytest.mark.parametrize("seed", range(12))
def test_larger_random_networks_too(seed: int) -> None:
    """Sparse ones need fans that reroute earlier paths."""
    net = Network.random(24 + seed, out_degree=1 + seed % 3, seed=seed)
    kappa = nx.node_connectivity(undirected(net))
    assert net.weak_connectivity == kappa
    for tau in (kappa, kappa + 1):
        with pytest.raises(NotPrivateError) as refusal:
            net.check_tolerates(tau)
        assert separates(net, refusal.value.cut)


@pytest.mark.parametrize("bridge", [2, 3, 5])
def test_two_groups_with_a_narrow_bridge(bridge: int) -> None:
    """All degrees are large here; only the bridge's parties are a small cut."""
    left, right = Network.random(200, 6, seed=1), Network.random(200, 6, seed=2)
    links = {(int(s), int(r)) for s, r in zip(left.senders, left.receivers, strict=True)}
    shift = 200 - bridge
    links |= {
        (int(s) + shift, int(r) + shift)
        for s, r in zip(right.senders, right.receivers, strict=True)
    }
    net = Network.from_arrays(400 - bridge, [s for s, _ in links], [r for _, r in links])
    assert net.weak_connectivity == bridge
    assert not net.tolerates(bridge)
    with pytest.raises(NotPrivateError) as refusal:
        net.check_tolerates(bridge)
    assert refusal.value.cut == {str(i + 1) for i in range(shift, 200)}


@pytest.mark.parametrize(
    ("graph", "kappa"),
    [
        (nx.petersen_graph(), 3),
        (nx.hypercube_graph(5), 5),
        (nx.circulant_graph(30, [1, 4]), 4),
        (nx.complete_bipartite_graph(4, 9), 4),
        (nx.path_graph(9), 1),
        (nx.barbell_graph(6, 0), 1),
        (nx.wheel_graph(12), 3),
        (nx.circular_ladder_graph(40), 3),
        (nx.icosahedral_graph(), 5),
        (nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)), 0),
    ],
)
def test_known_graphs(graph: Any, kappa: int) -> None:
    net = Network.from_networkx(nx.convert_node_labels_to_integers(graph))
    assert net.weak_connectivity == kappa
    assert not net.tolerates(kappa)
    assert kappa == 0 or net.tolerates(kappa - 1)


@given(st.integers(3, 14), st.integers(1, 6), st.data())
def test_the_backbone_never_certifies_too_much(m: int, k: int, data: st.DataObject) -> None:
    """A backbone with one link taken out is not taken for one."""
    h = -(-k // 2)
    if m <= 2 * h:
        return
    whole = Network.circulant(m, range(1, h + 1))
    assert connectivity._has_backbone(whole._links.undirected, k)
    assert nx.node_connectivity(undirected(whole)) == 2 * h
    gone = data.draw(st.integers(0, len(whole.edges) - 1))
    edges = [edge for e, edge in enumerate(whole.edges) if e != gone]
    less = Network(edges, parties=whole.parties)
    assert not connectivity._has_backbone(less._links.undirected, k)


def test_a_thousand_parties_with_out_degree_four_tolerate_three() -> None:
    net = Network.random(1000, out_degree=4, seed=1)
    assert net.tolerates(3)
    assert "weak_connectivity" not in vars(net)
    assert net.weak_connectivity == 5


def test_a_shuffled_cycle_is_still_a_cycle() -> None:
    order = np.random.default_rng(3).permutation(20_000)
    net = Network.from_arrays(20_000, order, np.roll(order, -1))
    assert net.tolerates(1)
    assert net.weak_connectivity == 2
    assert not net.tolerates(2)


def test_a_refusal_reads_as_it_should() -> None:
    net = Network.from_networkx(nx.Graph([("a", "hub"), ("b", "hub"), ("b", "c"), ("c", "hub")]))
    with pytest.raises(NotPrivateError) as refusal:
        net.check_tolerates(1)
    assert refusal.value.message == (
        "the network does not tolerate τ = 1: the coalition {hub} separates {a} from {b, c}"
        " and would learn the sum of each group"
    )
    assert refusal.value.cut == {"hub"}
    with pytest.raises(NotPrivateError, match=r"no link joins \{a, b\} with \{c, d\}"):
        Network([("a", "b"), ("c", "d")]).check_tolerates(0)
    with pytest.raises(NotPrivateError, match="at most one honest party") as refusal:
        Network.complete(4).check_tolerates(3)
    assert len(refusal.value.cut) == 3


@pytest.mark.parametrize("tau", [-1, 1.0, "1", None, True, np.zeros(2)])
def test_a_tau_that_is_no_number_of_parties_is_refused(tau: Any) -> None:
    for ask in (Network.cycle(5).tolerates, Network.cycle(5).check_tolerates):
        with pytest.raises(PlanError, match="is not a number of colluding parties"):
            ask(tau)


def test_honest_components_of_a_given_coalition() -> None:
    net = Network.cycle(["n", "e", "s", "w"])
    assert net.honest_components([]) == [("n", "e", "s", "w")]
    assert net.honest_components(["n", "s"]) == [("e",), ("w",)]
    assert not net.hides_from(["n", "s"])
    assert net.hides_from(["n", "e"])
    assert net.hides_from({"n"})
    assert not net.hides_from(["n", "e", "s", "s"])  # one honest party: nothing hides it


def test_coalitions_that_make_no_sense_are_refused() -> None:
    net = Network.cycle(["n", "e", "s", "w"])
    with pytest.raises(NetworkError, match='there is no party "x"'):
        net.hides_from(["x"])
    with pytest.raises(NetworkError, match="the coalition is everybody"):
        net.honest_components(["n", "e", "s", "w"])
    with pytest.raises(NetworkError, match="the coalition is the text 'new'"):
        net.hides_from("new")
