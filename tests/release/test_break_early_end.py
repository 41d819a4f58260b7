"""Invariant: who makes some parties believe that a run is over learns nothing of those who go on.

A question may have its answer before its last sum. A party that is shown such a total ends there; a
victim that is shown another goes on, to a sum that its peers take no part in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest

from titan.errors import MessageError
from titan.joint.equations import Opened
from titan.party.ready import Ready
from titan.party.session import Session
from titan.protocol import Kind, RecoveryName
from titan.study.frames import Frame

from .test_attack_04_equivocation import EVIL, HUGE, NAMES, PEERS, VICTIM, Attacked, Model

_in_the_end, _receive = Model.answer, Session.receive


def _early(self: Model, known: Opened) -> Any:
    """As a step that proves an estimate ends a GLM; here it is a huge diagonal."""
    huge = known.diagonal and max(known.diagonal) >= HUGE >> 256
    return "an answer" if huge else _in_the_end(self, known)


def _as_on_a_network(self: Session, arrived: Any) -> Ready:
    """What is refused changes nothing."""
    try:
        return _receive(self, arrived)
    except MessageError:
        return Ready()


@dataclass
class Watched(Attacked):
    """All kinds of messages of the second sum, by who sent them."""

    second: Counter[tuple[int, str]] = field(default_factory=Counter)

    def _told(self, sender: int, receiver: int, frame: Frame) -> Any:
        if frame.sum == 1:
            self.second[sender, frame.kind] += 1
        return super()._told(sender, receiver, frame)


@pytest.mark.parametrize("recovery", ["flood", "tree"])
def test_the_victim_waits_for_its_peers_masks_before_its_part_leaves(
    recovery: RecoveryName,
) -> None:
    with (
        patch.object(Model, "answer", _early),
        patch.object(Session, "receive", _as_on_a_network),
    ):
        run = Watched(recovery)
    over = [run.sessions[party].pooled for party in (VICTIM, *PEERS)]
    assert over == [False, True, True], "the peers believe that all is over"
    masks = Kind.MASK.name
    assert run.second == {(VICTIM, masks): 3, (EVIL, masks): 3}, "keys of masks, and no vector"
    assert run.opened == []
    waiting = run.sessions[VICTIM].progress.waiting
    assert set(waiting) == {NAMES[peer] for peer in PEERS}
    assert all(session.agreed is None for session in run.sessions), "nobody has an answer"
