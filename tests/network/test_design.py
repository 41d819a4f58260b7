"""A designed network tolerates its τ, is short, has few links, or is refused; never unverified."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from titan.errors import NetworkError, PlanError
from titan.network import Network, families
from titan.network.links import Links


def log2(m: int) -> int:
    return (m - 1).bit_length()


@pytest.mark.parametrize("m", range(3, 41))
def test_every_small_design_holds(m: int) -> None:
    for tau in range(min(4, m - 2) + 1):
        net = Network.design(m, tau)
        assert nx.node_connectivity(net.to_networkx().to_undirected()) >= tau + 1
        assert nx.diameter(net.to_networkx()) <= 2 * log2(m)
        least = (tau + 2) // 2
        assert net.out_degree.max() <= max(2, least)
        assert net == Network.design(m, tau)


@pytest.mark.parametrize("tau", [2, 3, 4, 5, 7])
def test_the_links_are_as_few_as_there_can_be(tau: int) -> None:
    """k = τ + 1 neighbours each, and no link can serve more than two parties."""
    net = Network.design(300, tau)
    assert len(net.edges) <= 300 * ((tau + 2) // 2)
    assert net.tolerates(tau)
    assert net.diameter <= 2 * log2(300)


def test_few_parties_get_a_cycle_and_more_get_shortcuts() -> None:
    assert Network.design(5, 1) == Network.cycle(5)
    assert Network.design(7, 1) == Network.cycle(7)
    assert Network.design(8, 1).diameter == 3
    assert Network.design(["a", "b"], 0).edges == (("a", "b"), ("b", "a"))
    assert Network.design(1000, 1).diameter == 10


@pytest.mark.parametrize("m", [12, 40, 2500])
def test_degree_and_diameter_can_be_asked_for(m: int) -> None:
    wide = Network.design(m, 1, degree=5)
    assert wide.out_degree.max() <= 5
    assert wide.diameter < Network.design(m, 1).diameter
    short = Network.design(m, 3, max_diameter=2)
    assert short.diameter <= 2
    assert short.tolerates(3)
    lean = Network.design(m, 3, degree=2)
    assert len(lean.edges) == 2 * m
    assert lean.weak_connectivity == 4
    assert lean.diameter <= 2 * log2(m)
    assert Network.design(m, 1, degree=1) == Network.cycle(m)
    assert len(Network.design(12, 1, max_diameter=1).edges) == 132


@pytest.mark.parametrize("tau", [0, 1, 2, 5])
def test_large_designs_are_certified_and_as_short_as_proven(tau: int) -> None:
    net = Network.design(3000, tau)
    assert net.weak_connectivity >= tau + 1
    assert net.diameter <= 2 * log2(3000)
    assert net.out_degree.max() == (tau + 2) // 2 + 1
    for limit in (6, 12):
        assert Network.design(3000, tau, max_diameter=limit).diameter <= limit


def test_a_million_parties() -> None:
    net = Network.design(1_000_000, tau=1)
    assert net.tolerates(1)
    assert net.strongly_connected
    assert net.senders.size <= 2_000_000
    assert net.distances_from(0).max() <= 40
    assert net.distances_to(123_456).max() <= 40


@pytest.mark.parametrize("links", [families.circulant(3000, o) for o in ([1], [2, 4, 6])])
def test_a_construction_that_fails_its_check_is_never_returned(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "backbone", lambda *_: links)
    with pytest.raises(NetworkError, match="no network found"):
        Network.design(3000, 2)


def test_names_are_kept() -> None:
    names = [f"site {i}" for i in range(9)]
    assert Network.design(names, 2).parties == tuple(names)


@pytest.mark.parametrize(
    ("m", "tau", "options", "says"),
    [
        (5, 4, {}, "no network of 5 parties tolerates τ = 4"),
        (2, 1, {}, "no network of 2 parties tolerates τ = 1"),
        (1, 0, {}, "a network of 1 party"),
        (9, 3, {"degree": 1}, "choose one from 2 to 8"),
        (9, 3, {"degree": 9}, "choose one from 2 to 8"),
        (9, 3, {"degree": "2"}, "'2' is not a whole number"),
        (9, 1, {"max_diameter": 0}, "a diameter of 0"),
        (9, 1, {"degree": 2, "max_diameter": 2}, "no network found for 9 parties, τ = 1"),
        (9000, 1, {"degree": 2, "max_diameter": 5}, "no network found for 9000 parties"),
        (9000, 3, {"degree": 2, "max_diameter": 5}, "no network found for 9000 parties"),
    ],
)
def test_what_cannot_be_designed_is_refused(
    m: int, tau: int, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(NetworkError) as refusal:
        Network.design(m, tau, **options)
    assert says in str(refusal.value)


def test_a_wrong_tau_is_refused() -> None:
    with pytest.raises(PlanError):
        Network.design(5, -1)


def test_numpy_integers_will_do() -> None:
    assert Network.design(np.int64(9), int(np.int32(2))) == Network.design(9, 2)
