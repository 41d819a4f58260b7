"""A party at work: one stream per link, everything through the desk, waiting where it must.

Streams come and go; what a link has carried is known by numbers, so a broken stream costs nothing
but the time to open it again. Whatever arrives in one turn of the event loop is taken in together,
in one transaction.
"""

# Rule 1: only the desk decides what is taken and what may leave.
# Rule 2: a peer's fault costs its stream, never the process. What is wrong here, or with the run,
#         ends the run with an error.
# Rule 3: the clock is the machine's monotonic one, and all it decides is when to give up waiting.

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
import grpc.aio

from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.desk import Arrival, Desk
from titan.party.greeting import Greeting
from titan.party.standing import Standing
from titan.party.streams import Dialler, Listener, Stream, StreamEndedError, explained
from titan.party.wire import Ack, Hello, Piece, Refusal, Role
from titan.study import Card, Identity, Link, Study

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0  # seconds between two tries to connect
_PATIENCE = 20.0  # seconds for a hello
_FAREWELL = 1.0  # seconds for the other end to close its side


@dataclass
class Watch:
    """Whom to tell what happens: `progress` often, `tell` when something is worth a line."""

    tell: Callable[[str], None] = lambda _: None
    progress: Callable[[Standing], None] = lambda _: None


@dataclass(eq=False)
class _Line:
    """One link as seen from here: whether it is up, and what was wrong last."""

    peer: str
    role: Role
    up: bool = False
    ever_up: bool = False
    closed: bool = False
    """Both ends know that nothing more will come along this link."""
    trouble: str = ""
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    """Something is to be sent or acknowledged."""
    conversation: asyncio.Task[None] | None = None


class _BrokenError(Exception):
    """This stream is of no more use; the link will get another."""


