"""Pauses between tries grow as long as a link carries nothing, also where it can be opened.

And nobody pauses whom others tell that the party has come.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run, until
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.party import addresses
from titan.party.attendance import Attendance
from titan.party.connecting import Connections
from titan.party.links import Outgoing
from titan.party.run import CONNECTING, RunProgress
from titan.party.run_events import LinkStatus, RunEvents, Watch, link_statuses
from titan.party.streams import Dialler, Listener, Stream
from titan.party.wire import Here, Role
from titan.study import Card
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


NAMES = ("north", "east", "south", "west")


@pytest.mark.parametrize("dial", ["push", "pull"])
def test_who_comes_last_waits_for_nobodys_next_try(tmp_path: Path, dial: str) -> None:
    """Who dials east hears from others that it has come, and has no next try in this test."""
    g, others = Gathering(tmp_path, names=NAMES, dial=dial), ("north", "south", "west")
    endless, pausing, pause = False, set[str](), Connections._pause

    async def long_pause(self: Connections, link: LinkStatus, seconds: float) -> None:
        if endless:
            pausing.add(link.peer)
        await pause(self, link, 3600.0 if endless else seconds)

    async def story() -> None:
        nonlocal endless
        waiting = [g.joining(name) for name in others]
        text = "connecting, waiting for east"
        await until(lambda: all(text in g.phases.get(name, [""])[-1:] for name in others))
        endless = True
        await until(lambda: "east" in pausing)
        await asyncio.gather(*waiting, g.joining("east"))

    with patch.object(Connections, "_pause", long_pause):
        run(story())
    answers_agree(g)


def test_who_says_it_again_and_again_makes_nobody_dial(tmp_path: Path) -> None:
    async def story() -> None:
        g = Gathering(tmp_path)
        events = RunEvents(Watch(), lambda: RunProgress(CONNECTING))
        links = link_statuses(g.study, "north")
        attendance = Attendance(g.study, 1, "north", links, events, set)
        (link,) = [each for each in links.values() if each.peer == "east"]
        attendance.take(Here((0, 1)))
        assert link.peer_came.is_set()
        link.peer_came.clear()
        attendance.take(Here((0, 1)))
        assert not link.peer_came.is_set()

    run(story())


def test_a_name_of_which_one_address_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one of IPv6, on a network that drops it without a word."""
    north, east, port = identity("north"), identity("east"), free_port()
    tried, heard = list[str](), list[object]()

    async def greet(_: Card, stream: Stream) -> None:
        await stream.write(b"hello")

    async def listen(stream: Stream) -> None:
        heard.append(await stream.read())

    async def story() -> None:
        loop = asyncio.get_running_loop()
        connect = loop.sock_connect

        async def both(*_: object, **__: object) -> list[object]:
            kind = socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, ""
            return [(*kind, (f"127.0.0.{last}", port)) for last in (2, 1)]

        async def sock_connect(made: socket.socket, address: tuple[str, int]) -> None:
            tried.append(address[0])
            if address[0] == "127.0.0.2":
                await asyncio.Event().wait()
            await connect(made, address)

        listener = Listener(east, [north.card], f"127.0.0.1:{port}", greet, lambda _: None)
        await listener.start()
        monkeypatch.setattr(addresses, "ONE_OF_SEVERAL", 0.2)
        monkeypatch.setattr(loop, "getaddrinfo", both)
        monkeypatch.setattr(loop, "sock_connect", sock_connect)
        card = Card("east", f"twofold.example:{port}", east.card.certificate)
        await Dialler(north, card).stream(listen)
        await listener.close(0)

    run(story())
    assert tried == ["127.0.0.2", "127.0.0.1"]
    assert heard == [b"hello"]
