"""Distances, diameter and strong connectivity are networkx's; what cannot be reached is named."""

from __future__ import annotations

import subprocess
import sys
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from titan.errors import NotStronglyConnectedError
from titan.network import Network, paths


@st.composite
def networks(draw: st.DrawFn, connected: bool = False) -> Network:
    m = draw(st.integers(2, 8))
    links = draw(st.sets(st.tuples(st.integers(0, m - 1), st.integers(0, m - 1)), max_size=24))
    if connected:
        around = draw(st.permutations(range(m)))
        links |= set(zip(around, [*around[1:], around[0]], strict=True))
    loopless = [(s, r) for s, r in links if s != r]
    return Network.from_arrays(m, [s for s, _ in loopless], np.array([r for _, r in loopless], int))


def expected(net: Network) -> np.ndarray[tuple[int, int], np.dtype[np.int_]]:
    table = np.full((len(net), len(net)), -1)
    for source, row in nx.all_pairs_shortest_path_length(net.to_networkx()):
        for target, steps in row.items():
            table[net.index(source), net.index(target)] = steps
    return table


@given(networks())
def test_distances_are_those_of_networkx(net: Network) -> None:
    table = expected(net)
    for i in range(len(net)):
        assert np.array_equal(net.distances_from(i), table[i])
        assert np.array_equal(net.distances_to(i), table[:, i])
    for block in (1, 3, 256):
        assert np.array_equal(np.vstack(list(net.distances(block))), table)


@given(networks())
def test_few_links_are_walked_to_where_scipy_finds_them(net: Network) -> None:
    def found() -> tuple[object, ...]:
        gap = paths.find_gap(net._links)
        return gap, np.vstack(list(net.distances())).tolist()

    with patch.object(paths, "_FEW_LINKS", -1):
        by_scipy = found()
    assert found() == by_scipy


def test_a_small_network_needs_no_scipy() -> None:
    """To load it takes as long as everything else that a party does before it reads its rows."""
    asked = "net = titan.Network.cycle(3); net.diameter_bound; net.distances_to(1)"
    code = f"import sys, titan; {asked}; sys.exit('scipy.sparse' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(networks())
def test_strong_connectivity_is_that_of_networkx(net: Network) -> None:
    assert net.strongly_connected == nx.is_strongly_connected(net.to_networkx())


@given(networks(connected=True))
def test_the_diameter_is_that_of_networkx(net: Network) -> None:
    assert net.diameter == nx.diameter(net.to_networkx())
    assert net.diameter <= net.diameter_bound <= 2 * net.diameter


@given(networks())
def test_the_named_pair_is_out_of_reach_and_the_suggested_links_help(net: Network) -> None:
    assume(not net.strongly_connected)
    with pytest.raises(NotStronglyConnectedError) as refusal:
        _ = net.diameter
    source, target = refusal.value.source, refusal.value.target
    assert not nx.has_path(net.to_networkx(), source, target)
    assert f'"{source}" cannot reach "{target}"' in str(refusal.value)
    gap, repaired, added = paths.find_gap(net._links), net, 0
    assert gap is not None
    needed = gap.links
    while gap is not None:
        link = (repaired.parties[gap.stuck[0]], repaired.parties[gap.missed[0]])
        repaired, added = Network([*repaired.edges, link], parties=repaired.parties), added + 1
        gap = paths.find_gap(repaired._links)
    assert repaired.strongly_connected
    assert added >= needed


def test_the_error_reads_as_it_should() -> None:
    net = Network([("north", "west"), ("west", "north"), ("north", "east"), ("east", "south"),
                   ("south", "east")])  # fmt: skip
    with pytest.raises(NotStronglyConnectedError) as refusal:
        net.check_strongly_connected()
    assert refusal.value.message == (
        'the network is not strongly connected: "east" cannot reach "north"'
    )
    assert refusal.value.hint == "add a link from one of {east, south} to one of {north, west}"
    with pytest.raises(NotStronglyConnectedError) as refusal:
        Network([("hub", str(i)) for i in range(9)]).check_strongly_connected()
    assert refusal.value.hint.startswith("at least 9 links are missing")


@pytest.mark.parametrize("m", [700, 1300])
def test_long_and_short_networks_are_measured_alike(m: int) -> None:
    """A two-way path is longer than bits are passed for; with a hub it is not."""
    i = np.arange(m - 1)
    path = Network.from_arrays(m, np.r_[i, i + 1], np.r_[i + 1, i])
    assert path.diameter == m - 1
    assert np.array_equal(
        np.vstack(list(path.distances(500))), abs(np.arange(m)[:, None] - np.arange(m))
    )
    near = np.arange(2, m)
    hub = Network.from_arrays(m, np.r_[i, i + 1, near, 0 * near], np.r_[i + 1, i, 0 * near, near])
    assert hub.diameter == 2
    assert np.vstack(list(hub.distances(500))).max() == 2


def test_bits_and_single_searches_agree_beyond_one_word_and_one_block() -> None:
    net = Network.random(300, out_degree=3, seed=5)
    table = np.vstack(list(net.distances(block=130)))
    assert all(np.array_equal(table[i], net.distances_from(i)) for i in range(300))
    assert net.diameter == table.max()
    assert table.max() < paths._LONG


def test_a_million_parties_in_a_cycle() -> None:
    net = Network.cycle(1_000_000)
    assert net.strongly_connected
    assert net.diameter == 999_999
    assert net.distances_to(0)[:3].tolist() == [0, 999_999, 999_998]
