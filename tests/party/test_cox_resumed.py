"""Invariant: a party killed between two steps of proportional hazards comes back with the same
bits, and these are the bits of one process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.joint.test_cox_study import asking, gathering
from tests.joint.test_glm_study import in_one_process
from tests.party.loopback import NAMES, answers_agree, run
from tests.party.test_come_back import KilledError, dies, norths
from titan.party import run_to_answer
from titan.party.durable_session import DurableSession
from titan.party.session import Session
from titan.results import encode


def test_killed_between_two_steps(tmp_path: Path) -> None:
    def known(it: DurableSession) -> bool:
        return norths(it) and isinstance(it.session, Session) and len(it.session.totals) == 4

    async def trial() -> None:
        g = gathering(tmp_path, asking(grid=3))
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(DurableSession, "accept", known, after=True):
            with pytest.raises(KilledError):
                await g.join("north")
            g.shown.pop("north", None)
            await asyncio.gather(g.join("north"), *others)
        answers_agree(g)
        assert len({encode(g.shown[name]) for name in NAMES}) == 1
        (state,) = in_one_process(g.study, tmp_path)
        assert g.shown["north"]["hr"].to_state() == state.answer.to_state()

    with patch.object(run_to_answer, "_GRACE", 0.5):
        run(trial())
