"""However many strangers connect and say nothing, a run ends as it would without them.

A party has so many file descriptors and no more, and every connection holds one. Strangers get a
few of them for a few seconds; who has opened a stream, and who has just come, is left alone.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Self
from unittest.mock import patch

import pytest

from tests.party.campaign.nursing import Nurse
from tests.party.joining import Study, calm
from tests.party.loopback import run, until
from tests.party.ports import free_port
from tests.study.parties import identity
from titan import files
from titan.errors import FileError, PeerError
from titan.party import descriptors, streams
from titan.party.descriptors import UnusedConnections, peer_of
from titan.party.streams import Dialler, Listener, Stream
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")
STRANGERS, DESCRIPTORS = 700, 400


def connected(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 30, (source, 0))


# -- a whole run ------------------------------------------------------------------------------


def test_a_run_ends_right_among_more_strangers_than_descriptors(tmp_path: Path) -> None:
    """Before, gRPC gave each of them two minutes, and whoever came after them had to wait."""

    async def story() -> None:
        async with Nurse() as nurse:
            study = Study(tmp_path, nurse, calm(("a", "b"), ("b", "c"), ("c", "a")))
            first = await study.join("a", descriptors=DESCRIPTORS)
            await first.says("waiting for")
            with ExitStack() as held:
                for _ in range(STRANGERS):
                    held.enter_context(connected(study.ports["a"]))
                others = [await study.join(name) for name in ("b", "c")]
                assert [await each.ends() for each in (first, *others)] == [0, 0, 0]
            assert [study.answer(name) for name in "abc"] == [study.expected] * 3
            crowd = "127.0.0.1: has many connections open that say nothing: some are ended"
            assert first.said.count(crowd) == 1, "told once"

    asyncio.run(story())


# -- which connections are ended --------------------------------------------------------------


class Port(ExitStack):
    """One that is listened on here; `add` connects to it, from an address of this machine."""

    def __enter__(self) -> Self:
        self._server = self.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.number = self._server.getsockname()[1]
        return super().__enter__()

    def add(self, source: str = "127.0.0.1") -> socket.socket:
        mine = self.enter_context(connected(self.number, source))
        self.enter_context(self._server.accept()[0])
        return mine


def ended(mine: socket.socket) -> bool:
    mine.setblocking(False)
    try:
        return mine.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_oldest_of_an_address_with_too_many_are_ended() -> None:
    with Port() as port:
        unused = UnusedConnections(port.number, per_address=3, in_all=100)
        old = [port.add() for _ in range(3)]
        other = port.add("127.0.0.2")
        assert unused.end_oldest(()) == {}
        new = [port.add() for _ in range(2)]
        assert unused.end_oldest(()) == {"127.0.0.1": 2}
        assert sum(map(ended, old)) == 2
        assert not any(map(ended, [*new, other]))


def test_of_ipv6_a_network_of_64_bits_counts_as_one_address() -> None:
    """Whoever has one address of it has them all."""
    unused = UnusedConnections(7443, per_address=3, in_all=100)
    hers = [(f"2001:db8::{place:x}", 4711) for place in range(5)]
    unused._oldest_first = [("2001:db8:0:1::7", 4711), *hers, ("192.0.2.7", 4711)]
    assert {*unused._excess(0)} == {*hers[:2]}


def test_who_opened_a_stream_is_left_alone() -> None:
    with Port() as port:
        unused = UnusedConnections(port.number, per_address=1, in_all=100)
        used = [port.add() for _ in range(3)]
        stranger = port.add()
        names = {each.getsockname() for each in used}
        assert unused.end_oldest(names) == {}
        again = port.add()
        assert unused.end_oldest(names) == {"127.0.0.1": 1}
        assert [ended(each) for each in (*used, stranger, again)] == [False] * 3 + [True, False]


def test_of_all_addresses_together_there_are_so_many_and_no_more() -> None:
    with Port() as port:
        unused = UnusedConnections(port.number, per_address=3, in_all=4)
        mine = [port.add(f"127.0.0.{place}") for place in range(1, 7)]
        used = mine[-1].getsockname()
        assert sum(unused.end_oldest({used}).values()) == 2, "three are left, and the one in use"
        assert not ended(mine[-1])


def test_other_descriptors_of_the_process_are_left_alone(tmp_path: Path) -> None:
    with Port() as port, Port() as elsewhere, (tmp_path / "f").open("w"):
        mine = [it.add() for it in (port, elsewhere) for _ in range(3)]
        count = len(list(Path("/dev/fd").iterdir()))
        assert UnusedConnections(port.number, 1, 100).end_oldest(()) == {"127.0.0.1": 2}
        assert not any(map(ended, mine[3:]))
        assert len(list(Path("/dev/fd").iterdir())) == count, "nothing is left open"


@pytest.mark.parametrize(
    ("told", "peer"),
    [
        ("ipv4:192.0.2.7:4711", ("192.0.2.7", 4711)),
        ("ipv6:%5B2001:db8::7%5D:4711", ("2001:db8::7", 4711)),
        ("ipv6:[::ffff:192.0.2.7]:4711", ("192.0.2.7", 4711)),
        ("ipv6:%5Bfe80::1%25eth0%5D:4711", ("fe80::1", 4711)),
    ],
)
def test_what_grpc_calls_the_other_end(told: str, peer: tuple[str, int]) -> None:
    assert peer_of(told) == peer


# -- limits -----------------------------------------------------------------------------------


async def _nothing(_: Card, stream: Stream) -> None:
    await stream.write(b"hello")


def test_who_does_not_shake_hands_is_sent_away() -> None:
    assert dict(streams._SERVER)["grpc.server_handshake_timeout_ms"] <= 10_000

    async def story() -> None:
        port = free_port()
        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", _nothing, lambda: None)
        await listener.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"", "gRPC closes it"
        writer.close()
        await listener.close(0)

    options = dict(streams._SERVER) | {"grpc.server_handshake_timeout_ms": 100}
    with patch.object(streams, "_SERVER", list(options.items())):
        run(story())


def test_a_stream_stays_open_while_strangers_are_ended() -> None:
    async def story() -> None:
        port, crowds = free_port(), list[str]()
        go_on = asyncio.Event()

        async def greet_twice(_: Card, stream: Stream) -> None:
            await stream.write(b"hello")
            await go_on.wait()
            await stream.write(b"again")

        listener = Listener(
            EAST, [NORTH.card], f"127.0.0.1:{port}", greet_twice, lambda: None, crowds.append
        )
        await listener.start()
        heard = []

        async def listen(stream: Stream) -> None:
            heard.append(await stream.read())
            with ExitStack() as held:
                for _ in range(20):
                    held.enter_context(connected(port))
                await until(lambda: bool(crowds))
            go_on.set()
            heard.append(await stream.read())

        dialler = Dialler(NORTH, Card("east", f"127.0.0.1:{port}", EAST.card.certificate))
        await dialler.stream(listen)
        await dialler.close()
        await listener.close(0)
        assert heard == [b"hello", b"again"]
        assert set(crowds) == {"127.0.0.1"}

    with patch.object(descriptors, "PER_ADDRESS", 4):
        run(story())


def test_more_parties_than_descriptors_is_an_error_that_names_them() -> None:
    async def story() -> None:
        cards = [NORTH.card] * 10
        Listener(EAST, cards, f"127.0.0.1:{free_port()}", _nothing, lambda: None)

    with (
        patch.object(descriptors, "raise_limit", lambda: 39),
        pytest.raises(PeerError, match=r"10 parties dial .* no more than 39 files") as caught,
    ):
        run(story())
    assert "limit of file descriptors to 40 or more: ulimit -n" in caught.value.hint


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_whatever_lacks_a_descriptor_says_so(number: int) -> None:
    with pytest.raises(FileError) as refused, files.attempt("read", "rows.csv"):
        raise OSError(number, os.strerror(number))
    assert "too many open files" in refused.value.message
    assert "raise the limit of file descriptors: ulimit -n" in refused.value.hint


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    code = (
        "import resource as r\n"
        "from titan.party.descriptors import raise_limit\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (100, 300))\n"
        "print(raise_limit(), *r.getrlimit(r.RLIMIT_NOFILE), raise_limit())\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["300"] * 4
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > DESCRIPTORS + STRANGERS, "of this test"
