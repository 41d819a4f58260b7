"""Algorithm 1, Theorem 2, the footnote on counting, and the costs the paper states."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from tests.strategies import networks
from tests.sums import plain_sum, random_inputs, run_local, stacked
from titan import Network
from titan.engines import vectorised
from titan.errors import PlanError
from titan.protocol import Kind, Plan
from titan.ring import Ring


@settings(max_examples=60)
@given(networks(), st.data())
def test_theorem_2_the_exact_sum_in_finitely_many_rounds(
    network: Network, data: st.DataObject
) -> None:
    """T may be any upper bound on the diameter; the rounds are T⌈m/k⌉, and one to obfuscate."""
    m, ring = len(network), Ring(64)
    k = data.draw(st.integers(1, m))
    T = data.draw(st.integers(network.diameter, network.diameter + 3))
    inputs = random_inputs(ring, m, 2, data.draw(st.integers(0, 2**32)))
    _, outcome = run_local(network, ring, inputs, recovery="topk", k=k, rounds=T)
    assert ring.to_ints(outcome.total) == plain_sum(ring, inputs)
    assert outcome.cost.recovery_rounds == T * math.ceil(m / k)
    assert outcome.cost.rounds == outcome.cost.recovery_rounds + 1


def test_the_first_experiment_takes_6_rounds() -> None:
    """Section V: m = 5, T = 5, k = 5; a directed cycle has the stated δ = 4 and κ = 2."""
    network = Network.cycle(5)
    assert (network.diameter, network.weak_connectivity) == (4, 2)
    out = titan.average(range(5), network, recovery="topk", k=5, rounds=5, tau=1)
    assert (out.cost.rounds, out.cost.recovery_rounds) == (6, 5)
    assert out.value == 2


def test_the_second_experiment_takes_1000_rounds() -> None:
    """Section V: m = 100, directed cycle, T = 100, k = 10."""
    network = Network.cycle(100)
    assert (network.diameter, network.weak_connectivity) == (99, 2)
    choices = {"recovery": "topk", "k": 10, "rounds": 100, "tau": 1, "engine": "vectorised"}
    out = titan.average([[i, -i] for i in range(100)], network, **choices)  # type: ignore[arg-type]
    assert (out.cost.rounds, out.cost.recovery_rounds) == (1001, 1000)
    assert list(out.total) == [4950, -4950]  # type: ignore[arg-type]


@settings(max_examples=40)
@given(networks(), st.data())
def test_memory_and_communication_formulas(network: Network, data: st.DataObject) -> None:
    """Section III-A: (2k+m)d numbers held and |N_out|(2kT⌈m/k⌉+1)d sent; equal, not close."""
    m = len(network)
    k = data.draw(st.integers(1, m))
    T = network.diameter + data.draw(st.integers(0, 2))
    _, outcome = run_local(
        network, Ring(64), random_inputs(Ring(64), m, 3, 0), recovery="topk", k=k, rounds=T
    )
    d = 3 + 1  # the carried 1 is an entry
    for i, party in enumerate(network.parties):
        out_neighbours = len(network.out_neighbours(i))
        assert outcome.cost.numbers_held[party] == (2 * k + m) * d
        assert outcome.cost.numbers_sent[party] == (
            out_neighbours * (2 * k * T * math.ceil(m / k) + 1) * d
        )


def test_memory_grows_and_rounds_fall_with_k() -> None:
    """Section III-A: from (2+m)d and Tm at k = 1 to 3md and T at k = m."""
    m, d = 6, 2
    plans = [
        Plan.make(Network.cycle(m), Ring(64), d - 1, recovery="topk", k=k, rounds=m)
        for k in range(1, m + 1)
    ]
    held = [plan.cost.numbers_held.largest for plan in plans]
    rounds = [plan.cost.recovery_rounds for plan in plans]
    assert (held[0], held[-1]) == ((2 + m) * d, 3 * m * d)
    assert (rounds[0], rounds[-1]) == (m * m, m)
    assert held == sorted(held)
    assert rounds == sorted(rounds, reverse=True)


def test_the_obfuscation_sends_one_number_per_entry_and_out_neighbour() -> None:
    """Section III-A, communication costs: |N_out| d messages of the obfuscation step."""
    network = Network([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    plan, outcome = run_local(network, Ring(64), [[1, 2]] * 3, recovery="topk", k=3)
    masks = [e for e in outcome.envelopes if e.kind is Kind.MASK]
    assert sorted((e.sender, e.receiver) for e in masks) == [(0, 1), (0, 2), (1, 2), (2, 0)]
    assert {plan.numbers_in(e) for e in masks} == {3}
    assert {e.round for e in masks} == {0}


@settings(max_examples=40)
@given(networks(), st.integers(0, 5), st.data())
def test_the_footnote_counts_parties_who_know_only_a_bound(
    network: Network, slack: int, data: st.DataObject
) -> None:
    at_most = len(network) + slack
    k = data.draw(st.one_of(st.none(), st.integers(1, at_most)))
    assert titan.count(network, at_most=at_most, k=k) == len(network)


def test_counting_needs_a_true_bound() -> None:
    with pytest.raises(PlanError, match="at_most=4 is below"):
        titan.count(Network.cycle(5), at_most=4)


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_a_wrong_count_of_carried_ones_is_never_an_answer(
    recovery: Literal["topk", "flood", "tree"],
) -> None:
    """The carried 1s prove that the masks cancelled: tamper with a mask, and there is no total."""
    from titan.engines import local
    from titan.errors import RecoveryError
    from titan.protocol import Agent, Envelope

    network, ring = Network.cycle(3), Ring(64)
    plan = Plan.make(network, ring, 1, recovery=recovery)
    secrets = stacked(ring, [[1], [2], [3]])
    receive = Agent.receive

    def tampered(agent: Agent, envelope: Envelope) -> list[Envelope]:
        if envelope.kind is Kind.MASK and envelope.receiver == 1:
            payload = bytes(envelope.payload[:-1]) + bytes([envelope.payload[-1] ^ 1])
            envelope = envelope._replace(payload=payload)
        return receive(agent, envelope)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Agent, "receive", tampered)
        with pytest.raises(RecoveryError, match="masks did not cancel"):
            local.run(plan, secrets)
    assert ring.to_ints(vectorised.run(plan, secrets).total) == [6]
