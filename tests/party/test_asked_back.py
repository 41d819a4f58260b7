"""Who has the answer and left is asked back, for those who wait behind a journal that was put back.

It comes with the same command, and whoever lost its journal passes on what it says.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.party.loopback import Gathering, Patience, answers_agree, run, until
from tests.party.test_come_back import KilledError
from tests.party.test_put_back import NAMES, PutBack, all_others_have_it, lossy, short_grace
from titan.errors import PeerError, WaitError
from titan.party.messages import AGREED, ANSWER, END


def test_where_its_last_was_not_confirmed(tmp_path: Path) -> None:
    """West has it and leaves before north is back: the others wait, until all come again."""
    g, patience = Gathering(tmp_path, names=NAMES), Patience()
    trouble = PutBack(g, "begun", "complete", confirms=False)
    without = ("north", "east", "south")

    async def trial() -> dict[str, Any]:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with patience.patched():
            with lossy(own=True), trouble.watch():
                with pytest.raises(KilledError):
                    await g.join("north")
                await until(lambda: "west" in g.shown)
                patience.give_up("west")
                await others["west"]
            trouble.restore()
            others["north"] = g.joining("north")
            await until(lambda: "east" in patience.engines["north"].lost.ahead)
            patience.give_up(*without)
            await asyncio.wait(others.values())
        assert set(g.shown) == {"west"}
        assert all(isinstance(others[name].exception(), WaitError) for name in without)
        return await g.ends()

    with short_grace():
        all_others_have_it(run(trial()), g)


CASES = {
    "nobody in particular solves": (None, (AGREED, ANSWER, END)),
    "who comes back solved": ("west", (AGREED, ANSWER, END)),
    "who comes back was told": ("south", (ANSWER, END)),
}


@pytest.mark.parametrize("case", CASES)
def test_where_all_was_confirmed(tmp_path: Path, case: str) -> None:
    """North had the answer too: nobody it had confirmed everything to knows that it is missed."""
    solver, unsaid = CASES[case]
    g, patience = Gathering(tmp_path, names=NAMES, changes={"solver": solver}), Patience()
    trouble = PutBack(g, "begun", "never")

    async def trial() -> Any:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with patience.patched():
            with lossy(own=True, lost=unsaid), trouble.watch():
                north = g.joining("north")
                await until(lambda: "north" in g.shown)
                assert not (await others["west"]).unconfirmed
                north.cancel()
                await asyncio.wait((north,))
            trouble.restore()
            others["north"] = g.joining("north")
            await until(lambda: "north" in patience.engines["east"].lost.durable.lost)
            patience.give_up("north", "east", "south")
            await asyncio.wait(others.values())
        error = others["north"].exception()
        assert isinstance(error, PeerError)
        assert "run 1 is over at north, as its ledger knows" in error.message
        assert isinstance(others["east"].exception(), WaitError)
        assert "east" not in g.shown
        await asyncio.gather(*(g.joining(name, wait=10) for name in NAMES))

    run(trial())
    assert "run 1 is over at north" in str(g.shown.pop("north").entries[0].outcome)
    assert set(g.shown) == set(NAMES[1:])
    answers_agree(g, NAMES[1:])


def test_where_another_run_listens_by_now(tmp_path: Path) -> None:
    """It is asked back for nothing that is known: its answer is shown again, and that is all."""
    g = Gathering(tmp_path, names=NAMES)
    run(g.all())
    g.shown.clear()

    async def again() -> None:
        host, _, port = g.identities["west"].card.address.partition(":")
        async with await asyncio.start_server(lambda *_: None, host, int(port)):
            await g.join("west")

    run(again())
    assert set(g.shown) == {"west"}
