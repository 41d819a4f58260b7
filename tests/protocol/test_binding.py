"""A mask is the same at both ends of an edge exactly if both know the same run and the same totals.

Bound to less, a mask could be made to cancel where it must not: each test changes one thing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from tests.streams import ZeroMasks
from titan import Network
from titan.engines import local, vectorised
from titan.errors import MessageError, RecoveryError
from titan.protocol import IN_ONE_PROCESS, Agent, Binding, Envelope, Kind, Plan, SystemMasks
from titan.protocol.binding import SentMask
from titan.protocol.masking import KeyStream
from titan.ring import Ring

RING = Ring(128)
KEY = bytes(range(32))
HERE = Binding(hashlib.sha256(b"here").digest(), 3)
HERE_INFO = b"titan masks: edge\n" + HERE.chain + bytes([3, 0, 0, 0])


def made(binding: Binding, edge: tuple[int, int], key: bytes = KEY) -> list[int]:
    return RING.to_ints(binding.mask(SentMask(key, None), edge, RING, 4))


# -- the construction, written down a second time ------------------------------------------------


def test_the_mask_is_r_encrypted_under_a_key_from_hkdf() -> None:
    """RFC 5869 with SHA-256 and no salt, one block; every field at its place."""
    r = Ring(130).uniform(7, KeyStream(bytes(32)).words)
    info = b"titan masks: edge\n" + HERE.chain
    info += b"".join(n.to_bytes(4, "little") for n in (3, 5, 1_000_000))
    extracted = hmac.digest(bytes(32), KEY, "sha256")
    key = hmac.digest(extracted, info + b"\x01", "sha256")
    cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    stream = np.frombuffer(cipher.update(bytes(8 * 3 * 7)), "<u8").reshape(3, 7)
    expected = [
        (a ^ sum(int(stream[limb, at]) << 64 * limb for limb in range(3))) % 2**130
        for at, a in enumerate(Ring(130).to_ints(r))
    ]
    sent = SentMask(KEY, r)
    assert Ring(130).to_ints(HERE.mask(sent, (5, 1_000_000), Ring(130), 7)) == expected


def test_a_long_mask_is_drawn_block_after_block() -> None:
    """The key stream runs through all limbs of a block of 64 KiB before the next one begins."""
    ring, entries = Ring(128), 4096 + 3
    r = ring.uniform(entries, KeyStream(bytes(32)).words)
    key = HKDF(SHA256(), 32, None, HERE_INFO + bytes(8)).derive(KEY)
    cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    stream = np.frombuffer(cipher.update(bytes(16 * entries)), "<u8")
    blocks = stream[: 2 * 4096].reshape(2, 4096), stream[2 * 4096 :].reshape(2, 3)
    low, high = np.concatenate(blocks, axis=1).tolist()
    expected = [a ^ x ^ (y << 64) for a, x, y in zip(ring.to_ints(r), low, high, strict=True)]
    assert ring.to_ints(HERE.mask(SentMask(KEY, r), (0, 0), ring, entries)) == expected


def test_the_chain_hashes_run_number_length_and_total() -> None:
    """The label's number is that of the way a mask is made: of r + F, which was the first, nothing
    may be left in a run that goes on with r ⊕ F. Both of one r show bits of what they hide."""
    begun, label = Binding.begin(b"a" * 32, b"b" * 32), b"titan masks v2: run\n"
    assert begun.chain == hashlib.sha256(label + b"a" * 32 + b"b" * 32).digest()
    assert begun.number == 0
    total = Ring(20).from_ints([5, 6])
    told = b"\5\0\0\6\0\0"
    head = begun.chain + (0).to_bytes(4, "little") + (6).to_bytes(8, "little")
    after = begun.after(Ring(20), total)
    assert after == Binding(hashlib.sha256(b"titan masks: sum\n" + head + told).digest(), 1)
    with pytest.raises(ValueError, match="digests of 32 bytes"):
        Binding.begin(b"a" * 31, b"b" * 33)


# -- what a mask is bound to -----------------------------------------------------------------------


def test_the_way_the_sum_the_totals_the_run_and_the_key_all_count() -> None:
    """Also where one is another's number: 1 → 12 of sum 3 is not 11 → 2, nor sum 1 of 3 → 12."""
    others = [Binding(HERE.chain, n) for n in (0, 1, 2, 4)]
    bindings = [HERE, *others, Binding(hashlib.sha256(b"there").digest(), 3)]
    edges = [(0, 1), (1, 0), (1, 12), (11, 2), (3, 12), (1 << 16, 0), (0, 1 << 16), (3, 3)]
    masks = [made(b, e) for b, e in product(bindings, edges)] + [made(HERE, (0, 1), bytes(32))]
    numbers = [number for mask in masks for number in mask]
    assert len(set(numbers)) == len(numbers) == 4 * (6 * 8 + 1)


