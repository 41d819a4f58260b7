"""Checked sums: exact, as dear as planned, and whoever falsifies one is found out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import pytest

from tests.protocol.lying import (
    CYCLE,
    RECOVERIES,
    RELAYED,
    Played,
    Relay,
    TestSeals,
    agents,
    checked,
    play,
    random_secrets,
    strongly_connected,
)
from tests.sums import plain_sum, stacked
from titan import Network
from titan.engines import local
from titan.errors import CheckError, RecoveryError
from titan.protocol import Envelope, Kind, Plan, RecoveryName
from titan.protocol.masking import KeyStream
from titan.protocol.subset_sums import SUBSETS, subset_sums
from titan.ring import Ring

# -- exact, and as dear as planned ------------------------------------------------------------


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_totals_and_costs_are_those_of_the_plan(recovery: RecoveryName) -> None:
    """On any digraph, in any order of delivery, with fewer entries than subsets and with more."""
    rng = random.Random(7)
    seen = Counter[str]()
    for trial in range(40):
        network, bits = strongly_connected(rng, 7), rng.choice([1, 3, 31, 64, 65, 128, 512])
        d = rng.choice([0, 1, 5, 62, 63, 64, 65, 300])
        more = {"k": rng.randrange(1, len(network) + 1)} if recovery == "topk" else {}
        plan = checked(network, bits, d, recovery, round_bytes=rng.choice([1, 200, 10**9]), **more)
        secrets = random_secrets(rng, plan)
        done = local.run(
            plan,
            stacked(plan.ring, secrets),
            seals=TestSeals,
            shuffle=random.Random(trial),
            record=True,
        )
        assert plan.ring.to_ints(done.total) == plain_sum(plan.ring, secrets)
        assert done.cost == plan.cost
        sizes = max(len(each.payload) for each in done.envelopes if each.round)
        assert sizes <= plan.scheme.largest_payload
        assert Kind.OPENED not in {each.kind for each in done.envelopes}
        seen["several pieces"] += len(plan.scheme.within.pieces) > 1  # type: ignore[attr-defined]
        seen["sums over subsets"] += d >= 64
        seen["as they are"] += d < 64
    assert all(seen[each] > 5 for each in ("sums over subsets", "as they are"))
    assert recovery == "topk" or seen["several pieces"] > 5


def test_all_have_the_same_challenge_and_another_in_every_sum() -> None:
    plan = checked(Network.cycle(4), 64, 70, "tree")
    found = set()
    for seed in range(5):
        parties = agents(plan, [[1] * 70] * 4)
        play(parties, random.Random(seed))
        [challenge] = {agent.challenge for agent in parties}
        found.add(challenge)
    assert len(found) == 5
    assert all(len(each) == 32 for each in found)


# -- relays that alter ------------------------------------------------------------------------


def trials(seed: int, recovery: RecoveryName, d: list[int]) -> Iterator[Trial]:
    """Small ones, to have many: several pieces, sums over subsets, few bits and many."""
    rng = random.Random(seed)
    plans = [
        checked(
            strongly_connected(rng, rng.choice([3, 3, 3, 4]), 3),
            rng.choice([3, 64, 128]),
            rng.choice(d),
            recovery,
            round_bytes=rng.choice([60, 10**9]),
        )
        for _ in range(30)
    ]
    while True:
        plan = rng.choice(plans)
        liar = rng.randrange(len(plan.network))
        relay = Relay(plan, liar, RELAYED[recovery], rng.choice([0, 0, 0, 1, 2]), rng)
        secrets = random_secrets(rng, plan)
        played = play(agents(plan, secrets), rng, relay)
        if relay.altered is not None:  # it does send as much
            yield Trial(plan, liar, relay.altered, secrets, played)


class Trial(NamedTuple):
    plan: Plan
    liar: int
    altered: Envelope
    secrets: list[list[int]]
    played: Played

    @property
    def ends(self) -> list[Any]:
        """Of all but the liar."""
        parties = range(len(self.plan.network))
        return [self.played.end(party) for party in parties if party != self.liar]


def test_a_relay_that_alters_one_bit_in_tree_is_named_by_all() -> None:
    """1,000 trials: found by every honest party, and nobody else named, whatever was altered."""
    kinds = Counter[str]()
    for trial in islice(trials(11, "tree", [0, 2, 2, 2, 5, 70]), 1000):
        for end in trial.ends:
            assert isinstance(end, CheckError), trial
            assert end.named == (trial.plan.network.parties[trial.liar],), trial
        kinds[trial.altered.kind.name] += 1
    assert min(kinds["PARTIAL"], kinds["TOTAL"]) > 300, kinds


def test_a_relay_that_alters_one_bit_in_topk_is_found_by_all() -> None:
    """1,000 trials in which a wrong total would have come out for somebody. Where what is altered
    is a value that would not have come into the sum, all have the right total."""
    falsified = passed = 0
    for trial in trials(12, "topk", [0, 2, 2, 2, 2, 66]):
        ends, ring = trial.ends, trial.plan.ring
        if any(isinstance(end, RecoveryError) for end in ends):
            assert all(isinstance(end, CheckError) and not end.named for end in ends), trial
            falsified += 1
        else:
            right = plain_sum(ring, trial.secrets)
            assert [ring.to_ints(end) for end in ends] == [right] * len(ends)
            passed += 1
        if falsified == 1000:
            break
    assert passed < 500


def test_what_is_not_signed_by_its_sender_is_refused_with_its_name() -> None:
    plan = checked(CYCLE, 64, 3, "tree", round_bytes=10**9)

    def lie(envelope: Envelope) -> Envelope:
        if envelope.kind is Kind.TOTAL and envelope.sender == 2:
            return envelope._replace(
                payload=bytes([envelope.payload[0] ^ 1]) + envelope.payload[1:]
            )
        return envelope

    played = play(agents(plan, [[1, 2, 3]] * 4), random.Random(1), lie)
    [(receiver, error)] = played.raised.items()
    assert (2, receiver) in zip(plan.network.senders, plan.network.receivers, strict=True)
    assert isinstance(error, CheckError)
    assert error.named == ("2",)
    assert "2 did not sign what it sent" in error.message
    assert not any(agent.done for agent in played.agents)


@pytest.mark.parametrize(
    ("bits", "entries"), [(1, 65), (64, 700), (70, 3000), (128, 2049), (512, 300)]
)
def test_subset_sums_are_those_of_plain_integers(bits: int, entries: int) -> None:
    """Also of the largest residues there are, whose sums are the longest."""
    ring, challenge = Ring(bits), bytes(range(32))
    for numbers in (
        [2**bits - 1] * entries,
        [random.Random(n).getrandbits(bits) for n in range(entries)],
    ):
        found = ring.to_ints(subset_sums(ring, ring.from_ints(numbers), challenge))
        words = [int(word) for word in KeyStream(challenge).words(entries)]
        for subset in range(SUBSETS):
            inside = (n for n, word in zip(numbers, words, strict=True) if word >> subset & 1)
            assert found[subset] == sum(inside) % 2**bits
