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
from dataclasses import dataclass
from typing import Any, NoReturn

from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.durable_session import Arrival, DurableSession
from titan.party.run_events import LinkStatus, RunEvents
from titan.party.streams import CLOSING_SECONDS, Stream
from titan.party.wire import Absence, Ack, Chunk, Hello, Here, Piece, Refusal, Role


class BrokenError(Exception):
    """This stream is of no more use; the link will get another."""


def refused_by(peer: str, refusal: Refusal, events: RunEvents) -> NoReturn:
    """The other end wants no such stream, or, where that is final, no such run."""
    if refusal.final:
        events.fail(PeerError(f"{peer} refuses this party: {refusal.reason}"))
    raise BrokenError(f"it refuses this party: {refusal.reason}")


@dataclass
class Conversation:
    """What two ends of a link say to each other on one stream."""

    link: LinkStatus
    stream: Stream
    durable: DurableSession
    queue: ArrivalQueue
    events: RunEvents
    attendance: Attendance

    def __post_init__(self) -> None:
        self._peer = self.link.peer
        self._told = {self._peer}  # who has come

    async def run(self, hello: Hello) -> None:
        """Until either end closes; `hello` is what the other end said."""
        halves = self._halves(hello)
        self.link.opened()
        self.events.is_well(self._peer)
        self.attendance.came([self._peer])
        self.events.changed()
        writing, reading = (asyncio.ensure_future(half) for half in halves)
        try:
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not reading.done():
                writing.result()
                await self.stream.finish()
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
        if self.link.role is Role.SENDER:
            start = self.durable.outgoing[self._peer].start(hello.expects)
            return self._send(start), self._take_acks()
        return self._send_acks(), self._take_pieces()

    def _note_closing(self) -> None:
        """A sender closes when its last message is confirmed, perhaps before a restart."""
        durable, receiving = self.durable, self.link.role is Role.RECEIVER
        self.link.closed = (
            durable.heard_all(self._peer) if receiving else durable.said_all(self._peer)
        )
        self.events.changed()

    def _take_other(self, chunk: Chunk, expected: str) -> None:
        """What either end may say at any time."""
        match chunk:
            case Refusal():
                refused_by(self._peer, chunk, self.events)
            case Here() | Absence():
                self.attendance.take(chunk)
            case _:
                raise MessageError(f"something else than {expected}")

    async def _write(self, chunk: bytes) -> None:
        await self.stream.write(chunk)
        self.link.bytes_written += len(chunk)

    # -- at the end that sends ----------------------------------------------------------------

    async def _send(self, start: int) -> None:
        link, outgoing, number = self.link, self.durable.outgoing[self._peer], start
        while True:
            link.wake.clear()
            while number < outgoing.next:
                for chunk in outgoing.chunks(number):
                    await self._write(chunk)
                number += 1
            if await self._leaves() or self.durable.said_all(self._peer):
                return
            await link.wake.wait()

    async def _leaves(self) -> bool:
        """Whether this party does; say what is to be said then, or else who has come meanwhile."""
        leaving = self.link.leaving
        if leaving and self.events.last_words:
            await self._write(self.events.last_words)
        elif not leaving and (here := self.attendance.unknown_to(self._told)):
            self._told.update(self.attendance.names(here))
            await self._write(wire.encode(here))
        return leaving

    async def _take_acks(self) -> None:
        while (data := await self.stream.read()) is not None:
            match wire.decode(data):
                case Ack(next_):
                    if self.durable.acknowledged(self._peer, next_):
                        self.link.closed = self.durable.said_all(self._peer)
                        self.link.wake.set()
                        self.events.progressed()
                case other:
                    self._take_other(other, "an acknowledgement")

    # -- at the end that receives -------------------------------------------------------------

    async def _take_pieces(self) -> None:
        incoming = self.durable.incoming[self._peer]
        while (data := await self.stream.read()) is not None:
            match wire.decode(data):
                case Piece() as piece:
                    number, message = incoming.expected, incoming.take(piece)
                    if message is not None:
                        self.queue.add(Arrival(self._peer, number, message))
                    elif piece.number == number:  # a repeat is no reason to go on waiting
                        self.events.more_is_coming()
                case other:
                    self._take_other(other, "a piece of a message")

    async def _send_acks(self) -> None:
        told = -1
        while True:
            self.link.wake.clear()
            if self.durable.confirmed[self._peer] > told:
                told = self.durable.confirmed[self._peer]
                await self._write(wire.encode(Ack(told)))
            if await self._leaves():
                return
            await self.link.wake.wait()
