"""Pauses between tries grow as long as a link carries nothing, also where it can be opened."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from titan.party.connecting import Connections
from titan.party.links import Outgoing
from titan.party.run_events import LinkStatus
from titan.party.wire import Role
from titan.study.frames import Frame


@pytest.mark.parametrize(
    ("carries", "expected"), [(False, [0.1, 0.2, 0.4, 0.8]), (True, [0.1, 0.1, 0.1, 0.1])]
)
def test_a_message_that_is_refused_each_time_is_not_sent_ten_times_a_second(
    carries: bool, expected: list[float]
) -> None:
    pauses: list[float] = []
    link, outgoing = LinkStatus("south", Role.SENDER), Outgoing()
    connections: Any = Connections.__new__(Connections)
    connections._diallers = {"south": None}
    connections.durable = SimpleNamespace(outgoing={"south": outgoing})

    async def tried(_: LinkStatus) -> None:
        link.up = True
        if carries:
            outgoing.waiting.append(Frame("south", outgoing.next, "END", b"message"))
            outgoing.acknowledged(outgoing.next)

    async def sleep(pause: float) -> None:
        pauses.append(pause)
        link.leaving = len(pauses) == len(expected)

    connections._try = tried
    with patch("titan.party.connecting.asyncio.sleep", sleep):
        asyncio.run(connections.dial(link))
    assert pauses == pytest.approx(expected)
