"""Invariant: a veto that a party has seen is in its ledger, also if its process dies right then."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.party.loopback import NAMES, Gathering, run
from tests.party.test_veto import too_few
from titan.party import run_to_answer
from titan.study.ledger import Ledger


class DiedError(Exception):
    """As if by kill -9."""


def test_who_dies_while_it_stays_for_others_has_counted_the_veto(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes up to half a minute, as long as one of the others likes; and people who know that
    run 1 is vetoed go on with run 2, not with run 1."""
    g = Gathering(tmp_path)
    too_few(g, "east")

    async def dies(*_: Any, **__: Any) -> tuple[str, ...]:
        raise DiedError

    monkeypatch.setattr(run_to_answer, "stay", dies)

    async def everybody() -> list[Any]:
        work = (g.joining(name) for name in NAMES)
        return list(await asyncio.gather(*work, return_exceptions=True))

    ended = dict(zip(NAMES, run(everybody()), strict=True))
    died = [name for name, each in ended.items() if isinstance(each, DiedError)]
    assert died
    for name in died:
        with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
            assert [each.vetoed for each in ledger.recorded()] == [True]
