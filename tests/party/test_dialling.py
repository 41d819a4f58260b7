"""Pauses between tries grow as long as a link carries nothing, also where it can be opened."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from titan.party.engine import Engine, _Line
from titan.party.links import Outgoing
from titan.party.wire import Role
from titan.study import Link


@pytest.mark.parametrize(
    ("carries", "expected"), [(False, [0.1, 0.2, 0.4, 0.8]), (True, [0.1, 0.1, 0.1, 0.1])]
)
def test_a_message_that_is_refused_each_time_is_not_sent_ten_times_a_second(
    carries: bool, expected: list[float]
) -> None:
    pauses: list[float] = []
    line, outgoing = _Line("south", Role.SENDER), Outgoing()
    engine: Any = Engine.__new__(Engine)
    engine._lines = {("north", "south"): line}
    engine._diallers = {"south": None}
    engine._desk = SimpleNamespace(outgoing={"south": outgoing})
    engine._leaving = False

    async def tried(_: _Line) -> None:
        line.up = True
        if carries:
            outgoing.add(b"message")
            outgoing.acknowledged(outgoing.next)

    async def sleep(pause: float) -> None:
        pauses.append(pause)
        engine._leaving = len(pauses) == len(expected)

    engine._try = tried
    with patch("titan.party.engine.asyncio.sleep", sleep):
        asyncio.run(engine._dial(Link("north", "south")))
    assert pauses == pytest.approx(expected)