@given(st.lists(st.lists(st.integers(0, 255), max_size=4), max_size=4), st.data())
def test_no_two_histories_have_the_same_chain(history: list[list[int]], data: Any) -> None:
    """Whatever was cut differently, or came in another order."""

    def chain(totals: list[list[int]]) -> bytes:
        binding = IN_ONE_PROCESS
        for total in totals:
            binding = binding.after(Ring(8), Ring(8).from_ints(total))
        return binding.chain

    other = data.draw(
        st.one_of(
            st.permutations(history),
            st.just([[n for total in history for n in total]]),
            st.just([*history, []]),
            st.just(history[:-1]),
        )
    )
    assert (chain(history) == chain(other)) == (history == other)


@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_who_knows_another_total_gets_no_sum(masks: Any) -> None:
    """One party of three, two of five: whoever stands apart, the masks between do not cancel."""
    for m, apart in ((2, {0}), (3, {1}), (5, {0, 3})):
        network = Network.cycle(m)
        plan = Plan.make(network, RING, 1, masks=masks, recovery="flood")
        others = IN_ONE_PROCESS.after(RING, RING.from_ints([1]))
        agents = [
            Agent(plan, i, RING.from_ints([i]), SystemMasks(), others if i in apart else
                  IN_ONE_PROCESS) for i in range(m)
        ]  # fmt: skip
        deliver(agents)
        for agent in agents:
            with pytest.raises(RecoveryError, match="did not cancel"):
                _ = agent.total


def deliver(agents: list[Agent], change: Callable[[Envelope], Envelope] = lambda e: e) -> None:
    waiting = [e for agent in agents for e in agent.start()]
    for envelope in waiting:  # grows while it is walked through
        waiting += agents[envelope.receiver].receive(change(envelope))


# -- tried against it ------------------------------------------------------------------------------


@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_one_key_everywhere_still_makes_different_masks(masks: Any) -> None:
    """A source that repeats its keys: edges, ways and sums differ all the same."""
    plan = Plan.make(Network.complete(4), RING, 2, masks=masks)
    inputs = RING.zeros(4, 2)
    seen: list[int] = []
    binding = IN_ONE_PROCESS
    for _ in range(3):
        out = local.run(plan, inputs, binding=binding, source=partial(ZeroMasks, KEY), record=True)
        assert RING.to_ints(out.total) == [0, 0]
        for e in out.envelopes:
            if e.kind is Kind.MASK:
                seen += RING.to_ints(plan.show(e, binding).residues)
        binding = binding.after(RING, out.total)
    assert len(set(seen)) == len(seen) == 3 * 12 * 3


def test_a_mask_sent_back_does_not_undo_the_one_that_came() -> None:
    """j answers i with i's own key and vector; by r alone i would be left without a mask of j's."""
    plan = Plan.make(Network.complete(2), RING, 1, recovery="flood")
    agent = Agent(plan, 0, RING.from_ints([42]), SystemMasks(), HERE)
    [mask] = agent.start()
    [masked] = agent.receive(Envelope(Kind.MASK, 1, 0, 0, mask.payload))
    [(_, vector)] = plan.read(Kind.MASKED, 0, 1, masked.payload)
    assert RING.to_ints(RING.from_bytes(vector, 2))[0] != 42


@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("where", ["another edge", "another sum", "another run", "one bit"])
def test_a_mask_from_elsewhere_gives_no_sum(masks: Any, where: str) -> None:
    """A thief on one link replays what it recorded; the sum is lost, and never wrong."""
    plan = Plan.make(Network.complete(3), RING, 1, masks=masks, recovery="flood")
    source = Repeatable(b"this run")
    agents = [Agent(plan, i, RING.from_ints([i]), source, HERE) for i in range(3)]
    old = Binding(HERE.chain, 2) if where == "another sum" else Binding.begin()
    stolen: list[Envelope] = []

    def replace(e: Envelope) -> Envelope:
        if e.kind is not Kind.MASK or (e.sender, e.receiver) != (0, 1):
            return e
        if where == "another edge":
            (found,) = (x for x in stolen if (x.sender, x.receiver) == (0, 2))
            return e._replace(payload=found.payload)
        if where == "one bit":
            return e._replace(payload=bytes([e.payload[0] ^ 1, *e.payload[1:]]))
        earlier = Agent(plan, 0, RING.from_ints([7]), Repeatable(b"before"), old)
        return earlier.start()[0]

    waiting = [e for agent in agents for e in agent.start()]
    stolen += waiting
    for envelope in waiting:
        waiting += agents[envelope.receiver].receive(replace(envelope))
    with pytest.raises(RecoveryError, match="did not cancel"):
        _ = agents[2].total


