"""A name that cannot be looked up is told as such: which name, whose, and what to check."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, Patience, run, until
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.errors import WaitError
from titan.party import streams
from titan.party.link_troubles import explained, is_lookup
from titan.party.streams import Dialler, Listener, Stream
from titan.party.tls import grpc
from titan.study import Card

NAME = "east.invalid"  # which stands for no machine, by RFC 6761
CHECK = "check the address in the study, and name resolution on this machine (getent hosts "


def failed(details: str) -> grpc.aio.AioRpcError:
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, nothing, nothing, details, "")


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ("errors resolving {}:7443: [field:hostname lookup error:Address lookup failed for {}:7443 "
         "os_error: Name or service not known syscall: getaddrinfo]", "name or service not known"),
        ("errors resolving {}:7443: [field:hostname lookup error:address lookup failed for {}:7443:"
         " Could not contact DNS servers]", "could not contact dns servers"),
        ("DNS resolution failed for {}: address lookup failed for {}:7443", "no reason given"),
    ],
)  # fmt: skip
def test_both_resolvers_of_grpc_are_understood(details: str, reason: str) -> None:
    error = failed(details.format(NAME, NAME))
    assert is_lookup(error)
    assert explained(error) == f"the name {NAME} cannot be looked up ({reason}): {CHECK}{NAME})"


def test_other_failures_are_not_about_names() -> None:
    error = failed("failed to connect to all addresses; last error: UNKNOWN: Connection refused")
    assert not is_lookup(error)
    assert explained(error) == "nobody answers there yet"
    none_left = explained(failed("UNKNOWN: ipv4:192.0.2.7:1: Too many open files"))
    assert "this process has no file descriptor left" in none_left


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
    """gRPC itself would look again after a pause that grows to two minutes."""
    north, east = identity("north"), identity("east")

    async def story() -> None:
        port, heard = free_port(), list[bytes | None]()

        async def greet(_: Card, stream: Stream) -> None:
            await stream.write(b"hello")

        async def listen(stream: Stream) -> None:
            heard.append(await stream.read())

        listener = Listener(east, [north.card], f"127.0.0.1:{port}", greet, lambda: None)
        await listener.start()
        dialler = Dialler(north, Card("east", f"{NAME}:{port}", east.card.certificate))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await dialler.stream(listen)
        assert is_lookup(caught.value)
        dialler._address = f"127.0.0.1:{port}"  # as it is after the name was mended

        async def again() -> None:
            while not heard:
                try:
                    await dialler.stream(listen)
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.01)

        await asyncio.wait_for(again(), 30)
        await dialler.close()
        await listener.close(0)
        assert heard == [b"hello"]

    with patch.object(streams, "_LOOKUP", 0.0):
        asyncio.run(story())
