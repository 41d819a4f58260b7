"""From a link to an open stream: dialling or being dialled, hello, and who is turned away.

One end of a link dials, again and again with growing pauses; the other listens. Streams come and
go; what a link has carried is known by numbers, so a broken stream costs nothing but the time to
open it again.
"""

# Rule 1: nothing is said on a stream before both ends have said hello, and found each other to be
#         the other end of that very link.
# Rule 2: a peer's fault costs its stream, never the process.
# Rule 3: of two streams of one link the newer counts, and begins when the older takes nothing more.

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import NoReturn

import grpc
import grpc.aio

from titan.errors import MessageError
from titan.party import wire
from titan.party.conversation import FAREWELL, BrokenError, Conversation, refused_by
from titan.party.desk import Desk
from titan.party.greeting import Greeting
from titan.party.intake import Intake
from titan.party.line import Line, Lines
from titan.party.news import News
from titan.party.streams import Dialler, Listener, Stream, StreamEndedError, explained
from titan.party.wire import Hello, Refusal, Role
from titan.study import Card, Identity, Study

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0  # seconds between two tries to connect
_PATIENCE = 20.0  # seconds for a hello
_GRACE = 0.2  # seconds for handlers to end when the listener closes
_TURNED_AWAY = (
    "somebody dialled and did not get through TLS "
    "(none, another certificate than the study's, or a connection that broke)"
)