class Repeatable:
    """Masks that follow from a word, as those of a journal do."""

    def __init__(self, word: bytes) -> None:
        self._words = KeyStream(hashlib.sha256(word).digest())
        self.words = self._words.words

    def seed(self) -> bytes:
        return self.words(4).tobytes()


def test_a_restart_that_is_shown_other_totals_tells_no_difference() -> None:
    """Party 1 of a cycle of three has its masked vector taken twice: of two inputs, after two
    totals. Party 2, who knows 1 → 2, is left with the mask of 0 → 1, whose key and vector are the
    same both times. Without the binding it would read how the inputs differ.
    """
    plan = Plan.make(Network.cycle(3), RING, 1, recovery="flood")
    other = IN_ONE_PROCESS.after(RING, RING.from_ints([9]))
    for second, told in ((other, False), (IN_ONE_PROCESS, True)):
        seen = []
        from_0 = Agent(plan, 0, RING.from_ints([5]), Repeatable(b"0"), IN_ONE_PROCESS).start()[0]
        for binding, x in ((IN_ONE_PROCESS, 1000), (second, 1234)):
            agent = Agent(plan, 1, RING.from_ints([x]), SystemMasks(), binding)
            [mask] = agent.start()
            [masked] = agent.receive(from_0)
            [(_, vector)] = plan.read(Kind.MASKED, 1, 1, masked.payload)
            known = plan.show(mask, binding).residues
            seen.append(RING.to_ints(RING.from_bytes(vector, 2))[0] + RING.to_ints(known)[0])
        assert ((seen[1] - seen[0]) % RING.modulus == 234) is told


def test_one_key_in_two_sums_tells_no_difference() -> None:
    """A party that repeats k and r in the next sum (a copied disk) is hidden by the stream."""
    plan = Plan.make(Network.cycle(3), RING, 1, recovery="flood")
    first, second = IN_ONE_PROCESS, IN_ONE_PROCESS.after(RING, RING.from_ints([9]))
    made = []
    for binding in (first, second):
        agent = Agent(plan, 0, RING.from_ints([5]), Repeatable(b"copied"), binding)
        [envelope] = agent.start()
        made.append((envelope.payload, plan.show(envelope, binding).residues))
    assert made[0][0] == made[1][0]
    assert not np.array_equal(made[0][1], made[1][1])


# -- engines and bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("bits", [1, 20, 64, 130])
def test_a_message_has_a_key_and_a_vector_to_the_byte(masks: Any, bits: int) -> None:
    ring = Ring(bits)
    plan = Plan.make(Network.complete(3), ring, 4, masks=masks, recovery="tree")
    assert plan.mask_bytes == 32 + (ring.width * 5 if masks == "sent" else 0)
    assert plan.mask_numbers == (5 if masks == "sent" else -(-256 // bits)), "the paper's d"
    secrets = ring.uniform(12, SystemMasks().words).reshape(ring.limbs, 3, 4)
    real, arrays = (
        engine.run(plan, secrets, binding=HERE)
        for engine in (local, vectorised)
    )  # fmt: skip
    assert np.array_equal(real.total, arrays.total)
    assert real.cost == arrays.cost == plan.cost
    good = plan.write(plan.draw(SystemMasks()))
    assert plan.write(plan.read(Kind.MASK, 0, 0, good)) == good
    for bad in (good[:-1], good + b"\0", good[:31], b""):
        with pytest.raises(MessageError, match=f"a MASK payload of {len(bad)} bytes where"):
            plan.read(Kind.MASK, 0, 0, bad)


def test_key_and_vector_have_nothing_in_common() -> None:
    """They come from two streams: neither is found in the other, nor is one edge's in another's."""
    plan = Plan.make(Network.complete(3), Ring(64), 50)
    source = SystemMasks()
    sent = [plan.draw(source) for _ in range(6)]
    words = [{*np.frombuffer(s.key, np.uint64).tolist(), *s.drawn.ravel().tolist()} for s in sent]  # type: ignore[union-attr]
    assert all(len(each) == 4 + 51 for each in words)
    assert not any(a & b for a, b in combinations(words, 2))
