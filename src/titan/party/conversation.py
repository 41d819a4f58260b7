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
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from titan.errors import FileError, MessageError
from titan.party import wire
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.durable_session import Arrival, DurableSession
from titan.party.lost_journals import LostJournals
from titan.party.notices import quoted
from titan.party.run_events import LinkStatus, RunEvents
from titan.party.streams import CLOSING_SECONDS, Stream
from titan.party.wire import Absence, Ack, Chunk, Hello, Here, Lost, Piece, Refusal, Role, Word

_LOOK = 0.2  # seconds between two looks for new words


class BrokenError(Exception):
    """This stream is of no more use; the link will get another."""


def refused_by(refusal: Refusal, events: RunEvents, lost: LostJournals) -> NoReturn:
    """The other end wants no such stream. No run, where it proves that this party began another."""
    if refusal.final and (error := events.began_before(refusal.proof)) is not None:
        lost.give_up(error.message)
    raise BrokenError(f"it refuses this party: {quoted(refusal.reason)}")


@dataclass
class Conversation:
    """What two ends of a link say to each other on one stream."""

    link: LinkStatus
    stream: Stream
    durable: DurableSession
    queue: ArrivalQueue
    events: RunEvents
    attendance: Attendance
    lost: LostJournals

    def __post_init__(self) -> None:
        self._peer = self.link.peer
        self._told = {self._peer}  # who has come
        self._both_know = False  # that one of them cannot go on

    async def run(self, hello: Hello) -> None:
        """Until either end closes; `hello` is what the other end said."""
        words = self.lost.concerns(self.link, hello)
        halves = (self._send_words(), self._take_words()) if words else self._halves(hello)
        self.link.opened()
        self.events.is_well(self._peer)
        self.attendance.met(self._peer)
        self.events.changed()
        writing, reading = (asyncio.ensure_future(half) for half in halves)
        try:
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not reading.done():
                writing.result()
                await self._close()
                await asyncio.wait((reading,), timeout=CLOSING_SECONDS)
            for half in (reading, writing):
                if half.done():
                    half.result()
            if not words:
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

    async def _close(self) -> None:
        """Say that this was all. A sender breaks off instead, so that the other end stays, if its
        last message is not confirmed, or if the confirmation would not outlive a restart."""
        if self.link.role is Role.SENDER:
            if self.durable.is_unsure(self._peer):
                self.stream.break_off()
                return
            try:
                self.durable.keep_confirmations()
            except FileError:
                self.stream.break_off()
                raise
        await self.stream.finish()

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
                refused_by(chunk, self.events, self.lost)
            case Here() | Absence():
                self.attendance.take(chunk)
            case Word():
                self.lost.hear_stop(self._peer, chunk)
            case Lost(yours):
                if not yours:  # else it is for this end to find out, by numbers or by a proof
                    self.lost.hear_of(self._peer)
                raise BrokenError("one end cannot go on")
            case _:
                raise MessageError(f"something else than {expected}")

    async def _write(self, *parts: bytes | memoryview) -> None:
        await self.stream.write(*parts)
        self.link.bytes_written += sum(map(len, parts))

    # -- where one end cannot go on -----------------------------------------------------------

    async def _send_words(self) -> None:
        """What was said to all, as far as it is known; the numbered messages are over."""
        said: set[Chunk] = set()
        if (refusal := self.lost.refusals.get(self._peer)) is not None:
            await self._write(wire.encode(refusal))
        while True:
            self.link.wake.clear()
            known: list[Chunk] = [*self.lost.words(self._peer)]
            unsaid = [c for c in [*known, Lost(yours=self.lost.here is None)] if c not in said]
            for chunk in unsaid:  # the last of them: that was all so far
                said.add(chunk)
                await self._write(wire.encode(chunk))
            if unsaid:
                continue  # more may have come meanwhile, and nobody leaves before it is said
            self._close_if_settled()
            if await self._leaves():
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self.link.wake.wait(), _LOOK)

    def _close_if_settled(self) -> None:
        if self._both_know and self.lost.settled and not self.link.closed:
            self.link.closed = True
            self.events.changed()

    async def _take_words(self) -> None:
        while (data := await self.stream.read()) is not None:
            match wire.decode(data):
                case Word() as word:
                    self.lost.take(self._peer, word)
                case Lost(yours):
                    if yours and self.lost.here is None:
                        raise BrokenError("both ends say that the other cannot go on")
                    self._both_know = True
                    self.lost.reported(self._peer)
                    self.link.wake.set()
                case Refusal() as refusal if self.lost.here is None:
                    refused_by(refusal, self.events, self.lost)
                case _:
                    pass  # said before both ends knew

    # -- at the end that sends ----------------------------------------------------------------

    async def _send(self, start: int) -> None:
        link, outgoing, number = self.link, self.durable.outgoing[self._peer], start
        while True:
            link.wake.clear()
            while number < outgoing.next:
                for parts in outgoing.chunks(number):
                    await self._write(*parts)
                number += 1
            if self.durable.said_all(self._peer):
                return
            if await self._leaves():
                await self._last_confirmed()
                return
            await link.wake.wait()

    async def _last_confirmed(self) -> None:
        """Wait a moment, if only that is missing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                while self.durable.is_unsure(self._peer):
                    self.link.wake.clear()
                    await self.link.wake.wait()

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
