"""Dangerous coalitions: found without trying all, and exactly those that trying all finds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import networks
from titan import Network
from titan.errors import InputError, NetworkError, NotStronglyConnectedError, PlanError
from titan_lab.privacy.audit import audit, infer


def brute_force(network: Network, tau: int) -> tuple[dict[int, bool], list[tuple[str, ...]]]:
    """Every coalition tried: whether all of a size are harmless, and the minimal dangerous ones."""
    harmless: dict[int, bool] = {}
    minimal: list[tuple[str, ...]] = []
    for size in range(1, tau + 1):
        bad = [c for c in combinations(network.parties, size) if not network.hides_from(c)]
        harmless[size] = not bad
        minimal += [c for c in bad if not any(set(s) < set(c) for s in minimal)]
    return harmless, minimal


@given(networks(most=8), st.integers(1, 6))
def test_the_same_as_trying_all(network: Network, tau: int) -> None:
    if tau > len(network) - 2:
        return
    harmless, minimal = brute_force(network, tau)
    found = audit(network, tau, limit=1000)
    assert found.harmless == harmless
    assert sorted(each.coalition for each in found.dangerous) == sorted(minimal)
    sizes = [len(each.coalition) for each in found.dangerous]
    assert sizes == sorted(sizes)
    assert not found.more
    for each in found.dangerous:
        assert not each.harmless
        assert list(each.components) == network.honest_components(each.coalition)


@given(networks(most=7), st.integers(0, 5))
def test_a_limit_says_whether_there_are_more(network: Network, limit: int) -> None:
    if len(network) < 3:
        return
    tau = len(network) - 2
    whole = brute_force(network, tau)[1]
    found = audit(network, tau, limit=limit)
    assert len(found.dangerous) == min(limit, len(whole))
    assert found.more == (len(whole) > limit)


@pytest.mark.parametrize("tau", [2, 3])
def test_larger_networks_too(tau: int) -> None:
    for seed in range(4):
        network = Network.random(22, 2, seed=seed)
        found = audit(network, tau, limit=10_000)
        assert sorted(e.coalition for e in found.dangerous) == sorted(brute_force(network, tau)[1])


@pytest.mark.parametrize(
    ("network", "kappa", "count"),
    [
        (Network.cycle(1000), 2, 20),
        (Network.random(1000, 4, seed=1), 4, 0),
        (Network.random(1000, 2, seed=1), 2, 20),
        (Network.design(1000, 3), 4, 0),
        (Network([(0, i) for i in range(1, 1000)] + [(i, 0) for i in range(1, 1000)]), 1, 1),
    ],
    ids=["cycle", "dense", "sparse", "designed", "star"],
)
def test_a_thousand_parties(network: Network, kappa: int, count: int) -> None:
    found = audit(network, 3)
    assert found.harmless == {size: size < kappa for size in (1, 2, 3)}
    assert len(found.dangerous) == count
    assert found.more == (count == 20)


def test_without_tau_up_to_the_smallest_dangerous_ones() -> None:
    assert audit(Network.cycle(5)).harmless == {1: True, 2: False}
    assert len(audit(Network.cycle(5)).dangerous) == 5
    assert audit(Network.complete(5)).harmless == {1: True, 2: True, 3: True}
    assert audit(Network.cycle(2)).harmless == {}


def test_one_honest_party_is_never_hidden() -> None:
    found = infer(Network.complete(4), ["1", "2", "4"])
    assert not found.harmless
    assert found.components == (("3",),)
    assert infer(Network.complete(4), ["1", "2"]).harmless


def test_bad_questions_are_refused() -> None:
    cycle = Network.cycle(5)
    with pytest.raises(NetworkError, match="at most 3"):
        audit(cycle, 4)
    with pytest.raises(PlanError, match="number of colluding"):
        audit(cycle, -1)
    with pytest.raises(PlanError, match="limit"):
        audit(cycle, 2, limit=-1)
    with pytest.raises(NetworkError, match='no party "9"'):
        infer(cycle, ["1", "9"])
    with pytest.raises(NetworkError, match="everybody"):
        infer(cycle, cycle.parties)
    with pytest.raises(InputError, match="nobody"):
        infer(cycle, [])
    one_way = Network([("a", "b"), ("b", "c")])
    with pytest.raises(NotStronglyConnectedError):
        audit(one_way, 1)
