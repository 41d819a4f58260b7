"""Algorithm 2 and Theorem 1: after T ≥ δ(G) rounds all lists are the k largest pairs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import networks
from tests.sums import plain_sum, random_inputs, run_local, stacked, top_k
from titan import Network
from titan.engines import local
from titan.engines.local import Outcome
from titan.errors import RecoveryError
from titan.protocol import Kind, Plan
from titan.protocol.recovery.topk import TopK
from titan.ring import Ring

Pairs = list[tuple[int, int]]


def sent_lists(plan: Plan, outcome: Outcome, round_: int) -> dict[int, list[Pairs]]:
    """Sender → for every entry the (value, id) pairs of the list it sent in this round."""
    assert isinstance(plan.scheme, TopK)
    lists: dict[int, list[Pairs]] = {}
    for envelope in outcome.envelopes:
        if envelope.kind is Kind.LIST and envelope.round == round_:
            values, ids = plan.scheme.read(*envelope[:2], envelope.round, envelope.payload)
            lists[envelope.sender] = [
                [
                    (v, int(i))
                    for v, i in zip(plan.ring.to_ints(values[..., e]), ids[:, e], strict=True)
                    if i != 0xFFFF
                ]
                for e in range(plan.entries)
            ]
    return lists


@settings(max_examples=60)
@given(networks(most=6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
def test_theorem_1_lists_converge_to_the_k_largest(
    network: Network, k: int, bits: int, seed: int
) -> None:
    """Few bits make ties certain; they go to the larger id (Section III)."""
    m, ring = len(network), Ring(bits)
    k = min(k, m)
    plan, outcome = run_local(
        network,
        ring,
        random_inputs(ring, m, 3, seed),
        recovery="topk",
        k=k,
        rounds=network.diameter + 1,
    )
    masked = {i: [pairs[0] for pairs in lists] for i, lists in sent_lists(plan, outcome, 1).items()}
    for lists in sent_lists(plan, outcome, network.diameter + 1).values():
        for entry, found in enumerate(lists):
            assert found == top_k([masked[i][entry] for i in range(m)], k)


@settings(max_examples=40)
@given(networks(most=6), st.integers(0, 2**32))
def test_every_round_is_algorithm_2_line_by_line(network: Network, seed: int) -> None:
    """Lines 4 to 7: the next list is the k largest distinct pairs of one's own and those sent."""
    ring, k = Ring(2), 2
    plan, outcome = run_local(
        network, ring, random_inputs(ring, len(network), 2, seed), recovery="topk", k=k
    )
    rounds = [sent_lists(plan, outcome, r) for r in range(1, network.diameter + 1)]
    for before, after in pairwise(rounds):
        for party in range(len(network)):
            for entry in range(plan.entries):
                known = set(before[party][entry])
                for neighbour in network.in_neighbours(party):
                    known |= set(before[neighbour][entry])
                assert after[party][entry] == top_k(sorted(known), k)


def test_k_slots_are_always_sent() -> None:
    """Section III-A, communication: L and ℓ have k entries from the first round on."""
    plan, outcome = run_local(
        Network.cycle(5), Ring(64), random_inputs(Ring(64), 5, 2, 0), recovery="topk", k=3
    )
    assert isinstance(plan.scheme, TopK)
    sizes = {len(e.payload) for e in outcome.envelopes if e.kind is Kind.LIST}
    assert sizes == {3 * plan.entries * (8 + 2)}


def test_runs_exclude_what_earlier_runs_recovered() -> None:
    """Algorithm 1, lines 5 to 7: run t recovers places tk+1 … (t+1)k of the sorted pairs."""
    network, ring, k = Network.cycle(7), Ring(2), 3
    plan, outcome = run_local(
        network, ring, random_inputs(ring, 7, 2, 1), recovery="topk", k=k, rounds=7
    )
    masked = {i: [pairs[0] for pairs in lists] for i, lists in sent_lists(plan, outcome, 1).items()}
    for run in range(3):
        for lists in sent_lists(plan, outcome, 7 * (run + 1)).values():
            for entry, found in enumerate(lists):
                ordered = top_k([masked[i][entry] for i in range(7)], 7)
                assert found == ordered[run * k : (run + 1) * k]


def test_k_1_is_faim() -> None:
    """Section III-A: with k = 1, iterated max-consensus; m runs of T rounds, largest first."""
    network, ring = Network.cycle(4), Ring(3)
    inputs = random_inputs(ring, 4, 2, 5)
    plan, outcome = run_local(network, ring, inputs, recovery="topk", k=1, rounds=4)
    assert outcome.cost.recovery_rounds == 4 * 4
    masked = {i: [pairs[0] for pairs in lists] for i, lists in sent_lists(plan, outcome, 1).items()}
    for run in range(4):
        winners = sent_lists(plan, outcome, 4 * (run + 1))[0]
        for entry, found in enumerate(winners):
            assert found == [top_k([masked[i][entry] for i in range(4)], 4)[run]]
    assert ring.to_ints(outcome.total) == plain_sum(ring, inputs)


def test_fewer_rounds_than_the_diameter_would_not_do() -> None:
    """Theorem 1 needs T ≥ δ(G): one round less and the recovery is found to be incomplete."""
    network, ring = Network.cycle(5), Ring(64)
    good = Plan.make(network, ring, 1, recovery="topk", k=5)
    short = Plan(network, ring, 1, "sent", TopK(network, ring, 2, 5, network.diameter - 1, 5))
    secrets = stacked(ring, [[i] for i in range(5)])
    assert ring.to_ints(local.run(good, secrets).total) == [10]
    with pytest.raises(RecoveryError, match="did not recover"):
        local.run(short, secrets)
