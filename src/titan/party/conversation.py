"""One open stream, after both ends have said hello: messages one way, acknowledgements the other.

Either end writes and reads at once. It closes its side when it has no more to say, and then leaves
the other a moment to close its own.
"""

# Rule 1: what is sent, the desk has put out; what is acknowledged, the desk has on disk.
# Rule 2: chunks of another kind than this end expects end the stream (MessageError).
# Rule 3: whatever way a conversation ends, neither of its halves outlives it.

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn

from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.desk import Arrival, Desk
from titan.party.intake import Intake
from titan.party.line import Line
from titan.party.news import News
from titan.party.streams import Stream
from titan.party.wire import Ack, Hello, Piece, Refusal, Role

FAREWELL = 1.0  # seconds for the other end to close its side


class BrokenError(Exception):
    """This stream is of no more use; the link will get another."""


def refused_by(peer: str, refusal: Refusal, news: News) -> NoReturn:
    """The other end wants no such stream, or, where that is final, no such run."""
    if refusal.final:
        news.fail(PeerError(f"{peer} refuses this party: {refusal.reason}"))
    raise BrokenError(f"it refuses this party: {refusal.reason}")


class Conversation:
    """What two ends of a link say to each other on one stream."""

    def __init__(self, line: Line, stream: Stream, desk: Desk, intake: Intake, news: News) -> None:
        self._line = line
        self._peer = line.peer
        self._stream = stream
        self._desk = desk
        self._intake = intake
        self._news = news

    async def run(self, hello: Hello) -> None:
        """Until either end closes; `hello` is what the other end said."""
        halves = self._halves(hello)
        self._line.opened()
        self._news.is_well(self._peer)
        self._news.changed()
        writing, reading = (asyncio.ensure_future(half) for half in halves)
        try:
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not reading.done():
                writing.result()
                await self._stream.finish()
                await asyncio.wait((reading,), timeout=FAREWELL)
            for half in (reading, writing):
                if half.done():
                    half.result()
            self._note_closing()
        finally:
            writing.cancel()
            reading.cancel()
            await asyncio.gather(writing, reading, return_exceptions=True)

    def _halves(self, hello: Hello) -> tuple[Coroutine[Any, Any, None], Coroutine[Any, Any, None]]:
        """What this end writes, and what it reads."""
        if self._line.role is Role.SENDER:
            start = self._desk.outgoing[self._peer].start(hello.expects)
            return self._send(start), self._take_acks()
        return self._send_acks(), self._take_pieces()

    def _note_closing(self) -> None:
        """A sender closes when its last message is confirmed, perhaps before a restart."""
        desk, receiving = self._desk, self._line.role is Role.RECEIVER
        self._line.closed = desk.heard_all(self._peer) if receiving else desk.said_all(self._peer)
        self._news.changed()

    async def _write(self, chunk: bytes) -> None:
        await self._stream.write(chunk)
        self._line.bytes_written += len(chunk)

    # -- at the end that sends ----------------------------------------------------------------

    async def _send(self, start: int) -> None:
        line, outgoing, number = self._line, self._desk.outgoing[self._peer], start
        while True:
            line.stirred.clear()
            while number < outgoing.next:
                for chunk in outgoing.chunks(number):
                    await self._write(chunk)
                number += 1
            if line.leaving or self._desk.said_all(self._peer):
                return
            await line.stirred.wait()

    async def _take_acks(self) -> None:
        while (data := await self._stream.read()) is not None:
            match wire.decode(data):
                case Ack(next_):
                    if self._desk.acknowledged(self._peer, next_):
                        self._line.closed = self._desk.said_all(self._peer)
                        self._line.stirred.set()
                        self._news.progressed()
                case Refusal() as refusal:
                    refused_by(self._peer, refusal, self._news)
                case _:
                    raise MessageError("something else than an acknowledgement")

    # -- at the end that receives -------------------------------------------------------------

    async def _take_pieces(self) -> None:
        incoming = self._desk.incoming[self._peer]
        while (data := await self._stream.read()) is not None:
            match wire.decode(data):
                case Piece() as piece:
                    number, message = incoming.expected, incoming.take(piece)
                    if message is not None:
                        self._intake.add(Arrival(self._peer, number, message))
                    elif piece.number == number:  # a repeat is no reason to go on waiting
                        self._news.more_is_coming()
                case Refusal() as refusal:
                    refused_by(self._peer, refusal, self._news)
                case _:
                    raise MessageError("something else than a piece of a message")

    async def _send_acks(self) -> None:
        told = -1
        while True:
            self._line.stirred.clear()
            if self._desk.confirmed(self._peer) > told:
                told = self._desk.confirmed(self._peer)
                await self._write(wire.encode(Ack(told)))
            if self._line.leaving:
                return
            await self._line.stirred.wait()
