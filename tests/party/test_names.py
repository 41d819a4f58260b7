"""A name that cannot be looked up is told as such: which name, whose, and what to check."""

from __future__ import annotations

import asyncio
import errno
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.party.loopback import Gathering, Patience, run, until
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.errors import WaitError
from titan.party.link_troubles import explained
from titan.party.streams import Dialler, Listener, NoConnectionError, Stream
from titan.party.wire import Bytes
from titan.study import Card

NAME = "east.invalid"  # which stands for no machine, by RFC 6761
CHECK = "check the address in the study, and name resolution on this machine (getent hosts "


@pytest.mark.parametrize(("said", "reason"), [("No such name", "no such name"), ("", "no reason")])
def test_a_lookup_that_fails_is_told_with_its_reason(said: str, reason: str) -> None:
    error = explained(socket.gaierror(socket.EAI_NONAME, said), f"{NAME}:7443", None)
    assert str(error).startswith(f"the name {NAME} cannot be looked up ({reason}")
    assert str(error).endswith(f": {CHECK}{NAME})")


def test_other_failures_are_not_about_names() -> None:
    refused = OSError(f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] Connect call failed")
    for error in (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), refused):
        assert str(explained(error, "192.0.2.7:1", None)) == "nobody answers there yet"
    none_left = explained(OSError(errno.EMFILE, "Too many open files"), "192.0.2.7:1", None)
    assert "this process has no file descriptor left" in str(none_left)


def test_a_run_tells_which_name_of_which_party(tmp_path: Path) -> None:
    g, patience = Gathering(tmp_path), Patience()
    north, east, south = g.study.parties
    elsewhere = replace(east, address=f"{NAME}:7443")
    study = replace(g.study, parties=(north, elsewhere, south))

    async def trial() -> None:
        waiting = asyncio.ensure_future(g.join("north", study))
        await until(lambda: "east: the name" in "".join(g.told.get("north", ())))
        patience.give_up("north")
        await waiting

    with patience.patched(), pytest.raises(WaitError) as waited:
        run(trial())
    assert f"east: the name {NAME} cannot be looked up (" in waited.value.message
    told = [line for line in g.told["north"] if line.startswith("east: the name")]
    assert len(told) == 1, "told once"
    assert told[0].endswith(f"{CHECK}{NAME})")


def test_a_name_that_is_mended_is_found_without_a_new_start() -> None:
    """It is looked up each time that somebody dials."""
    north, east = identity("north"), identity("east")

    async def story() -> None:
        port, heard = free_port(), list[Bytes | None]()

        async def greet(_: Card, stream: Stream) -> None:
            await stream.write(b"hello")

        async def listen(stream: Stream) -> None:
            heard.append(await stream.read())

        listener = Listener(east, [north.card], f"127.0.0.1:{port}", greet, lambda _: None)
        await listener.start()
        dialler = Dialler(north, Card("east", f"{NAME}:{port}", east.card.certificate))
        with pytest.raises(NoConnectionError, match="cannot be looked up"):
            await dialler.stream(listen)
        dialler._address = f"127.0.0.1:{port}"  # as it is after the name was mended

        async def again() -> None:
            while not heard:
                try:
                    await dialler.stream(listen)
                except NoConnectionError:
                    await asyncio.sleep(0.01)

        await asyncio.wait_for(again(), 30)
        await listener.close(0)
        assert heard == [b"hello"]

    asyncio.run(story())
