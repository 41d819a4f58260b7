"""Streams fail in ways that gRPC has several names for; a link knows one. Slow peers get time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.party.ports import free_port
from tests.study.parties import identity
from titan.party.streams import Dialler, Listener, Stream, StreamEndedError
from titan.party.tls import grpc
from titan.study import Card

SLOWNESS = 1.0  # seconds; ten times the first pause between two tries


class Over:
    """An end of a stream that is over."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def read(self) -> bytes:
        raise self._error

    async def write(self, chunk: bytes) -> None:
        raise self._error

    async def done_writing(self) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        asyncio.InvalidStateError("RPC already finished."),
        grpc.aio.UsageError("RPC already finished."),
        grpc.aio.InternalError("Failed to write."),
    ],
)
def test_a_stream_that_is_over_is_told_as_such(error: Exception) -> None:
    async def use(work: Any) -> None:
        with pytest.raises(StreamEndedError, match="the connection was lost"):
            await work

    over = Over(error)
    end = Stream(over, over.done_writing)
    for work in (end.read(), end.write(b"chunk"), end.finish()):
        asyncio.run(use(work))


def test_a_slow_handshake_is_waited_for() -> None:
    """A try that is given up early, over and over, would never meet a slow peer."""
    tries = []

    async def story() -> None:
        north, east = identity("north"), identity("east")
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

        listener = Listener(east, [north.card], f"127.0.0.1:{inner}", greet, lambda: None)
        await listener.start()
        async with await asyncio.start_server(slowly, "127.0.0.1", outer):
            dialler = Dialler(north, Card("east", f"127.0.0.1:{outer}", east.card.certificate))
            await dialler.stream(listen)
            await dialler.close()
        await listener.close(0)
        assert heard == [b"hello"]

    asyncio.run(story())
    assert len(tries) == 1


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
    target.close()
