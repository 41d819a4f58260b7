"""The one who solves loses its journal, and with it the answer that it had told, or had not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run, until
from tests.party.test_put_back import (
    NAMES,
    PutBack,
    all_without,
    ends,
    lossy,
    short_grace,
    slow_writing,
)
from titan.errors import PeerError
from titan.party import lost_journals
from titan.party.messages import END


def test_an_answer_that_nobody_was_told_is_the_end_for_all(tmp_path: Path) -> None:
    """North solves: all have its digest, and without its journal it has no answer for them."""
    g = Gathering(tmp_path, names=NAMES, changes={"solver": "north"})
    with lossy(own=True), slow_writing():
        all_without(ends(g, PutBack(g, "one_total", "complete")), g)


@pytest.mark.parametrize("most", [1 << 20, 40])
def test_an_answer_that_is_too_long_to_be_passed_on_is_known_to_be_there(
    tmp_path: Path, most: int
) -> None:
    g = Gathering(tmp_path, names=NAMES, changes={"solver": "north"})
    trouble = PutBack(g, "one_total", "never")

    async def trial() -> None:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with lossy(own=True, lost=(END,)), trouble.watch():  # so the others stay
            north = g.joining("north")
            await until(lambda: set(g.shown) == set(NAMES))
            north.cancel()
            await asyncio.wait((north,))
        trouble.restore()
        with pytest.raises(PeerError) as told:
            await g.join("north")
        assert "ask one of them for result.json" in told.value.hint
        await asyncio.gather(*others.values())

    with patch.object(lost_journals, "MOST_WORD", most), short_grace(3.0):
        run(trial())
    answers_agree(g, NAMES[1:])
