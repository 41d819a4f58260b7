"""Invariant: a party killed between two steps of a GLM comes back with the same bits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.joint.test_glm_study import LOGISTIC, gathering, in_one_process
from tests.party.loopback import NAMES, answers_agree, run
from tests.party.test_come_back import KilledError, dies, norths
from titan.party import run_to_answer
from titan.party.durable_session import DurableSession
from titan.party.session import Session


@pytest.mark.parametrize("sums", [2, 5])
def test_killed_between_two_steps(tmp_path: Path, sums: int) -> None:
    def known(it: DurableSession) -> bool:
        return norths(it) and isinstance(it.session, Session) and len(it.session.totals) == sums

    async def trial() -> None:
        g = gathering(tmp_path, LOGISTIC)
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(DurableSession, "accept", known, after=True):
            with pytest.raises(KilledError):
                await g.join("north")
            g.shown.pop("north", None)
            await asyncio.gather(g.join("north"), *others)
        answers_agree(g)
        (state,) = in_one_process(g.study, tmp_path)
        assert g.shown["north"]["risk"].to_state() == state.answer.to_state()

    with patch.object(run_to_answer, "_GRACE", 0.5):
        run(trial())
