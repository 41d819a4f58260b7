"""One open stream, after both ends have said hello: messages one way, acknowledgements the other.

Either end writes and reads at once. It closes its side when it has no more to say, and then leaves
the other a moment to close its own.
"""

# Rule 1: the durable session has released what is sent, and has on disk what is acknowledged.
# Rule 2: chunks of another kind than this end expects end the stream (MessageError).
# Rule 3: whatever way a conversation ends, neither of its halves outlives it.

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn

from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.durable_session import Arrival, DurableSession
from titan.party.link_status import LinkStatus
from titan.party.run_events import RunEvents
from titan.party.streams import Stream
from titan.party.wire import Absence, Ack, Chunk, Hello, Here, Piece, Refusal, Role

CLOSING_SECONDS = 1.0  # for the other end to close its side


class BrokenError(Exception):
    """This stream is of no more use; the link will get another."""


def refused_by(peer: str, refusal: Refusal, events: RunEvents) -> NoReturn:
    """The other end wants no such stream, or, where that is final, no such run."""
    if refusal.final:
        events.fail(PeerError(f"{peer} refuses this party: {refusal.reason}"))
    raise BrokenError(f"it refuses this party: {refusal.reason}")


class Conversation:
    """What two ends of a link say to each other on one stream."""

    def __init__(
        self,
        link: LinkStatus,
        stream: Stream,
        durable: DurableSession,
        queue: ArrivalQueue,
        events: RunEvents,
        attendance: Attendance,
    ) -> None:
        self._link = link
        self._peer = link.peer
        self._stream = stream
        self._durable = durable
        self._queue = queue
        self._events = events
        self._attendance = attendance
        self._told: set[str] = {link.peer}  # who has come

    async def run(self, hello: Hello) -> None:
        """Until either end closes; `hello` is what the other end said."""
        halves = self._halves(hello)
        self._link.opened()
        self._events.is_well(self._peer)
        self._attendance.came([self._peer])
        self._events.changed()
        writing, reading = (asyncio.ensure_future(half) for half in halves)
        try:
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not reading.done():
                writing.result()
                await self._stream.finish()
                await asyncio.wait((reading,), timeout=CLOSING_SECONDS)
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
        if self._link.role is Role.SENDER:
            start = self._durable.outgoing[self._peer].start(hello.expects)
            return self._send(start), self._take_acks()
        return self._send_acks(), self._take_pieces()

    def _note_closing(self) -> None:
        """A sender closes when its last message is confirmed, perhaps before a restart."""
        durable, receiving = self._durable, self._link.role is Role.RECEIVER
        self._link.closed = (
            durable.heard_all(self._peer) if receiving else durable.said_all(self._peer)
        )
        self._events.changed()

    def _take_other(self, chunk: Chunk, expected: str) -> None:
        """What either end may say at any time."""
        match chunk:
            case Refusal():
                refused_by(self._peer, chunk, self._events)
            case Here() | Absence():
                self._attendance.take(chunk)
            case _:
                raise MessageError(f"something else than {expected}")

    async def _write(self, chunk: bytes) -> None:
        await self._stream.write(chunk)
        self._link.bytes_written += len(chunk)

    # -- at the end that sends ----------------------------------------------------------------

    async def _send(self, start: int) -> None:
        link, outgoing, number = self._link, self._durable.outgoing[self._peer], start
        while True:
            link.wake.clear()
            while number < outgoing.next:
                for chunk in outgoing.chunks(number):
                    await self._write(chunk)
                number += 1
            if await self._leaves() or self._durable.said_all(self._peer):
                return
            await link.wake.wait()

    async def _leaves(self) -> bool:
        """Whether this party does; say what is to be said then, or else who has come meanwhile."""
        leaving = self._link.leaving
        if leaving and self._events.last_words:
            await self._write(self._events.last_words)
        elif not leaving and (here := self._attendance.unknown_to(self._told)):
            self._told.update(self._attendance.names(here))
            await self._write(wire.encode(here))
        return leaving

    async def _take_acks(self) -> None:
        while (data := await self._stream.read()) is not None:
            match wire.decode(data):
                case Ack(next_):
                    if self._durable.acknowledged(self._peer, next_):
                        self._link.closed = self._durable.said_all(self._peer)
                        self._link.wake.set()
                        self._events.progressed()
                case other:
                    self._take_other(other, "an acknowledgement")

    # -- at the end that receives -------------------------------------------------------------

    async def _take_pieces(self) -> None:
        incoming = self._durable.incoming[self._peer]
        while (data := await self._stream.read()) is not None:
            match wire.decode(data):
                case Piece() as piece:
                    number, message = incoming.expected, incoming.take(piece)
                    if message is not None:
                        self._queue.add(Arrival(self._peer, number, message))
                    elif piece.number == number:  # a repeat is no reason to go on waiting
                        self._events.more_is_coming()
                case other:
                    self._take_other(other, "a piece of a message")

    async def _send_acks(self) -> None:
        told = -1
        while True:
            self._link.wake.clear()
            if self._durable.confirmed(self._peer) > told:
                told = self._durable.confirmed(self._peer)
                await self._write(wire.encode(Ack(told)))
            if await self._leaves():
                return
            await self._link.wake.wait()