class Engine:
    """Runs one party's links until told to stop; an asynchronous context manager."""

    def __init__(
        self,
        study: Study,
        identity: Identity,
        desk: Desk,
        greeting: Greeting,
        *,
        listen: str,
        watch: Watch,
        standing: Callable[[], Standing],
    ) -> None:
        self._study = study
        self._identity = identity
        self._desk = desk
        self._greeting = greeting
        self._listen = listen
        self._tell = watch.tell
        self._watch = watch
        self._standing = standing
        me = identity.name
        self._lines = {
            (link.sender, link.receiver): _Line(
                link.receiver if link.sender == me else link.sender,
                Role.SENDER if link.sender == me else Role.RECEIVER,
            )
            for link in study.links
            if me in (link.sender, link.receiver)
        }
        self._links = [link for link in study.links if me in (link.sender, link.receiver)]
        self._tasks: list[asyncio.Task[None]] = []
        self._diallers: dict[str, Dialler] = {}
        self._listener: Listener | None = None
        self._arrivals: list[Arrival] = []
        self._arrived = asyncio.Event()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._told: dict[str, str] = {}  # what was said last of whom
        self._leaving = False
        self._heard = time.monotonic()
        self.bytes_written = 0

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Engine:
        dialled_by = {link.dialler for link in self._links} - {self._identity.name}
        if dialled_by:
            cards = [self._study.card(name) for name in sorted(dialled_by)]
            self._listener = Listener(self._identity, cards, self._listen, self._accept)
            await self._listener.start()
        self._spawn(self._work())
        for link in self._links:
            if link.dialler == self._identity.name:
                self._spawn(self._dial(link))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leaving = True
        for line in self._lines.values():
            line.stirred.set()
        conversations = [line.conversation for line in self._lines.values() if line.conversation]
        if conversations and self._failure is None:
            await asyncio.wait(conversations, timeout=2 * _FAREWELL)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listener is not None:
            await self._listener.close(0.2)
        for dialler in self._diallers.values():
            await dialler.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._note_failure)
        self._tasks.append(task)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._fail(task.exception())

    def _fail(self, error: BaseException | None) -> None:
        if self._failure is None and isinstance(error, Exception):
            self._failure = error
        self._changed.set()

    async def until(self, condition: Callable[[], bool], wait: float) -> None:
        """Take part until something holds; PeerError after `wait` seconds without news."""
        self._heard = time.monotonic()
        while True:
            if self._failure is not None:
                raise self._failure
            if condition():
                return
            left = self._heard + wait - time.monotonic()
            if left <= 0:
                raise self._waited_in_vain(wait)
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):  # wait_for of 3.11 may swallow an interrupt
                    await self._changed.wait()

    @property
    def connected(self) -> bool:
        """Every link has been up."""
        return all(line.ever_up for line in self._lines.values())

    @property
    def closed(self) -> bool:
        """Nobody will say anything more, and everybody knows."""
        return all(line.closed for line in self._lines.values())

    def stir(self) -> None:
        """Something was put out."""
        for line in self._lines.values():
            line.stirred.set()

    def _news(self) -> None:
        self._heard = time.monotonic()
        self._watch.progress(self._standing())
        self._changed.set()

    def _waited_in_vain(self, wait: float) -> PeerError:
        standing = self._standing()
        troubles = [f"{n}: {why}" for n, why in self._troubles(standing.waiting)]
        return PeerError(
            f"nothing came for {wait:g} seconds ({standing})"
            + (f"; {'; '.join(troubles)}" if troubles else ""),
            hint="there is no answer, and the journal is kept: the same command goes on from here",
        )

    def _troubles(self, first: Sequence[str]) -> list[tuple[str, str]]:
        """Whose link is down, and why; those who are waited for come first."""
        found = {line.peer: line.trouble for line in self._lines.values() if not line.up}
        order = [n for n in first if n in found] + [n for n in found if n not in first]
        return [(name, found[name] or "no connection yet") for name in order]

    # -- taking in ----------------------------------------------------------------------------

    async def _work(self) -> None:
        """Hand over to the desk whatever has arrived, many messages at a time."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            arrivals, self._arrivals = self._arrivals, []
            before = self._accepted()
            for refused in self._desk.accept(arrivals):
                self._tell(f"{refused.peer}: message {refused.number} refused: {refused.reason}")
                self._break_off(refused.peer, refused.reason)
            del arrivals
            if self._accepted() != before:  # what is refused again and again is no news
                self.stir()
                self._news()

    def _accepted(self) -> list[int]:
        return [self._desk.accepted(peer) for peer in self._desk.incoming]

    def _break_off(self, sender: str, reason: str) -> None:
        line = self._lines[sender, self._identity.name]
        line.trouble = reason
        if line.conversation is not None:
            line.conversation.cancel()

    # -- connecting ---------------------------------------------------------------------------

    async def _dial(self, link: Link) -> None:
        """Keep a stream open, opening it again with growing pauses."""
        line = self._lines[link.sender, link.receiver]
        if line.peer not in self._diallers:
            card = self._study.card(line.peer)
            self._diallers[line.peer] = Dialler(self._identity, card)
        pause = _FIRST_PAUSE
        while not (self._leaving or line.closed):
            line.up = False
            before = self._moved(line), time.monotonic()
            await self._try(line)
            lasted = time.monotonic() - before[1] > _LONGEST_PAUSE
            if line.up and (lasted or self._moved(line) != before[0]):
                pause = _FIRST_PAUSE
            line.up = False
            if not (self._leaving or line.closed):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _moved(self, line: _Line) -> int:
        """How many messages a link has carried; one that is refused again and again is not."""
        if line.role is Role.SENDER:
            return self._desk.outgoing[line.peer].first
        return self._desk.accepted(line.peer)

    async def _try(self, line: _Line) -> None:
        async def converse(stream: Stream) -> None:
            await stream.write(wire.encode(self._hello(line)))
            hello = await self._first(line.peer, stream)
            refusal = self._refusal(line.peer, hello, line)
            if refusal is not None:
                await self._turn_away(stream, refusal)
            await self._converse(line, stream, hello)

        line.conversation = asyncio.ensure_future(self._diallers[line.peer].stream(converse))
        try:
            await line.conversation
        except grpc.aio.AioRpcError as error:
            self._note(line, explained(error))
        except (MessageError, _BrokenError, StreamEndedError, TimeoutError) as error:
            self._desk.refused += isinstance(error, MessageError)
            self._note(line, str(error) or "it did not say hello")
        except asyncio.CancelledError:
            if not line.conversation.cancelled():  # it is this dialling that was cancelled
                line.conversation.cancel()
                raise
        finally:
            line.conversation = None

    async def _accept(self, card: Card, stream: Stream) -> None:
        """A party of the study dialled: which link is it about, and may it?"""
        try:
            hello = await self._first(card.name, stream)
            line = self._dialled_line(card, hello)
            refusal = self._refusal(card.name, hello, line)
            if refusal is not None or line is None:
                reason = refusal or Refusal(f"no such link with {card.name}")
                self._tell_once(card.name, f"refused: {reason.reason}")
                await stream.write(wire.encode(reason))
                return
            await self._replace(line, stream, hello)
        except (MessageError, _BrokenError, TimeoutError) as error:
            self._desk.refused += isinstance(error, MessageError)
            self._tell_once(card.name, str(error) or "it did not say hello")
        except (grpc.aio.AioRpcError, StreamEndedError):
            pass  # it went away; it will dial again

    async def _replace(self, line: _Line, stream: Stream, hello: Hello) -> None:
        """The newest stream is the one that counts; an older one may be half dead."""
        mine = asyncio.ensure_future(self._take_over(line.conversation, line, stream, hello))
        line.conversation = mine
        try:
            await mine
        except asyncio.CancelledError:
            mine.cancel()
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
        finally:
            if line.conversation is mine:
                line.conversation, line.up = None, False

    async def _take_over(
        self, old: asyncio.Task[None] | None, line: _Line, stream: Stream, hello: Hello
    ) -> None:
        """Say hello once the old stream takes nothing any more: it says what is expected next."""
        if old is not None:
            old.cancel()
            await asyncio.wait((old,))
        await stream.write(wire.encode(self._hello(line)))
        await self._converse(line, stream, hello)

    def _dialled_line(self, card: Card, hello: Hello) -> _Line | None:
        """The link that a dialler speaks of, if it is that party's to dial."""
        ends = (card.name, self._identity.name)
        pair = ends if hello.role is Role.SENDER else ends[::-1]
        if pair not in self._lines or self._study.dialler(pair) != card.name:
            return None
        return self._lines[pair]

    def _hello(self, line: _Line) -> Hello:
        if line.role is Role.SENDER:
            return self._greeting.hello(line.role, line.peer)
        incoming = self._desk.incoming[line.peer]
        incoming.restart()
        return self._greeting.hello(line.role, line.peer, incoming.expected)

    def _refusal(self, peer: str, hello: Hello, line: _Line | None) -> Refusal | None:
        role = line.role if line is not None else hello.role
        return self._greeting.refusal(hello, peer, role, self._desk.journal)

    async def _turn_away(self, stream: Stream, refusal: Refusal) -> NoReturn:
        """At the end that dialled: say why, and leave the other time to read it."""
        await stream.write(wire.encode(refusal))
        await stream.finish()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await stream.read()
        raise _BrokenError(f"refused: {refusal.reason}")

    async def _first(self, peer: str, stream: Stream) -> Hello:
        async with asyncio.timeout(_PATIENCE):
            data = await stream.read()
        if data is None:
            raise _BrokenError("it went away at once")
        chunk = wire.decode(data)
        if isinstance(chunk, Refusal):
            self._refused_by(peer, chunk)
        if not isinstance(chunk, Hello):
            raise MessageError("the first chunk was no hello")
        return chunk

    def _refused_by(self, peer: str, refusal: Refusal) -> NoReturn:
        if refusal.final:
            self._fail(PeerError(f"{peer} refuses this party: {refusal.reason}"))
        raise _BrokenError(f"it refuses this party: {refusal.reason}")

    def _note(self, line: _Line, trouble: str) -> None:
        if trouble != line.trouble:
            line.trouble = trouble
            self._tell_once(line.peer, trouble)
            self._changed.set()

    def _tell_once(self, peer: str, text: str) -> None:
        """Whoever tries again every few seconds is not worth a line each time."""
        if self._told.get(peer) != text:
            self._told[peer] = text
            self._tell(f"{peer}: {text}")

    # -- conversing ---------------------------------------------------------------------------

    async def _converse(self, line: _Line, stream: Stream, hello: Hello) -> None:
        """Both have said hello: messages one way, acknowledgements the other."""
        if line.role is Role.SENDER:
            start = self._desk.outgoing[line.peer].start(hello.expects)
            halves = self._send(line, stream, start), self._take_acks(line, stream)
        else:
            halves = self._send_acks(line, stream), self._take_pieces(line, stream)
        line.up = line.ever_up = True
        line.trouble = ""
        self._told.pop(line.peer, None)
        self._changed.set()
        writing, reading = (asyncio.ensure_future(half) for half in halves)
        try:
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not reading.done():
                writing.result()
                await stream.finish()
                await asyncio.wait((reading,), timeout=_FAREWELL)
            for half in (reading, writing):
                if half.done():
                    half.result()
            if line.role is Role.RECEIVER:  # a sender closes when its last message is confirmed
                line.closed = self._desk.heard_all(line.peer)
                self._changed.set()
        finally:
            writing.cancel()
            reading.cancel()
            await asyncio.gather(writing, reading, return_exceptions=True)

    async def _write(self, stream: Stream, chunk: bytes) -> None:
        await stream.write(chunk)
        self.bytes_written += len(chunk)

    async def _send(self, line: _Line, stream: Stream, start: int) -> None:
        outgoing, number = self._desk.outgoing[line.peer], start
        while True:
            line.stirred.clear()
            while number < outgoing.next:
                for chunk in outgoing.chunks(number):
                    await self._write(stream, chunk)
                number += 1
            if self._leaving or self._desk.said_all(line.peer):
                return
            await line.stirred.wait()

    async def _take_acks(self, line: _Line, stream: Stream) -> None:
        while (data := await stream.read()) is not None:
            match wire.decode(data):
                case Ack(next_):
                    if self._desk.acknowledged(line.peer, next_):
                        line.closed = self._desk.said_all(line.peer)
                        line.stirred.set()
                        self._news()
                case Refusal() as refusal:
                    self._refused_by(line.peer, refusal)
                case _:
                    raise MessageError("something else than an acknowledgement")

    async def _take_pieces(self, line: _Line, stream: Stream) -> None:
        incoming = self._desk.incoming[line.peer]
        while (data := await stream.read()) is not None:
            match wire.decode(data):
                case Piece() as piece:
                    number, message = incoming.expected, incoming.take(piece)
                    if message is None:
                        self._heard = time.monotonic()  # a long message is on its way
                    else:
                        self._arrivals.append(Arrival(line.peer, number, message))
                        self._arrived.set()
                case Refusal() as refusal:
                    self._refused_by(line.peer, refusal)
                case _:
                    raise MessageError("something else than a piece of a message")

    async def _send_acks(self, line: _Line, stream: Stream) -> None:
        told = -1
        while True:
            line.stirred.clear()
            if self._desk.accepted(line.peer) > told:
                told = self._desk.accepted(line.peer)
                await self._write(stream, wire.encode(Ack(told)))
            if self._leaving:
                return
            await line.stirred.wait()
