"""Killed after any event and resumed from the journal, a party sends the same bytes again.

DESIGN's property 1: the sum is exact whatever the restarts.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from tests.study.runs import beginning, fixed
from titan import Network
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, MaskMode, Plan, RecoveryName
from titan.protocol.masking import JournaledMasks, SystemMasks
from titan.ring import Ring
from titan.study.frames import Frame
from titan.study.journal import Journal

NAMES = ("north", "east", "south", "west")
RING = Ring(128)
INPUTS = [[party + 1, 1000 * party, 2**127 - party] for party in range(4)]
SUM = [sum(column) % RING.modulus for column in zip(*INPUTS, strict=True)]


class North:
    """Party 0 on top of a journal, as an engine would drive it; `restart` forgets all but that."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan = path, plan
        self._open()

    def _open(self) -> None:
        self.journal = Journal.open(self.path)
        state = beginning(self.journal, parties=NAMES, keys=[fixed("key 0")])
        masks = JournaledMasks(state.keys[0])
        self.agent = Agent(self.plan, 0, RING.from_ints(INPUTS[0]), masks, IN_ONE_PROCESS)
        self.sent: dict[str, list[bytes]] = {}
        self.started = self._note(self.agent.start())
        for frame in self.journal.incoming():
            self._note(self.agent.receive(Envelope.decode(frame.body)))

    def restart(self) -> None:
        before = self.sent
        self.journal.close()
        self._open()
        assert self.sent == before

    def receive(self, envelope: Envelope, sequence: int) -> list[Envelope]:
        peer = NAMES[envelope.sender]
        frame = Frame(peer, sequence, envelope.kind.name, envelope.encode(), 0, envelope.round)
        with self.journal.batch():
            if not self.journal.record_incoming(frame):
                return []
            return self._note(self.agent.receive(envelope))

    def _note(self, out: list[Envelope]) -> list[Envelope]:
        """The journal itself refuses bytes that differ from those before a restart."""
        for e in out:
            peer = NAMES[e.receiver]
            frames = self.sent.setdefault(peer, [])
            frames.append(e.encode())
            self.journal.sending(Frame(peer, len(frames) - 1, e.kind.name, frames[-1], 0, e.round))
        return out


@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_a_restart_after_any_event_changes_no_bit(
    tmp_path: Path, recovery: RecoveryName, masks: MaskMode
) -> None:
    network = Network([*Network.cycle(NAMES).edges, ("north", "south"), ("west", "east")])
    assert network.parties == NAMES
    plan = Plan.make(network, RING, 3, recovery=recovery, masks=masks, tau=1)
    north = North(tmp_path / "journal", plan)
    others = [
        Agent(plan, p, RING.from_ints(INPUTS[p]), SystemMasks(), IN_ONE_PROCESS)
        for p in range(1, 4)
    ]
    waiting = deque([*north.started, *(e for agent in others for e in agent.start())])
    numbers = dict.fromkeys(range(4), 0)
    events = 0
    while waiting:
        e = waiting.popleft()
        if e.receiver:
            waiting.extend(others[e.receiver - 1].receive(e))
            continue
        waiting.extend(north.receive(e, numbers[e.sender]))
        north.restart()
        assert north.receive(e, numbers[e.sender]) == [], "sent again, it is a repeat"
        numbers[e.sender] += 1
        events += 1
    planned = sum(len(plan.senders(0, round_)) for round_ in range(plan.last_round + 1))
    assert events == planned
    for agent in (north.agent, *others):
        assert agent.done
        assert RING.to_ints(agent.total) == SUM
    north.journal.close()
