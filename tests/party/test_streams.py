"""Streams carry chunks of every size, whole and in order, or end in one way that a link knows."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import run
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.party import connection, streams
from titan.party.connection import Connection, StreamEndedError
from titan.party.streams import Dialler, Listener, Stream
from titan.party.tls import Expected
from titan.party.wire import MOST_CHUNK
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")
SLOWNESS = 1.0  # seconds; ten times the first pause between two tries
SIZES = (1, 3, 4, 5, 16_383, 16_384, 16_385, connection._AT_ONCE - 4, connection._AT_ONCE,
         connection._AT_ONCE + 1, MOST_CHUNK)  # fmt: skip


@asynccontextmanager
async def two_ends(through: int = 0) -> AsyncIterator[tuple[Stream, Stream]]:
    """North's end and east's, of one stream; north may dial another port, which leads there."""
    port, ends, over = free_port(), asyncio.Queue[Stream](), asyncio.Event()

    async def take(_: Card, stream: Stream) -> None:
        await ends.put(stream)
        await over.wait()

    async def dial(stream: Stream) -> None:
        await ends.put(stream)
        await over.wait()

    listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", take, lambda _: None)
    await listener.start()
    async with relay(through, port):
        card = Card("east", f"127.0.0.1:{through or port}", EAST.card.certificate)
        dialling = asyncio.ensure_future(Dialler(NORTH, card).stream(dial))
        first, second = await ends.get(), await ends.get()
        try:
            yield (second, first) if first.address else (first, second)
        finally:
            over.set()
            dialling.cancel()
            await asyncio.gather(dialling, return_exceptions=True)
            await listener.close(0)


@asynccontextmanager
async def relay(port: int, to: int) -> AsyncIterator[None]:
    """Passes on what comes to a port, while `passing` is set."""
    if not port:
        yield
        return

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", to)
        with suppress(ConnectionError):
            await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
        there[1].transport.abort()
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield


passing = asyncio.Event()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        await passing.wait()
        target.write(data)
    target.close()


@pytest.fixture(autouse=True)
def _passing() -> None:
    global passing
    passing = asyncio.Event()
    passing.set()


def test_chunks_arrive_whole_and_in_order_both_ways_at_once() -> None:
    sent = [os.urandom(size) for size in SIZES]

    async def story() -> None:
        async def say(end: Stream) -> None:
            for chunk in sent:
                await end.write(chunk)
            await end.finish()

        async def hear(end: Stream) -> list[bytes]:
            heard = []
            while (chunk := await end.read()) is not None:
                heard.append(bytes(chunk))
            assert await end.read() is None, "it stays at its end"
            return heard

        async with two_ends() as (north, east):
            done = await asyncio.gather(say(north), say(east), hear(north), hear(east))
        assert done[2] == sent
        assert done[3] == sent

    run(story())


def test_who_does_not_read_makes_the_other_wait_and_keeps_little() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            chunk, count = bytes(MOST_CHUNK), 0
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    while count < 64:
                        await north.write(chunk)
                        count += 1
            assert count < 64
            kept = east._connection._unread
            assert kept <= connection._MOST_UNREAD + connection._AT_ONCE
            for _ in range(count):
                assert await east.read() == chunk

    run(story())


class KeepingTransport:
    """Keeps what it is given as it is, as that of Python 3.12 and later does while it is due."""

    def __init__(self) -> None:
        self.kept: list[bytes | memoryview] = []

    def write(self, data: bytes | memoryview) -> None:
        self.kept.append(data)

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.kept))

    def is_closing(self) -> bool:
        return False


def test_what_the_system_does_not_take_at_once_is_not_written_over() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            chunks = [os.urandom(MOST_CHUNK), os.urandom(100)]
            real = north._connection._transport
            keeping: Any = KeepingTransport()
            north._connection._transport = keeping
            for chunk in chunks:
                await north.write(chunk)
            north._connection._transport = real
            assert len(keeping.kept) > len(chunks)
            real.write(b"".join(keeping.kept))
            assert [await east.read() for _ in chunks] == chunks

    run(story())


def test_few_bytes_that_are_kept_are_a_copy() -> None:
    """Who does not read costs as much memory as there are bytes for it."""

    async def story() -> None:
        async with two_ends() as (north, _):
            keeping: Any = KeepingTransport()
            real, north._connection._transport = north._connection._transport, keeping
            await north.write(b"a few")
            north._connection._transport = real
            (kept,) = keeping.kept
            assert isinstance(kept, bytes)

    run(story())


def test_reading_that_is_cancelled_goes_on_where_it_was() -> None:
    chunk = os.urandom(MOST_CHUNK)

    async def story() -> None:
        async with two_ends() as (north, east):
            writing, heard, tries = asyncio.ensure_future(north.write(chunk)), None, 0
            while heard is None:
                reading = asyncio.ensure_future(east.read())
                await asyncio.sleep(0)
                tries += reading.cancel()
                with suppress(asyncio.CancelledError):
                    heard = await reading
            await writing
            assert heard == chunk
            assert tries > 1

    run(story())


def test_writing_that_is_cancelled_within_a_chunk_was_the_last() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            async with asyncio.timeout(30.0):
                while True:  # until the other end, which does not read, takes no more
                    writing = asyncio.ensure_future(north.write(bytes(MOST_CHUNK)))
                    done, _ = await asyncio.wait({writing}, timeout=0.2)
                    if not done:
                        break
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            for work in (north.write(b"more"), north.write(b"and more")):
                with pytest.raises(StreamEndedError):
                    await work
            assert east._connection._unread

    run(story())


def test_a_stream_that_is_over_is_told_as_such() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            await east.write(b"last words")
            await asyncio.sleep(0.05)
            east._connection.close()
            assert await north.read() == b"last words", "what came before is still heard"
            for work in (north.read(), north.write(b"chunk"), north.finish(), east.read()):
                with pytest.raises(StreamEndedError, match="the connection was lost"):
                    await work

    run(story())


def test_a_chunk_that_is_too_long_ends_the_stream() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            await north.write(bytes(MOST_CHUNK))
            assert len(await east.read() or b"") == MOST_CHUNK
            await north.write(bytes(MOST_CHUNK + 1))
            with pytest.raises(StreamEndedError, match="the most is"):
                await east.read()
            with pytest.raises(StreamEndedError):
                await north.read()

    run(story())


def test_who_says_nothing_is_kept_and_who_is_not_heard_is_gone() -> None:
    async def story() -> None:
        async with two_ends(free_port()) as (north, east):
            reading = asyncio.ensure_future(north.read())
            await asyncio.sleep(4 * connection.GONE_SECONDS)
            assert not reading.done(), "both say that they are there"
            await east.write(b"still here")
            assert await reading == b"still here"
            passing.clear()  # from now on nothing passes, and nobody is told
            for end in (north, east):
                with pytest.raises(StreamEndedError, match="the connection was lost"):
                    await end.read()
            passing.set()

    with (
        patch.object(connection, "ALIVE_SECONDS", 0.1),
        patch.object(connection, "GONE_SECONDS", 0.4),
    ):
        run(story())


def test_a_slow_handshake_is_waited_for() -> None:
    """A try that is given up early, over and over, would never meet a slow peer."""
    tries = []

    async def story() -> None:
        inner, outer = free_port(), free_port()

        async def greet(_: Card, stream: Stream) -> None:
            await stream.write(b"hello")

        async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tries.append(1)
            await asyncio.sleep(SLOWNESS)
            there = await asyncio.open_connection("127.0.0.1", inner)
            try:
                await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
            finally:
                there[1].transport.abort()
                writer.transport.abort()

        heard = []

        async def listen(stream: Stream) -> None:
            heard.append(await stream.read())

        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{inner}", greet, lambda _: None)
        await listener.start()
        async with await asyncio.start_server(slowly, "127.0.0.1", outer):
            dialler = Dialler(NORTH, Card("east", f"127.0.0.1:{outer}", EAST.card.certificate))
            await dialler.stream(listen)
        await listener.close(0)
        assert heard == [b"hello"]

    asyncio.run(story())
    assert len(tries) == 1


def test_a_connection_that_broke_is_given_up_when_it_is_looked_after() -> None:
    """Nobody hears what the event loop's own calls raise but a log, with a traceback."""

    async def story() -> None:
        async with two_ends() as (north, east):
            north._connection._transport.write(b"\x17\x03\x03\x00\x20" + bytes(32))
            with pytest.raises(StreamEndedError):
                await east.read()
            east._connection._said = -connection.ALIVE_SECONDS
            east._connection._look()
            with pytest.raises(StreamEndedError, match="the connection was lost"):
                await east.write(b"more")

    run(story())


