"""Any network, recovery, delivery order and ring: the same bits as integer addition in Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import bits, networks
from tests.sums import plain_sum, random_inputs, stacked
from titan import Network
from titan.engines import local, vectorised
from titan.protocol import Kind, Plan
from titan.protocol.recovery.topk import TopK
from titan.protocol.recovery.topk_lists import recover_all
from titan.ring import Ring


@st.composite
def plans(draw: st.DrawFn, most_entries: int = 9) -> Plan:
    """Any plan that is not refused."""
    network = draw(networks())
    choices: dict[str, Any] = {
        "recovery": draw(st.sampled_from(["auto", "topk", "flood", "tree"])),
        "masks": draw(st.sampled_from(["sent", "seeded"])),
        "rounds": draw(st.one_of(st.none(), st.integers(network.diameter, network.diameter + 3))),
    }
    if choices["recovery"] == "topk":
        choices["k"] = draw(st.one_of(st.none(), st.integers(1, len(network))))
    choices["round_bytes"] = draw(st.sampled_from([1, 10, 100_000]))  # many chunks, or one
    return Plan.make(network, Ring(draw(bits)), draw(st.integers(0, most_entries)), **choices)


@settings(max_examples=250)
@given(plans(), st.integers(0, 2**32))
def test_any_delivery_order_gives_the_bits_of_plain_addition(plan: Plan, seed: int) -> None:
    inputs = random_inputs(plan.ring, len(plan.network), plan.dimension, seed)
    secrets = stacked(plan.ring, inputs)
    outcome = local.run(plan, secrets, shuffle=random.Random(seed))
    assert plan.ring.to_ints(outcome.total) == plain_sum(plan.ring, inputs)
    assert outcome.counted == len(plan.network) % plan.ring.modulus


@settings(max_examples=150)
@given(plans(), st.integers(0, 2**32))
def test_engines_agree_on_the_sum_and_on_every_count(plan: Plan, seed: int) -> None:
    """Local counts real envelopes, in order and out of order; vectorised has the prediction."""
    secrets = stacked(plan.ring, random_inputs(plan.ring, len(plan.network), plan.dimension, seed))
    real = local.run(plan, secrets)
    shuffled = local.run(plan, secrets, shuffle=random.Random(seed))
    arrays = vectorised.run(plan, secrets)
    assert np.array_equal(real.total, arrays.total)
    assert real.counted == arrays.counted
    assert real.cost == shuffled.cost == arrays.cost == plan.cost
    assert real.cost.bytes_sent.total == real.cost.bytes_received.total


@settings(max_examples=100)
@given(plans(), st.integers(0, 2**32), st.integers(0, 2**32))
def test_who_sends_what_size_when_does_not_depend_on_values(plan: Plan, a: int, b: int) -> None:
    def shape(seed: int) -> list[tuple[Kind, int, int, int, int]]:
        inputs = random_inputs(plan.ring, len(plan.network), plan.dimension, seed)
        outcome = local.run(plan, stacked(plan.ring, inputs), record=True)
        return [(e.kind, e.sender, e.receiver, e.round, e.size) for e in outcome.envelopes]

    assert shape(a) == shape(b)


@settings(max_examples=60)
@given(networks(most=6), st.integers(1, 6), st.sampled_from([1, 2, 64, 130]), st.integers(0, 2**32))
def test_vectorised_top_k_has_every_agents_list_in_every_round(
    network: Network, k: int, width: int, seed: int
) -> None:
    """Sets of ranks, turned back into lists of (value, id), are what real agents send."""
    ring, m = Ring(width), len(network)
    plan = Plan.make(network, ring, 2, recovery="topk", k=min(k, m), rounds=network.diameter + 1)
    scheme = plan.scheme
    assert isinstance(scheme, TopK)
    outcome = local.run(plan, stacked(ring, random_inputs(ring, m, 2, seed)), record=True)
    sent: dict[tuple[int, int], Any] = {
        (e.round, e.sender): scheme.read(e.kind, e.sender, e.round, e.payload)
        for e in outcome.envelopes
        if e.kind is Kind.LIST
    }
    masked = np.stack([sent[1, i][0][:, 0] for i in range(m)], axis=-1)
    order = np.lexsort(tuple(masked), axis=-1)

    def compare(start: int, round_: int, sets: Any) -> None:
        if (round_ % scheme.rounds_each == 0) or (round_ + 1, 0) not in sent:
            return  # what is known after the last round of a run is not sent
        for party in range(m):
            for entry in range(plan.entries):
                members = [r for r in range(m) if int(sets[r // 64, party, entry]) >> r % 64 & 1]
                ids = [int(order[start + entry, r]) for r in reversed(members)]
                values, sent_ids = sent[round_ + 1, party]
                assert [int(i) for i in sent_ids[:, entry] if i != 0xFFFF] == ids
                for slot, i in enumerate(ids):
                    assert np.array_equal(values[:, slot, entry], masked[:, entry, i])

    recover_all(scheme, masked, observe=compare)


@pytest.mark.parametrize(
    ("network", "k"),
    [(Network.kautz(300, 3), 290), (Network.cycle(130), 7), (Network.kautz(70, 2), 65)],
)
def test_sets_of_ranks_that_span_several_words(network: Network, k: int) -> None:
    """After every round each list is the k largest pairs among those within reach."""
    m, entries = len(network), 3
    scheme = TopK(network, Ring(4), entries, k, network.diameter, m)
    masked = np.random.default_rng(7).integers(0, 16, (1, entries, m), dtype=np.uint64)
    order = np.lexsort(tuple(masked), axis=-1)
    reach = np.stack([network.distances_to(party) for party in range(m)])
    compared = 0

    def compare(start: int, round_: int, sets: Any) -> None:
        nonlocal compared
        if round_ > scheme.rounds_each:
            return  # later runs leave out what the first recovered
        for party in range(0, m, 7):
            for entry in range(sets.shape[-1]):
                at = start + entry
                near = [r for r in range(m) if reach[party, order[at, r]] <= round_]
                words = [int(w) for w in sets[:, party, entry]]
                assert [r for r in range(m) if words[r // 64] >> r % 64 & 1] == near[-k:]
                compared += 1

    recover_all(scheme, masked, observe=compare)
    assert compared == network.diameter * len(range(0, m, 7)) * entries
