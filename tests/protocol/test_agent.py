"""An agent takes each proper envelope once, refuses every other one, and stays as it was."""

from __future__ import annotations

import random
from collections import Counter, deque

import numpy as np
import pytest

from tests.sums import stacked
from titan import Network
from titan.errors import MessageError, PlanError, RecoveryError
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, Kind, Plan, RecoveryName, SystemMasks
from titan.ring import Ring

RING = Ring(64)
RECOVERIES: list[RecoveryName] = ["topk", "flood", "tree"]


def agents(plan: Plan) -> list[Agent]:
    secrets = stacked(plan.ring, [[i + 1] * plan.dimension for i in range(len(plan.network))])
    return [
        Agent(plan, i, secrets[:, i], SystemMasks(), IN_ONE_PROCESS)
        for i in range(len(plan.network))
    ]


def finish(parties: list[Agent], waiting: deque[Envelope]) -> None:
    while waiting:
        envelope = waiting.popleft()
        waiting.extend(parties[envelope.receiver].receive(envelope))


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_every_improper_envelope_is_refused_and_changes_nothing(recovery: RecoveryName) -> None:
    """Before each delivery the agent is offered all sorts of wrong envelopes."""
    plan = Plan.make(Network.complete(3), RING, 2, recovery=recovery)
    parties = agents(plan)
    waiting = deque(e for agent in parties for e in agent.start())
    seen: set[tuple[Kind, int, int, int]] = set()
    refused = 0
    while waiting:
        e = waiting.popleft()
        agent = parties[e.receiver]
        wrong = [
            e._replace(receiver=(e.receiver + 1) % 3),
            e._replace(sender=e.receiver),
            e._replace(sender=7),
            e._replace(round=plan.recovery_rounds + 1),
            e._replace(kind=Kind.MASK if e.round else Kind.LIST),
            e._replace(payload=bytes(e.payload) + b"\0"),
            e._replace(payload=bytes(e.payload)[:-1]),
            e._replace(payload=b""),
        ]
        for bad in wrong:
            with pytest.raises(MessageError):
                agent.receive(bad)
            refused += 1
        waiting.extend(agent.receive(e))
        if not agent.done and not (recovery == "flood" and e.round):
            with pytest.raises(MessageError, match="came twice"):
                agent.receive(e)
        seen.add((e.kind, e.sender, e.receiver, e.round))
    assert refused == 8 * len(seen)
    assert [RING.to_ints(agent.total) for agent in parties] == [[6, 6]] * 3


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_rounds_are_kept_without_a_clock(recovery: RecoveryName) -> None:
    """Starve one party as long as possible: the others run ahead only as far as rounds allow."""
    plan = Plan.make(Network.cycle(5), RING, 1, recovery=recovery)
    parties = agents(plan)
    waiting = deque(e for agent in parties for e in agent.start())
    starved: deque[Envelope] = deque()
    while waiting:
        e = waiting.popleft()
        if e.receiver == 0:
            starved.append(e)
        else:
            waiting.extend(parties[e.receiver].receive(e))
    assert not any(agent.done for agent in parties)
    random.Random(5).shuffle(starved)
    finish(parties, starved)
    assert [RING.to_ints(agent.total) for agent in parties] == [[15]] * 5


def test_a_peer_may_start_first() -> None:
    """On a real network a neighbour's mask may be there before one has begun."""
    plan = Plan.make(Network.cycle(3), RING, 1)
    parties = agents(plan)
    early = [e for agent in parties[1:] for e in agent.start()]
    waiting = deque(out for e in early for out in parties[e.receiver].receive(e))
    waiting.extend(parties[0].start())
    finish(parties, waiting)
    assert [RING.to_ints(agent.total) for agent in parties] == [[6]] * 3


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_no_total_before_the_end_and_only_one_start(recovery: RecoveryName) -> None:
    """With 2 bits the carried 1s would let a quarter of unfinished sums pass."""
    parties = agents(Plan.make(Network.cycle(4), Ring(2), 1, recovery=recovery))
    waiting = deque(e for agent in parties for e in agent.start())
    asked = 0
    while waiting:
        for agent in parties:
            if not agent.done:
                with pytest.raises(RecoveryError, match="not recovered yet"):
                    _ = agent.total
                asked += 1
        e = waiting.popleft()
        waiting.extend(parties[e.receiver].receive(e))
    assert asked > 20
    assert all(Ring(2).to_ints(agent.total) == [10 % 4] for agent in parties)
    with pytest.raises(RuntimeError):
        parties[0].start()