@pytest.mark.parametrize("said", [b"\xff\xff\xff\xff", b"\x01\x00\x00\x00x"])
def test_who_says_much_in_small_chunks_does_not_keep_others_waiting(said: bytes) -> None:
    """One such connection stopped all other work of the party for half a second at a time."""
    count = 10_000

    async def story() -> None:
        async with two_ends() as (north, east):
            north._connection._put(said * count)
            await north.finish()
            turns, reading = 0, asyncio.ensure_future(_read_all(east))
            while not reading.done():
                await asyncio.sleep(0)
                turns += 1
            assert turns > count / (2 * connection._IN_TURN)

    run(story())


async def _read_all(end: Stream) -> None:
    while await end.read() is not None:
        pass


def test_who_does_not_take_what_is_left_is_not_waited_for() -> None:
    """Else a party that stops reading and says goodbye, again and again, has all descriptors."""
    most, tries = 2, 5

    async def story() -> None:
        port, expected = free_port(), Expected(NORTH, [EAST.card])
        callers: list[Connection] = []

        async def take(_: Card, stream: Stream) -> None:
            callers.append(stream._connection)
            while not stream._connection.unsent:
                stream._connection._put(bytes(MOST_CHUNK))

        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", take, lambda _: None)
        await listener.start()
        silent = [Connection(expected, dials=True) for _ in range(tries)]
        for count, each in enumerate(silent, 1):
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda each=each: each, "127.0.0.1", port)  # type: ignore[misc]
            await each.shake_hands()
            each._transport.pause_reading()
            await each.finish()
            while len(callers) < count or listener._tasks:
                await asyncio.sleep(0.01)
            assert sum(caller.unsent for caller in callers) <= most
        while any(listener._of.values()):  # until the last one has lost its descriptor
            await asyncio.sleep(0.01)
        assert not any(caller.unsent for caller in callers)
        for each in silent:
            each.abort()
        await listener.close(0)

    with patch.object(streams, "_KEPT", most), patch.object(connection, "LEAVING_SECONDS", 1.0):
        run(story())


