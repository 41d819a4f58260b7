"""A recovery is two files, the scheme and the table: one that is defined here alone has everything.

Plans, `auto`, both engines, the predicted cost, views, what a coalition works out from them, and a
study's checks: none of them may know which recoveries there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import titan
from tests.strategies import networks
from tests.study.parties import NOW
from tests.study.studies import study
from tests.sums import plain_sum, random_inputs, stacked
from titan import Network
from titan.engines import ENGINES, EngineName, local, vectorised
from titan.errors import MessageError, PlanError
from titan.protocol import Envelope, Kind, Plan, RecoveryName
from titan.protocol.messages import Payload
from titan.protocol.recovery import RECOVERIES, recovery_names
from titan.protocol.recovery.interface import (
    Choices,
    Counts,
    Means,
    Outgoing,
    Scheme,
    Traffic,
    refuse_kind,
)
from titan.ring import Residues, Ring
from titan.study.preflight import check
from titan_lab.privacy.reconstruction import partial_sums

NET = Network([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "a")])
Vectors = dict[int, Residues]


@dataclass(frozen=True)
class Resend(Scheme):
    """In every round everybody sends all it knows: a byte for each party, then the vectors."""

    hops: int
    name = "resend"

    @classmethod
    def of(cls, choices: Choices) -> Resend:
        return cls(choices.network, choices.ring, choices.entries, choices.hops)

    @property
    def rounds(self) -> int:
        return self.hops

    @property
    def numbers_held(self) -> int:
        return len(self.network) * self.entries

    def begin(self, party: int, masked: Residues, means: Means) -> ResendState:
        return ResendState(self, party, masked)

    def senders(self, party: int, round_: int) -> frozenset[tuple[int, Kind]]:
        return frozenset((sender, Kind.LIST) for sender in self.network.in_neighbours(party))

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Vectors:
        refuse_kind(kind, Kind.LIST)
        m, size = len(self.network), self.ring.width * self.entries
        known = [party for party in range(m) if payload[:m][party : party + 1] == b"\x01"]
        if len(payload) != m + size * len(known):
            raise MessageError("a payload of another length than it says")
        starts = range(m, len(payload), size)
        return {
            party: self.ring.from_bytes(payload[at : at + size], self.entries)
            for party, at in zip(known, starts, strict=True)
        }

    def numbers_of(self, content: Vectors) -> tuple[Residues, Counts]:
        return np.stack(list(content.values()), axis=1), np.array(list(content), np.int64)

    def count(self, envelope: Envelope) -> int:
        return self.entries * bytes(envelope.payload[: len(self.network)]).count(1)

    def traffic(self) -> Traffic:
        """A party sends a vector in every round after the one in which it came."""
        times = [
            np.maximum(self.hops - self.network.distances_to(int(sender)), 0).sum()
            for sender in self.network.senders
        ]
        vectors, envelopes = np.array(times, np.int64), np.full(len(times), self.hops, np.int64)
        payload = envelopes * len(self.network) + vectors * (self.ring.width * self.entries)
        return Traffic(self.hops, envelopes, payload, vectors * self.entries)


class ResendState:
    finished = needs_no_more = False

    def __init__(self, scheme: Resend, party: int, masked: Residues) -> None:
        self.scheme, self.party, self.known = scheme, party, {party: masked}

    @property
    def numbers_held(self) -> int:
        return len(self.known) * self.scheme.entries

    def send(self, round_: int) -> list[Outgoing]:
        network, ring = self.scheme.network, self.scheme.ring
        head = bytes(party in self.known for party in range(len(network)))
        payload = head + b"".join(ring.to_bytes(self.known[party]) for party in sorted(self.known))
        return [(to, Kind.LIST, payload) for to in network.out_neighbours(self.party)]

    def awaits(self, round_: int) -> frozenset[tuple[int, Kind]]:
        return self.scheme.senders(self.party, round_)

    def absorb(self, round_: int, sender: int, kind: Kind, content: Vectors) -> None:
        self.known |= content

    def lose(self, sender: int) -> bool:
        return False

    def total(self) -> Residues:
        return self.scheme.ring.sum(self.known.values(), self.scheme.entries)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The one line in the table."""
    before = dict(RECOVERIES)
    RECOVERIES[Resend.name] = Resend
    yield
    RECOVERIES.clear()
    RECOVERIES.update(before)  # in the same order


def planned(network: Network, bits: int, entries: int, **choices: Any) -> Plan:
    plan = Plan.make(network, Ring(bits), entries, recovery="resend", **choices)  # type: ignore[arg-type]
    assert isinstance(plan.scheme, Resend)
    return plan


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(networks(most=6), st.sampled_from([3, 64, 130]), st.integers(0, 3), st.integers(0, 2**32))
def test_both_engines_have_its_bits_and_its_cost(
    network: Network, bits: int, more: int, seed: int
) -> None:
    plan = planned(network, bits, 4, rounds=network.diameter + more)
    inputs = random_inputs(plan.ring, len(network), 4, seed)
    for engine in (local.run, vectorised.run):
        outcome = engine(plan, stacked(plan.ring, inputs))
        assert plan.ring.to_ints(outcome.total) == plain_sum(plan.ring, inputs)
        assert outcome.counted == len(network) % plan.ring.modulus
        assert outcome.cost == plan.cost


def test_its_views_and_what_follows_from_them() -> None:
    values = {"a": 17, "b": 4, "c": -3, "d": 1000}
    out = titan.average(values, NET, recovery="resend", record=True)  # type: ignore[arg-type]
    assert out.value == 254.5
    assert out.recovery == "resend"
    for size in (1, 2, 3):
        for coalition in combinations(NET.parties, size):
            view = out.view(coalition)
            learned = {group: sums[0] >> 64 for group, sums in partial_sums(view).items()}
            assert learned == {
                group: sum(values[party] for party in group)
                for group in NET.honest_components(coalition)
            }
    last = out.view(["d"]).received_by("d")[-1]
    assert last.origins.tolist() == ["a", "b", "c"]
    assert last.numbers.shape == (3, 2)
    assert last.entries == range(2)


def test_auto_weighs_it_and_k_is_not_for_it() -> None:
    assert Plan.make(NET, Ring(64), 3).scheme.name != "resend"  # it sends the most
    with pytest.raises(PlanError, match="k=2 has no meaning for resend") as refused:
        planned(NET, 64, 3, k=2)
    assert refused.value.hint == 'only "topk" takes a k'
    for other in ("flood", "tree"):
        del RECOVERIES[other]
    assert Plan.make(NET, Ring(64), 3).scheme.name == "resend"
    assert Plan.make(NET, Ring(64), 3, k=2).scheme.name == "topk"
    with pytest.raises(PlanError, match="is unknown") as refused:
        Plan.make(NET, Ring(64), 3, recovery="tree")
    assert refused.value.hint == "one of auto, topk, resend"


def test_a_study_may_ask_for_it() -> None:
    report = check(study(recovery="resend", relays="trusted"), NOW)
    assert {found["recovery"] for found in report.facts["sums"]} == {"resend"}
    assert any(warning.startswith("resend trusts relays") for warning in report.warnings)


def test_the_names_that_an_editor_shows_are_those_of_the_tables() -> None:
    assert {*get_args(RecoveryName), "resend"} == {*recovery_names()}
    assert get_args(EngineName) == tuple(ENGINES)