class Connections:
    """Opens the streams of one party's links, and keeps them open."""

    def __init__(
        self,
        study: Study,
        identity: Identity,
        greeting: Greeting,
        lines: Lines,
        desk: Desk,
        intake: Intake,
        news: News,
    ) -> None:
        self._study = study
        self._identity = identity
        self._greeting = greeting
        self._lines = lines
        self._desk = desk
        self._intake = intake
        self._news = news
        self._diallers: dict[str, Dialler] = {}
        self._listener: Listener | None = None

    async def listen(self, address: str) -> None:
        """Wait for those who dial this party, if there are any."""
        names = {line.peer for line in self._lines.values() if not line.dials}
        if names:
            cards = [self._study.card(name) for name in sorted(names)]
            self._listener = Listener(
                self._identity, cards, address, self._accept, self._note_turned_away
            )
            await self._listener.start()

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.close(_GRACE)
        for dialler in self._diallers.values():
            await dialler.close()

    # -- dialling -----------------------------------------------------------------------------

    async def dial(self, line: Line) -> None:
        """Keep a stream open, opening it again with growing pauses."""
        if line.peer not in self._diallers:
            card = self._study.card(line.peer)
            self._diallers[line.peer] = Dialler(self._identity, card)
        pause = _FIRST_PAUSE
        while not line.over:
            line.up = False
            before = self._moved(line), time.monotonic()
            await self._try(line)
            lasted = time.monotonic() - before[1] > _LONGEST_PAUSE
            if line.up and (lasted or self._moved(line) != before[0]):
                pause = _FIRST_PAUSE
            line.up = False
            if not line.over:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _moved(self, line: Line) -> int:
        """How many messages a link has carried; one that is refused again and again is not."""
        if line.role is Role.SENDER:
            return self._desk.outgoing[line.peer].first
        return self._desk.accepted(line.peer)

    async def _try(self, line: Line) -> None:
        async def converse(stream: Stream) -> None:
            await stream.write(wire.encode(self._hello(line)))
            hello = await self._first(line.peer, stream)
            refusal = self._refusal(line.peer, hello, line)
            if refusal is not None:
                await _turn_away(stream, refusal)
            await self._converse(line, stream, hello)

        line.conversation = asyncio.ensure_future(self._diallers[line.peer].stream(converse))
        try:
            await line.conversation
        except grpc.aio.AioRpcError as error:
            self._note(line, explained(error))
        except (MessageError, BrokenError, StreamEndedError, TimeoutError) as error:
            self._desk.refused += isinstance(error, MessageError)
            self._note(line, str(error) or "it did not say hello")
        except asyncio.CancelledError:
            if not line.conversation.cancelled():  # it is this dialling that was cancelled
                line.conversation.cancel()
                raise
        finally:
            line.conversation = None

    def _note(self, line: Line, trouble: str) -> None:
        if trouble != line.trouble:
            line.trouble = trouble
            self._news.tell_once(line.peer, trouble)
            self._news.changed()

    # -- being dialled ------------------------------------------------------------------------

    async def _accept(self, card: Card, stream: Stream) -> None:
        """A party of the study dialled: which link is it about, and may it?"""
        try:
            hello = await self._first(card.name, stream)
            line = self._dialled_line(card, hello)
            refusal = self._refusal(card.name, hello, line)
            if refusal is not None or line is None:
                reason = refusal or Refusal(f"no such link with {card.name}")
                self._note_refused(card.name, reason)
                await stream.write(wire.encode(reason))
                return
            await self._replace(line, stream, hello)
        except (MessageError, BrokenError, TimeoutError) as error:
            self._desk.refused += isinstance(error, MessageError)
            self._news.tell_once(card.name, str(error) or "it did not say hello")
        except (grpc.aio.AioRpcError, StreamEndedError):
            pass  # it went away; it will dial again
        except Exception as error:  # gRPC would only log it, and the run would wait in vain
            self._news.fail(error)

    def _note_refused(self, peer: str, refusal: Refusal) -> None:
        text = f"refused: {refusal.reason}"
        self._news.tell_once(peer, text)
        for line in self._lines.values():
            if line.peer == peer and not line.up:
                line.trouble = text

    def _note_turned_away(self) -> None:
        """Who it wanted to be is not known, but can only be one of those who are awaited."""
        missing = [line for line in self._lines.values() if not line.dials and not line.up]
        for line in missing:
            line.trouble = line.trouble or _TURNED_AWAY
        names = " or ".join(sorted({line.peer for line in missing}))
        self._news.tell_once(names or "nobody who is awaited", _TURNED_AWAY)

    def _dialled_line(self, card: Card, hello: Hello) -> Line | None:
        """The link that a dialler speaks of, if it is that party's to dial."""
        ends = (card.name, self._identity.name)
        line = self._lines.get(ends if hello.role is Role.SENDER else ends[::-1])
        return None if line is None or line.dials else line

    async def _replace(self, line: Line, stream: Stream, hello: Hello) -> None:
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
        self, old: asyncio.Task[None] | None, line: Line, stream: Stream, hello: Hello
    ) -> None:
        """Say hello once the old stream takes nothing any more: it says what is expected next."""
        if old is not None:
            old.cancel()
            await asyncio.wait((old,))
        await stream.write(wire.encode(self._hello(line)))
        await self._converse(line, stream, hello)

    # -- hello --------------------------------------------------------------------------------

    def _hello(self, line: Line) -> Hello:
        if line.role is Role.SENDER:
            return self._greeting.hello(line.role, line.peer)
        incoming = self._desk.incoming[line.peer]
        incoming.restart()
        return self._greeting.hello(line.role, line.peer, incoming.expected)

    async def _first(self, peer: str, stream: Stream) -> Hello:
        """What the other end says first, which must be hello."""
        async with asyncio.timeout(_PATIENCE):
            data = await stream.read()
        if data is None:
            raise BrokenError("it went away at once")
        chunk = wire.decode(data)
        if isinstance(chunk, Refusal):
            refused_by(peer, chunk, self._news)
        if not isinstance(chunk, Hello):
            raise MessageError("the first chunk was no hello")
        return chunk

    def _refusal(self, peer: str, hello: Hello, line: Line | None) -> Refusal | None:
        role = line.role if line is not None else hello.role
        return self._greeting.refusal(hello, peer, role, self._desk.journal)

    async def _converse(self, line: Line, stream: Stream, hello: Hello) -> None:
        await Conversation(line, stream, self._desk, self._intake, self._news).run(hello)


async def _turn_away(stream: Stream, refusal: Refusal) -> NoReturn:
    """At the end that dialled: say why, and leave the other time to read it."""
    await stream.write(wire.encode(refusal))
    await stream.finish()
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL):
            await stream.read()
    raise BrokenError(f"refused: {refusal.reason}")
