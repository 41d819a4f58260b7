"""A long mask travels in pieces. It hides as a whole one does, in whatever order they come, and
costs what the plan says."""

from __future__ import annotations

import random

import numpy as np
import pytest

import titan.protocol.plan
from titan.engines import local
from titan.errors import MessageError
from titan.network import Network
from titan.party.messages import HEAD_BYTES
from titan.party.wire import PIECE_BYTES
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, Kind, Plan, SystemMasks
from titan.protocol.masking import SEED_BYTES
from titan.protocol.messages import HEADER_BYTES, MOST_PIECE_BYTES
from titan.ring import Ring

RING, ENTRIES = Ring(70), 100  # 9 bytes each
PIECES = 10


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(titan.protocol.plan, "MOST_PIECE_BYTES", 100)


def _plan(masks: titan.protocol.plan.MaskMode = "sent", recovery: str = "flood") -> Plan:
    made: Plan = Plan.make(Network.cycle(4), RING, ENTRIES, masks=masks, recovery=recovery)  # type: ignore[arg-type]
    return made


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_exact_and_costs_what_was_planned(recovery: str, seed: int) -> None:
    plan = _plan(recovery=recovery)
    rng = np.random.default_rng(seed)
    secrets = RING.reduce(rng.integers(0, 2**64, (RING.limbs, 4, ENTRIES), dtype=np.uint64))
    outcome = local.run(plan, secrets, shuffle=random.Random(seed), record=True)
    assert np.array_equal(outcome.total, RING.sum_axis(secrets))
    assert outcome.cost == plan.cost
    masks = [e for e in outcome.envelopes if e.kind is Kind.MASK]
    assert len(masks) == 4 * PIECES
    assert max(len(e.payload) for e in masks) <= 100 + SEED_BYTES


@pytest.mark.usefixtures("short")
def test_a_seeded_mask_has_one_piece() -> None:
    assert len(_plan("sent").mask_pieces) == PIECES
    assert len(_plan("seeded").mask_pieces) == 1


@pytest.mark.usefixtures("short")
def test_nothing_made_of_the_secret_leaves_before_all_pieces_are_here() -> None:
    plan = _plan()
    agents = [Agent(plan, p, RING.zeros(ENTRIES), SystemMasks(), IN_ONE_PROCESS) for p in range(4)]
    sent = [e for e in agents[3].start() if e.receiver == 0]
    assert {e.kind for e in agents[0].start()} == {Kind.MASK}
    for n, piece in enumerate(reversed(sent), 1):
        assert agents[0].awaited == {3}
        out = agents[0].receive(piece)
        assert {e.kind for e in out} == ({Kind.MASKED} if n == PIECES else set())
    assert agents[0].round == 1


@pytest.mark.usefixtures("short")
def test_a_piece_that_is_not_due_is_refused_and_changes_nothing() -> None:
    plan = _plan()
    agents = [Agent(plan, p, RING.zeros(ENTRIES), SystemMasks(), IN_ONE_PROCESS) for p in range(4)]
    first, *rest = (e for e in agents[3].start() if e.receiver == 0)
    agents[0].start()
    agents[0].receive(first)
    before = agents[0]._hidden.copy()
    for bad in (
        first,
        rest[0]._replace(payload=rest[0].payload[:-1]),
        Envelope(Kind.MASK, 3, 0, PIECES, first.payload),
        Envelope(Kind.MASK, 2, 0, 1, first.payload),
    ):
        with pytest.raises(MessageError):
            agents[0].receive(bad)
    assert np.array_equal(agents[0]._hidden, before)


def test_a_piece_is_one_chunk_of_a_stream() -> None:
    assert HEAD_BYTES + HEADER_BYTES + SEED_BYTES + MOST_PIECE_BYTES <= PIECE_BYTES
