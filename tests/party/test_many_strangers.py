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
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
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
from titan.party.newcomers import Newcomers, plain
from titan.party.streams import Dialler, Listener, Stream
from titan.party.tls import Expected
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")
STRANGERS, DESCRIPTORS = 700, 400


def connected(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 30, (source, 0))


# -- a whole run ------------------------------------------------------------------------------


def test_a_run_ends_right_among_more_strangers_than_descriptors(tmp_path: Path) -> None:

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


def test_the_oldest_of_an_address_with_too_many_are_ended() -> None:
    newcomers: Newcomers[str] = Newcomers(per_address=3, in_all=100)
    for who in ("old", "older", "new"):
        assert newcomers.add(who, "192.0.2.7") == []
    assert newcomers.add("other", "192.0.2.8") == []
    assert newcomers.add("newer", "192.0.2.7") == ["old"]
    assert newcomers.add("newest", "::ffff:192.0.2.7") == ["older"]
    assert list(newcomers) == ["new", "other", "newer", "newest"]


def test_of_ipv6_a_network_of_64_bits_counts_as_one_address() -> None:
    """Whoever has one address of it has them all."""
    newcomers: Newcomers[int] = Newcomers(per_address=3, in_all=100)
    assert newcomers.add(-1, "2001:db8:0:1::7") == []
    ended = [newcomers.add(place, f"2001:db8::{place:x}") for place in range(5)]
    assert ended == [[], [], [], [0], [1]]


def test_who_has_shown_who_it_is_is_left_alone() -> None:
    newcomers: Newcomers[str] = Newcomers(per_address=1, in_all=100)
    newcomers.add("party", "192.0.2.7")
    assert newcomers.discard("party")
    assert not newcomers.discard("party"), "it is not one any more"
    assert newcomers.add("stranger", "192.0.2.7") == []
    assert newcomers.add("again", "192.0.2.7") == ["stranger"]
    assert len(newcomers) == 1


def test_of_all_addresses_together_there_are_so_many_and_no_more() -> None:
    newcomers: Newcomers[int] = Newcomers(per_address=3, in_all=4)
    ended = [newcomers.add(place, f"192.0.2.{place}") for place in range(6)]
    assert ended == [[], [], [], [], [0], [1]]


@pytest.mark.parametrize(
    ("told", "address"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "2001:db8::7"),
     ("::ffff:192.0.2.7", "192.0.2.7"), ("fe80::1%eth0", "fe80::1")],
)  # fmt: skip
def test_what_the_other_end_is_called(told: str, address: str) -> None:
    assert plain(told) == address


# -- limits -----------------------------------------------------------------------------------


async def _nothing(_: Card, stream: Stream) -> None:
    await stream.write(b"hello")


def test_who_does_not_shake_hands_is_sent_away() -> None:
    assert streams._HANDSHAKE <= 10.0

    async def story() -> None:
        port = free_port()
        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", _nothing, lambda _: None)
        await listener.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"", "it is closed"
        writer.close()
        await listener.close(0)

    with patch.object(streams, "_HANDSHAKE", 0.1):
        run(story())


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Listener, int]]:
    port = free_port()
    listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", _nothing, lambda _: None)
    await listener.start()
    try:
        yield listener, port
    finally:
        await listener.close(0)


def test_who_introduces_itself_without_end_is_sent_away() -> None:
    """OpenSSL keeps up to 128 kB of a first message, for each of thousands of strangers."""
    part = b"\x16\x03\x01\x40\x00"
    first = part + b"\x01\x01\xff\x00" + bytes(16_380)

    async def story() -> None:
        async with listening() as (listener, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first + 4 * (part + bytes(16_384)))
            with suppress(ConnectionError):
                assert await reader.read() == b"", "it is closed"
            writer.close()
            await until(lambda: not len(listener._newcomers))

    with patch.object(streams, "_HANDSHAKE", 1e6):
        run(story())


def test_a_word_of_a_stranger_costs_little_memory() -> None:
    strangers = 20

    async def story() -> None:
        async with listening() as (listener, port):
            with ExitStack() as held:
                for _ in range(strangers):
                    held.enter_context(connected(port)).sendall(b"\x16")
                await until(lambda: len(listener._tasks) == strangers)
                assert tracemalloc.get_traced_memory()[0] < before + strangers * 32_000

    tracemalloc.start()
    try:
        shared = Expected(EAST, [NORTH.card])
        before = tracemalloc.get_traced_memory()[0] + len(shared.buffer) + len(shared.leaving)
        run(story())
    finally:
        tracemalloc.stop()


def test_a_stream_stays_open_while_strangers_are_ended() -> None:
    async def story() -> None:
        port, crowds = free_port(), list[str]()
        go_on = asyncio.Event()

        async def greet_twice(_: Card, stream: Stream) -> None:
            await stream.write(b"hello")
            await go_on.wait()
            await stream.write(b"again")

        listener = Listener(
            EAST, [NORTH.card], f"127.0.0.1:{port}", greet_twice, lambda _: None, crowds.append
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
        await listener.close(0)
        assert heard == [b"hello", b"again"]
        assert set(crowds) == {"127.0.0.1"}

    with patch.object(descriptors, "PER_ADDRESS", 4):
        run(story())


def test_where_no_descriptor_is_left_who_comes_waits_and_nothing_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """asyncio's own listener would log a traceback for each of them, without end."""
    accept, tries = socket.socket.accept, list[int]()

    def lacking(place: socket.socket) -> Any:
        tries.append(1)
        if len(tries) <= 3:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(place)

    async def story() -> None:
        port, heard = free_port(), list[object]()

        async def listen(stream: Stream) -> None:
            heard.append(await stream.read())

        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", _nothing, lambda _: None)
        await listener.start()
        card = Card("east", f"127.0.0.1:{port}", EAST.card.certificate)
        await Dialler(NORTH, card).stream(listen)
        await listener.close(0)
        assert heard == [b"hello"]

    with (
        patch.object(socket.socket, "accept", lacking),
        patch.object(streams, "_FULL_SECONDS", 0.01),
    ):
        run(story())
    assert len(tries) > 3
    assert not caplog.records


def test_more_parties_than_descriptors_is_an_error_that_names_them() -> None:
    async def story() -> None:
        cards = [NORTH.card] * 10
        Listener(EAST, cards, f"127.0.0.1:{free_port()}", _nothing, lambda _: None)

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