@pytest.mark.parametrize("turns", range(6))
def test_nobody_comes_in_after_a_listener_was_closed(turns: int) -> None:
    """Whoever is on the way through the event loop meanwhile, too."""

    async def story() -> None:
        port, met = free_port(), list[str]()

        async def take(card: Card, _: Stream) -> None:
            met.append(card.name)

        listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", take, lambda _: None)
        await listener.start()
        with socket.create_connection(("127.0.0.1", port)) as caller:
            caller.sendall(b"\x16")
            for _ in range(turns):
                await asyncio.sleep(0)
            await listener.close(0)
            for _ in range(6):
                await asyncio.sleep(0)
            assert not listener._tasks
            assert not len(listener._newcomers)
        assert not met

    run(story())


@pytest.mark.parametrize("listens", [True, False])
def test_what_tls_itself_answers_is_not_kept(listens: bool) -> None:
    """A party that asks for new keys without end had all the answers kept, megabytes of them."""

    async def story() -> None:
        async with two_ends() as (north, east):
            end = east._connection
            if not listens:
                north._connection._transport.pause_reading()
                end._transport.write(bytes(1 << 24))
            end._tls.send(b"\xff\xff\xff\xff")  # stands for such an answer
            await north.write(bytes(connection._MOST_UNREAD))
            await north.write(b"last")
            assert len(await east.read() or b"") == connection._MOST_UNREAD
            if not listens:
                with pytest.raises(StreamEndedError):
                    await _read_all(east)
                return
            assert await east.read() == b"last"
            reading = asyncio.ensure_future(east.read())
            await asyncio.sleep(0)
            assert not end._tls.due(), "it has left"
            await north.finish()
            assert await reading is None

    run(story())
