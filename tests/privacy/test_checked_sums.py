"""What a checked sum shows, enumerated: whole views, with every byte that is told.

Commitments and sums over subsets mix the entries of a vector, so that here every choice of masks is
a run of its own. For given nonces, and given masks of the carried 1, a coalition's views over all
masks are equally distributed, count for count, exactly if the inputs have equal sums over every
weak component of the honest parties. What holds for each of these holds for all of them together.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.privacy.enumeration import both_ways, coalitions, of
from tests.protocol.lying import Relay, TestSeals, play
from titan import Network
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, Kind, Plan, RecoveryName
from titan.protocol.masking import KeyStream
from titan.protocol.recovery.interface import SEAL_BYTES, Means
from titan.ring import Residues, Ring

THREE = Network.cycle(3)
PATH = of(3, both_ways((0, 1), (1, 2)))
FOUR = Network.cycle(4)
Bits = tuple[int, ...]
View = tuple[Envelope, ...]


class Given:
    """A party's masks, drawn before: for each edge a bit of every entry. Keys and nonces are fixed,
    a different one for each of them."""

    def __init__(self, party: int, masks: list[Bits]) -> None:
        self.party, self.masks, self.seeds = party, masks, 0

    def words(self, count: int) -> Residues:
        bits = self.masks.pop(0)
        assert len(bits) == count
        return np.array(bits, np.uint64)

    def seed(self) -> bytes:
        self.seeds += 1
        return bytes([self.party, self.seeds]) * 16


def messages(
    plan: Plan, inputs: Bits, masks: list[Bits], lie: Callable[[Envelope], Envelope]
) -> list[Envelope]:
    """All of one run, in an order that does not depend on what is in them."""
    senders, said = plan.network.senders.tolist(), list[Envelope]()
    parties = [
        Agent(
            plan,
            party,
            plan.ring.from_ints([own]),
            Given(party, [m for m, by in zip(masks, senders, strict=True) if by == party]),
            IN_ONE_PROCESS,
            TestSeals(party),
        )
        for party, own in enumerate(inputs)
    ]

    def note(envelope: Envelope) -> Envelope:
        said.append(lie(envelope))
        return said[-1]

    play(parties, random.Random(0), note)
    return sorted(said)


def compared(
    network: Network,
    recovery: RecoveryName,
    carried: Iterator[Bits],
    lie: Callable[[Plan], Callable[[Envelope], Envelope]] = lambda plan: lambda envelope: envelope,
) -> Counter[str]:
    """Every coalition and pair of inputs that agree on its own: are the views distributed alike
    exactly where the sums of honest components are?"""
    m, edges = len(network), len(network.senders)
    plan = Plan.make(network, Ring(1), 1, recovery=recovery, relays="checked")
    found = Counter[str]()
    for ones in carried:
        runs = {
            inputs: [
                messages(plan, inputs, list(zip(masks, ones, strict=True)), lie(plan))
                for masks in product((0, 1), repeat=edges)
            ]
            for inputs in product((0, 1), repeat=m)
        }
        found["runs"] += sum(map(len, runs.values()))
        found["opened"] += sum(e.kind is Kind.OPENED for all_ in runs.values() for e in all_[0])
        for coalition in coalitions(m):
            views = {
                inputs: Counter(map(seen_by(coalition), all_)) for inputs, all_ in runs.items()
            }
            names = [network.parties[i] for i in coalition]
            groups = network.honest_components(names)
            for one, other in product(views, views):
                if one < other and all(one[i] == other[i] for i in coalition):
                    same = sums(network, groups, one) == sums(network, groups, other)
                    assert (views[one] == views[other]) == same, (coalition, one, other)
                    found["alike" if same else "unlike"] += 1
                    leaks = not same and sum(one) % 2 == sum(other) % 2
                    found["leaks"] += leaks
                    assert len(groups) > 1 or not leaks
    return found


def seen_by(coalition: tuple[int, ...]) -> Callable[[list[Envelope]], View]:
    """All bytes of all messages that one of them sent or received."""
    return lambda said: tuple(e for e in said if e.sender in coalition or e.receiver in coalition)


def sums(network: Network, groups: Any, inputs: Bits) -> list[int]:
    return [sum(inputs[network.index(name)] for name in group) % 2 for group in groups]


@pytest.mark.parametrize("recovery", ["tree", "topk"])
def test_on_the_cycle_of_three_views_tell_the_sum_alone(recovery: RecoveryName) -> None:
    """With all masks of all entries."""
    found = compared(THREE, recovery, product((0, 1), repeat=3))
    assert found["runs"] == 8 * 64
    assert found["alike"] > 0
    assert found["unlike"] > 0
    assert found["leaks"] == found["opened"] == 0


@pytest.mark.parametrize(
    ("network", "recovery"),
    [(PATH, "tree"), (PATH, "topk"), (FOUR, "tree")],
)
def test_where_honest_parties_are_cut_off_their_sums_are_told(
    network: Network, recovery: RecoveryName
) -> None:
    found = compared(network, recovery, iter([(1, 0, 0, 1)]))
    assert found["alike"] > 0
    assert found["leaks"] > 0


def test_an_active_party_learns_no_more_by_having_vectors_opened() -> None:
    """0 alters what it sends, so that all show their masked vectors and what they were sent."""

    def lie(plan: Plan) -> Relay:
        kinds = frozenset({Kind.PARTIAL, Kind.TOTAL})
        return Relay(plan, 0, kinds, 0, random.Random(1))

    found = compared(THREE, "tree", iter([(0, 1, 1)]), lie)
    assert found["opened"] > 0
    assert found["alike"] > 0
    assert found["leaks"] == 0


class Telltale(Given):
    """Its nonce, which all are told, has the masks in it that it sent."""

    def words(self, count: int) -> Residues:
        drawn = super().words(count)
        self.used = [*getattr(self, "used", ()), *drawn.tolist()]
        return drawn

    def seed(self) -> bytes:
        return super().seed() if self.masks else bytes(self.used).ljust(32, b"x")


def test_a_check_that_showed_more_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.privacy.test_checked_sums.Given", Telltale)
    with pytest.raises(AssertionError, match=r"\(0,\)"):
        compared(THREE, "tree", iter([(0, 1, 1)]))


# -- a function of masked vectors and nonces --------------------------------------------------


@pytest.mark.parametrize("recovery", ["tree", "topk"])
@pytest.mark.parametrize("d", [3, 90])
def test_all_that_is_said_is_made_of_masked_vectors_and_nonces(
    recovery: RecoveryName, d: int
) -> None:
    """Recomputed from them alone: inputs and masks are not needed for anything but the vectors."""
    rng = random.Random(d)
    network = Network([*Network.cycle(5).edges, ("1", "3"), ("4", "2")])
    plan = Plan.make(network, Ring(65), d, recovery=recovery, relays="checked", round_bytes=100)
    ring, m = plan.ring, len(network)
    said: list[Envelope] = []

    def note(envelope: Envelope) -> Envelope:
        said.append(envelope)
        return envelope

    inputs = [ring.from_ints([rng.randrange(2**65) for _ in range(d)]) for _ in range(m)]
    parties = [
        Agent(plan, p, inputs[p], Drawing(p), IN_ONE_PROCESS, TestSeals(p)) for p in range(m)
    ]
    play(parties, rng, note)
    vectors = [np.append(each, ring.from_ints([1]), axis=1) for each in inputs]
    for envelope in said:
        if envelope.kind is Kind.MASK:
            made = plan.show(envelope, IN_ONE_PROCESS).residues
            ring.add_into(vectors[envelope.receiver], made)
            ring.subtract_into(vectors[envelope.sender], made)
    nonces = [Drawing.nonce(p, len(network.out_neighbours(p))) for p in range(m)]
    expected = sorted(e for e in said if e.kind is not Kind.MASK)
    assert sorted(recomputed(plan, vectors, nonces)) == expected
    check_by_hand(plan, vectors, nonces, expected)


class Drawing:
    """Masks from a seed; the nonce is what is drawn after the keys of all links."""

    def __init__(self, party: int) -> None:
        self.party, self.drawn = party, 0
        self.stream = KeyStream(bytes([party]) * 32)

    def words(self, count: int) -> Residues:
        return self.stream.words(count)

    def seed(self) -> bytes:
        self.drawn += 1
        return self.nonce(self.party, self.drawn - 1)

    @staticmethod
    def nonce(party: int, at: int) -> bytes:
        return hashlib.sha256(bytes([party, at])).digest()


def recomputed(plan: Plan, vectors: list[Residues], nonces: list[bytes]) -> list[Envelope]:
    """By the recovery alone, round by round."""
    scheme, parties = plan.scheme, range(len(vectors))
    states = [
        scheme.begin(
            p,
            vectors[p].copy(),
            Means(lambda p=p: nonces[p], IN_ONE_PROCESS.context, TestSeals(p)),  # type: ignore[misc]
        )
        for p in parties
    ]
    said = []
    for round_ in range(1, scheme.rounds + 1):
        now = [
            Envelope(kind, p, receiver, round_, bytes(payload))
            for p in parties
            for receiver, kind, payload in states[p].send(round_)
        ]
        for kind, sender, receiver, _, payload in sorted(now):
            content = scheme.read(kind, sender, round_, payload)
            states[receiver].absorb(round_, sender, kind, content)
        said += now
    return said


def check_by_hand(
    plan: Plan, vectors: list[Residues], nonces: list[bytes], said: list[Envelope]
) -> None:
    """What is told to all, written down again as the documents have it."""
    ring = plan.ring
    told: dict[Kind, dict[int, bytes]] = {}
    for kind, sender, _, round_, payload in said:
        if kind in (Kind.COMMITTED, Kind.REVEALED, Kind.SUMMED):
            items = plan.read(kind, sender, round_, payload).items
            told.setdefault(kind, {}).update({o: item[:-SEAL_BYTES] for o, item in items.items()})

    def sha(*parts: bytes) -> bytes:
        return hashlib.sha256(b"".join(parts)).digest()

    context = sha(b"titan check: context\n", IN_ONE_PROCESS.context)
    blinded = []
    for party, nonce in enumerate(nonces):
        words = KeyStream(sha(b"titan check: stream\n", nonce)).words
        blinded.append(ring.add_into(vectors[party].copy(), ring.uniform(plan.entries, words)))
        who = party.to_bytes(4, "little")
        assert (
            told[Kind.COMMITTED][party]
            == sha(b"titan check: vector\n", who, ring.to_bytes(blinded[party]))
            + sha(b"titan check: nonce\n", who, nonce)
            + context
        )
    total, pieces = ring.sum(blinded, plan.entries), plan.scheme.within.pieces  # type: ignore[attr-defined]
    whole = sha(*(ring.to_bytes(total[:, piece]) for piece in pieces))  # as it travels
    commitments = [told[Kind.COMMITTED][p] for p in range(len(nonces))]
    digest = sha(b"titan check: total\n", context, whole, *commitments)
    challenge = sha(b"titan check: challenge\n", context, digest, *nonces)
    chosen = [int(word) for word in KeyStream(challenge).words(plan.entries)]
    for party, nonce in enumerate(nonces):
        assert told[Kind.REVEALED][party] == digest + nonce
        numbers = ring.to_ints(blinded[party])
        subsets = [
            sum(x for x, word in zip(numbers, chosen, strict=True) if word >> s & 1) % ring.modulus
            for s in range(64)
        ]
        sums = numbers if plan.entries <= 64 else subsets
        assert told[Kind.SUMMED][party] == challenge + ring.to_bytes(ring.from_ints(sums))
