"""What goes wrong with somebody who dialled is not lost: a mistake here ends the run, and before
it is known who it is, only the connection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.party.loopback import Gathering, run, until
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.party.connecting import Connections
from titan.party.connection import Connection, StreamEndedError
from titan.party.streams import Dialler, Listener, NoConnectionError, Stream
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")


class MistakeError(Exception):
    """In the program."""


async def mistaken(*_: object) -> None:
    raise MistakeError


async def read_all(stream: Stream) -> None:
    while await stream.read() is not None:
        pass


def met(accept: Callable[[Card, Stream], Awaitable[None]]) -> tuple[list[str], list[Any]]:
    """What a listener says of north, who dials it once; and what nobody took note of."""
    said, unnoticed = list[str](), list[Any]()

    async def story() -> None:
        loop, port = asyncio.get_running_loop(), free_port()
        loop.set_exception_handler(lambda _, context: unnoticed.append(context["message"]))
        listener = Listener(
            EAST,
            [NORTH.card],
            f"127.0.0.1:{port}",
            accept,
            lambda host: said.append(f"turned away: {host}"),
            failed=lambda error: said.append(type(error).__name__),
        )
        await listener.start()
        card = Card("east", f"127.0.0.1:{port}", EAST.card.certificate)
        try:
            await Dialler(NORTH, card).stream(read_all)
        except (NoConnectionError, StreamEndedError) as error:
            said.append(type(error).__name__)
        await until(lambda: not listener._tasks and not len(listener._newcomers))
        await listener.close(0)
        gc.collect()

    run(story())
    return sorted(said), unnoticed


def test_what_comes_out_of_accepting_a_party_is_told_to_the_listener_s_owner() -> None:
    assert met(mistaken) == (["MistakeError", "StreamEndedError"], [])


def test_what_fails_before_somebody_has_shown_who_it_is_costs_its_connection() -> None:
    shake_hands = Connection.shake_hands

    async def fails(self: Connection) -> None:
        await (shake_hands(self) if self._dials else mistaken())

    with patch.object(Connection, "shake_hands", fails):
        assert met(mistaken) == (["NoConnectionError", "turned away: 127.0.0.1"], [])


def test_a_mistake_in_accepting_a_party_ends_the_run(tmp_path: Path) -> None:
    """Else its run would wait in vain."""
    g = Gathering(tmp_path)

    async def trial() -> None:
        joining = g.joining("north"), g.joining("east")
        with patch.object(Connections, "_accept", mistaken):
            over, _ = await asyncio.wait(joining, return_when=asyncio.FIRST_COMPLETED)
        for task in joining:
            task.cancel()
        ends = await asyncio.gather(*joining, return_exceptions=True)
        assert MistakeError in map(type, ends)
        assert over

    run(trial())


def test_who_says_nothing_is_let_go_like_others() -> None:
    said, unnoticed = list[str](), list[Any]()

    async def story() -> None:
        loop, port = asyncio.get_running_loop(), free_port()
        loop.set_exception_handler(lambda _, context: unnoticed.append(context["message"]))
        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", mistaken, said.append)
        await listener.start()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: listener.begun == 1)
        await listener.close(0)
        await until(lambda: bool(said or unnoticed))
        writer.close()

    run(story())
    assert (said, unnoticed) == (["127.0.0.1"], [])