def test_an_early_envelope_that_nobody_awaits_is_refused() -> None:
    """A total from someone who is not the parent must not be kept for its round."""
    plan = Plan.make(Network.complete(4), RING, 8, recovery="tree", round_bytes=5)
    parties = agents(plan)
    for agent in parties:
        agent.start()
    refused = accepted = 0
    for sender in range(4):
        for round_ in range(1, plan.recovery_rounds + 1):
            for kind in (Kind.PARTIAL, Kind.TOTAL):
                for size in range(1, 10):
                    envelope = Envelope(kind, sender, 3, round_, bytes(8 * size))
                    if sender != 3:
                        try:
                            parties[3].receive(envelope)
                            accepted += 1
                            assert (sender, kind) in plan.senders(3, round_)
                        except MessageError:
                            refused += 1
    due = sum(len(plan.senders(3, r)) for r in range(1, plan.recovery_rounds + 1))
    assert accepted == due
    assert refused > 100


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_refused_payload_leaves_room_for_the_right_one(recovery: RecoveryName) -> None:
    """One byte or one entry more or less is refused at once, and the proper envelope still fits."""
    plan = Plan.make(Network.cycle(3), RING, 7, recovery=recovery, round_bytes=20)
    parties = agents(plan)
    waiting = deque(e for agent in parties for e in agent.start())
    while waiting:
        e = waiting.popleft()
        for payload in (bytes(e.payload)[:-8], bytes(e.payload) + bytes(8)):
            with pytest.raises(MessageError):
                parties[e.receiver].receive(e._replace(payload=payload))
        waiting.extend(parties[e.receiver].receive(e))
    assert [RING.to_ints(agent.total) for agent in parties] == [[6] * 7] * 3


def test_a_secret_of_another_shape_is_refused() -> None:
    plan = Plan.make(Network.cycle(3), RING, 2)
    with pytest.raises(PlanError, match="shape"):
        Agent(plan, 0, RING.zeros(3), SystemMasks(), IN_ONE_PROCESS)


def test_nothing_secret_is_printed() -> None:
    plan = Plan.make(Network.cycle(3), RING, 1)
    parties = agents(plan)
    [envelope] = parties[0].start()
    sent = plan.read(Kind.MASK, 0, 0, envelope.payload)
    number = RING.to_ints(sent.drawn)[0]
    for thing in (envelope, parties[0], SystemMasks(), sent, IN_ONE_PROCESS):
        text = repr(thing)
        assert str(number) not in text
        assert bytes(envelope.payload).hex() not in text
        assert sent.key.hex() not in text
        assert repr(sent.key)[2:-1] not in text
        assert repr(bytes(envelope.payload)) not in text


# -- relays ------------------------------------------------------------------------------------


def test_in_flood_every_vector_comes_once_and_from_whom_it_is_due() -> None:
    """A relay that leaves one out, or brings one that another has to bring, is refused."""
    network = Network([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "a")])
    plan = Plan.make(network, RING, 1, recovery="flood")
    parties = agents(plan)
    waiting, heard = deque(e for agent in parties for e in agent.start()), Counter[int]()
    while waiting:
        e = waiting.popleft()
        if e.kind is Kind.MASKED:
            content = plan.scheme.read(e.kind, e.sender, e.round, e.payload)
            heard[e.receiver] += len(content)
            payload = bytes(e.payload)
            another = (payload[4] + 1) % 4
            for wrong in (bytes(4), payload[:4] + bytes([another]) + payload[5:]):
                with pytest.raises(MessageError, match="does not have what is due"):
                    parties[e.receiver].receive(e._replace(payload=wrong))
        waiting.extend(parties[e.receiver].receive(e))
    assert heard == dict.fromkeys(range(4), 3)
    assert [RING.to_ints(agent.total) for agent in parties] == [[10]] * 4


def read(plan: Plan, kind: Kind, payload: bytes) -> object:
    return plan.read(kind, 0, 1, payload)


def test_lists_with_unknown_ids_or_values_in_empty_slots_are_refused() -> None:
    plan = Plan.make(Network.cycle(3), Ring(8), 0, recovery="topk", k=2)
    read(plan, Kind.LIST, bytes([5, 0]) + b"\x02\x00\xff\xff")
    for values, ids in (([5, 0], b"\x03\x00\xff\xff"), ([5, 1], b"\x02\x00\xff\xff")):
        with pytest.raises(MessageError, match="unknown ids, or values in empty slots"):
            read(plan, Kind.LIST, bytes(values) + ids)


def test_floods_with_unknown_or_repeated_origins_or_loose_bits_are_refused() -> None:
    plan = Plan.make(Network.cycle(3), Ring(3), 0, recovery="flood")

    def payload(origins: list[int], vectors: list[int], count: int | None = None) -> bytes:
        numbers = [len(origins) if count is None else count, *origins]
        return b"".join(n.to_bytes(4, "little") for n in numbers) + bytes(vectors)

    assert read(plan, Kind.MASKED, payload([0, 2], [7, 1])) == [(0, b"\7"), (2, b"\1")]
    for bad in (
        payload([3], [1]),
        payload([1, 1], [1, 1]),
        payload([1], [8]),
        payload([1], [1], count=2),
        payload([1], [1], count=2**32 - 1),
        b"",
        b"\1\0\0",
    ):
        with pytest.raises(MessageError):
            read(plan, Kind.MASKED, bad)


def test_totals_are_residues_of_the_planned_shape() -> None:
    plan = Plan.make(Network.cycle(3), Ring(130), 4)
    parties = agents(plan)
    finish(parties, deque(e for agent in parties for e in agent.start()))
    assert parties[0].total.shape == (3, 4)
    assert parties[0].total.dtype == np.uint64
