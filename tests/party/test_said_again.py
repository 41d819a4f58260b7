"""What a ledger has kept of an answer is said by every life of the party that lost its journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run, until
from tests.party.test_put_back import NAMES, PutBack, lossy
from titan.errors import PeerError, WaitError
from titan.party import run_to_answer


def test_who_comes_later_has_the_answer_too(tmp_path: Path) -> None:
    """North had the answer alone and told it to west, the only one that was there. When the others
    come its run is over, and it gives the same command again."""
    g = Gathering(tmp_path, names=NAMES, changes={"solver": "north"})
    trouble = PutBack(g, "one_total", "never")

    async def trial() -> None:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with lossy(own=False), trouble.watch():
            north = g.joining("north")
            await until(lambda: "north" in g.shown)
            for task in (north, others["east"], others["south"]):
                task.cancel()
            await asyncio.wait((north, others["east"], others["south"]))
        trouble.restore()
        with pytest.raises(PeerError):
            await g.join("north")
        await others["west"]
        assert "west" in g.shown
        g.shown.pop("north")
        late = [g.joining(name, wait=5.0) for name in ("east", "south")]
        await g.join("north")  # its journal knows that the run is over
        for error in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(error, WaitError), "west has the answer: it is not said that none is"
        await asyncio.gather(*(g.joining(name) for name in NAMES))
        answers_agree(g, NAMES[1:])

    with (
        patch.object(run_to_answer, "_STOPPED", 3.0),
        patch.object(run_to_answer, "_GRACE", 8.0),
    ):
        run(trial())
