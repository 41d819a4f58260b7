"""From a link to an open stream: dialling or being dialled, hello, and who is turned away.

One end of a link dials, again and again with growing pauses, and at once when it hears from others
that the party has come; the other listens. Streams come and go; what a link has carried is known by
numbers, so a broken stream costs nothing but the time to open it again.
"""

# Rule 1: nothing is said on a stream before both ends have said hello, and found each other to be
#         the other end of that very link.
# Rule 2: a peer's fault costs its stream, never the process.
# Rule 3: of two streams of one link the newer counts, and begins when the older takes nothing more.

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

from titan.errors import MessageError, PeerError, WaitError
from titan.party import wire
from titan.party.addresses import TRIES, TRY_AGAIN
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.connection import LOST, StreamEndedError
from titan.party.conversation import BrokenError, Conversation, refused_by
from titan.party.durable_session import DurableSession
from titan.party.lost_journals import LostJournals
from titan.party.messages import NONCE, Told
from titan.party.notices import quoted
from titan.party.proxies import DIRECTLY, Proxies
from titan.party.run import ANOTHER_STUDY, Run
from titan.party.run_events import LinkStatus, LinkStatuses, RunEvents
from titan.party.signed_broadcast import signed_data
from titan.party.streams import (
    CLOSING_SECONDS,
    Dialler,
    Listener,
    NoConnectionError,
    Stream,
)
from titan.party.wire import NO_PROOF, Absence, Hello, OtherVersionError, Refusal, Role
from titan.study import Card, Identity, Study
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.journal import Journal
from titan.study.run_state import lost_journal

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0  # seconds between two tries to connect
_NOBODY_THERE = 0.3  # who comes last waits for the others' next try where nobody tells them
_PATIENCE = 20.0  # seconds for a hello
_GRACE = 0.2  # seconds for handlers to end when the listener closes
_WENT_AWAY = (LOST, "the connection was closed")
_TURNED_AWAY = (
    "somebody dialled and did not get through TLS "
    "(none, another certificate than the study's, or a connection that broke)"
)


@dataclass(frozen=True)
class Handshake:
    """What this party says of itself, and expects of others."""

    run: Run
    plan: str

    def hello(self, role: Role, peer: str, expects: int = 0) -> Hello:
        run = self.run
        return Hello(role, run.study, run.number, run.nonce, expects, run.name, peer, self.plan)

    def refusal(self, hello: Hello, peer: str, role: Role, journal: Journal) -> Refusal | None:
        """Why `hello`, under the certificate of `peer`, is not the other end of this link."""
        run = self.run
        if hello.study != run.study:
            said, own = hello.study.hex()[:12], run.study.hex()[:12]
            return Refusal(f"{ANOTHER_STUDY}: fingerprint {said}…, not {own}…")
        if hello.run != run.number:
            return Refusal(
                f"run {hello.run} is asked for there, and run {run.number} here; agree on one"
            )
        if (hello.name, hello.peer) != (peer, run.name) or hello.role == role:
            return Refusal(f"no such link with {peer}")
        if hello.plan != self.plan:
            return Refusal(
                f"the two parties would make different sums, here ({self.plan}) and there "
                f"({quoted(hello.plan)}); use one version of titan"
            )
        state = journal.state
        known = state.nonces.get(peer, hello.nonce) if state else hello.nonce
        if known != hello.nonce:
            reason = lost_journal(peer, run.number).message
            return Refusal(reason, final=True, proof=self._proof(peer, journal))
        return None

    def other_version(self, peer: str, version: int) -> Refusal:
        """Why nothing more of what `peer` says is read; it can read this, whatever its version."""
        return Refusal(
            f"{peer} speaks version {version} of titan's messages, and {self.run.name} version "
            f"{wire.VERSION}; use one version of titan"
        )

    def _proof(self, peer: str, journal: Journal) -> bytes:
        """The nonce that `peer` told before, under its signature."""
        origin = self.run.network.index(peer)
        several = (Told.decode_all(NONCE, frame.body) for frame in journal.incoming(NONCE))
        told = (t for each in several for t in each if t.origin == origin)
        return next((t.signature + t.content for t in told), NO_PROOF)

    def began_before(self, card: Card, proof: bytes) -> PeerError | None:
        """Where this party, whose card it is, has told another nonce for this run before."""
        signature, nonce = proof[:SIGNATURE_BYTES], proof[SIGNATURE_BYTES:]
        data = signed_data(NONCE, self.run.context, self.run.party, nonce)
        proven = nonce != self.run.nonce and card.verify(signature, data)
        return lost_journal(self.run.name, self.run.number) if proven else None


@dataclass
class Connections:
    """Opens the streams of one party's links, and keeps them open."""

    study: Study
    identity: Identity
    handshake: Handshake
    links: LinkStatuses
    durable: DurableSession
    queue: ArrivalQueue
    events: RunEvents
    attendance: Attendance
    lost: LostJournals
    proxies: Proxies = DIRECTLY
    _diallers: dict[str, Dialler] = field(default_factory=dict)
    _listener: Listener | None = None

    async def _listening(self, cards: list[Card], address: str) -> Listener:
        """A port may be taken for a moment yet by the run that just ended here."""
        for _ in range(TRIES - 1):
            try:
                return self._listener_at(cards, address)
            except WaitError:  # a name that cannot be looked up, for which much time may have gone
                raise
            except PeerError:
                await asyncio.sleep(TRY_AGAIN)
        return self._listener_at(cards, address)

    def _listener_at(self, cards: list[Card], address: str) -> Listener:
        away = self._note_turned_away
        heard = self._accept, away, self._note_crowd, self.events.fail, away
        return Listener(self.identity, cards, address, *heard)

    async def listen(self, address: str) -> None:
        """Wait for those who dial this party, if there are any."""
        names = {link.peer for link in self.links.values() if not link.dials}
        if names:
            cards = [self.study.card(name) for name in sorted(names)]
            self._listener = await self._listening(cards, address)
            await self._listener.start()
            if self._listener.places != [address]:
                places = " and ".join(self._listener.places)
                self.events.tell_once(
                    self.identity.name, f"listening at {places}", "listening", level="info"
                )

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.close(_GRACE)

    # -- dialling -----------------------------------------------------------------------------

    async def dial(self, link: LinkStatus) -> None:
        """Keep a stream open, opening it again with growing pauses."""
        if link.peer not in self._diallers:
            self._diallers[link.peer] = self._dialler(self.study.card(link.peer))
        pause = _FIRST_PAUSE
        while not link.over:
            link.up = False
            before = self._moved(link), time.monotonic()
            await self._try(link)
            lasted = time.monotonic() - before[1] > _LONGEST_PAUSE
            if link.up and (lasted or self._moved(link) != before[0]):
                pause = _FIRST_PAUSE
            longest = _LONGEST_PAUSE if link.up else _NOBODY_THERE
            link.up = False
            if not link.over:
                await self._pause(link, min(pause, longest))
                pause = min(2 * pause, longest)

    async def _pause(self, link: LinkStatus, seconds: float) -> None:
        """Before the next try; it ends when others say that the party has come."""
        waits = asyncio.sleep(seconds), link.peer_came.wait()
        over, hears = (asyncio.ensure_future(each) for each in waits)
        try:
            await asyncio.wait((over, hears), return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            hears.cancel()
        link.peer_came.clear()

    def _dialler(self, card: Card) -> Dialler:
        dialler, warning = (
            Dialler(self.identity, card, self.proxies),
            self.proxies.warning(card.address),
        )
        if dialler.proxy is not None:
            text = f"dialled through the proxy {dialler.proxy}"
            self.events.tell_once(card.name, text, "proxy", level="info")
        elif warning:
            self.events.tell_once(card.name, f"dialled directly: {warning}", "proxy")
        return dialler

    def _moved(self, link: LinkStatus) -> int:
        """How many messages a link has carried; one that is refused again and again is not."""
        if link.role is Role.SENDER:
            return self.durable.outgoing[link.peer].first
        return self.durable.accepted[link.peer]

    async def _try(self, link: LinkStatus) -> None:
        async def converse(stream: Stream) -> None:
            await stream.write(wire.encode(self._hello(link)))
            try:
                hello = await self._first(link.peer, stream)
            except OtherVersionError as error:
                await _turn_away(stream, self.handshake.other_version(link.peer, error.version))
            refusal = self._refusal(link.peer, hello, link)
            if refusal is not None:
                await _turn_away(stream, refusal)
            await self._converse(link, stream, hello)

        dialler = self._diallers[link.peer]
        link.conversation = asyncio.ensure_future(dialler.stream(converse))
        try:
            await link.conversation
        except (
            MessageError,
            BrokenError,
            NoConnectionError,
            StreamEndedError,
            TimeoutError,
        ) as error:
            self.durable.refused += isinstance(error, MessageError)
            self._note(link, str(error) or "it did not say hello")
        except asyncio.CancelledError:
            if not link.conversation.cancelled():  # it is this dialling that was cancelled
                link.conversation.cancel()
                raise
        finally:
            link.conversation = None

    def _note(self, link: LinkStatus, trouble: str) -> None:
        if trouble != link.trouble:
            link.note(trouble)
            self.events.tell_once(link.peer, trouble)
            self.events.changed()

    # -- being dialled ------------------------------------------------------------------------

    async def _accept(self, card: Card, stream: Stream) -> None:
        """A party of the study dialled: which link is it about, and may it?"""
        try:
            hello = await self._first(card.name, stream)
            link = self._dialled_link(card, hello)
            refusal = self._refusal(card.name, hello, link)
            if refusal is not None:
                await self._refuse(card.name, stream, refusal)
            elif link is not None:
                await self._replace(link, stream, hello)
        except OtherVersionError as error:
            with suppress(StreamEndedError):
                refusal = self.handshake.other_version(card.name, error.version)
                await self._refuse(card.name, stream, refusal)
        except (MessageError, BrokenError, TimeoutError) as error:
            self.durable.refused += isinstance(error, MessageError)
            text = str(error) or "it did not say hello"
            self.events.tell_once(card.name, text, "stream", address=stream.address)
        except StreamEndedError as error:
            if str(error) not in _WENT_AWAY:  # else it will dial again
                self.events.tell_once(card.name, str(error), "stream", address=stream.address)
        except Exception as error:  # else the run would wait in vain
            self.events.fail(error)

    async def _refuse(self, peer: str, stream: Stream, refusal: Refusal) -> None:
        text = f"refused: {refusal.reason}"
        self.events.tell_once(peer, text, "refused", address=stream.address)
        for link in self.links.values():
            if link.peer == peer and not link.up:
                link.note(text)
        await stream.write(wire.encode(refusal))

    def _note_turned_away(self, address: str, out_of_date: str = "") -> None:
        """Who it wanted to be is not known, but can only be one of those who are awaited."""
        text = f"somebody dialled: {out_of_date}" if out_of_date else _TURNED_AWAY
        missing = [link for link in self.links.values() if not link.dials and not link.up]
        for link in missing:
            link.trouble = link.trouble or text
        names = " or ".join(sorted({link.peer for link in missing}))
        awaited = f"; {names} is awaited" if names else ""
        self.events.tell_once(address, text + awaited, "stranger", address=address)

    def _note_crowd(self, address: str) -> None:
        text = "has many connections open that say nothing: some are ended"
        self.events.tell_once(address, text, "stranger", address=address)

    def _dialled_link(self, card: Card, hello: Hello) -> LinkStatus | None:
        """The link that a dialler speaks of, if it is that party's to dial."""
        ends = (card.name, self.identity.name)
        link = self.links.get(ends if hello.role is Role.SENDER else ends[::-1])
        return None if link is None or link.dials else link

    async def _replace(self, link: LinkStatus, stream: Stream, hello: Hello) -> None:
        """The newest stream is the one that counts; an older one may be half dead."""
        mine = asyncio.ensure_future(self._take_over(link.conversation, link, stream, hello))
        link.conversation = mine
        try:
            await mine
        except asyncio.CancelledError:
            mine.cancel()
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
        finally:
            if link.conversation is mine:
                link.conversation, link.up = None, False

    async def _take_over(
        self, old: asyncio.Task[None] | None, link: LinkStatus, stream: Stream, hello: Hello
    ) -> None:
        """Say hello once the old stream takes nothing any more: it says what is expected next."""
        if old is not None:
            old.cancel()
            await asyncio.wait((old,))
        await stream.write(wire.encode(self._hello(link)))
        await self._converse(link, stream, hello)

    # -- hello --------------------------------------------------------------------------------

    def _hello(self, link: LinkStatus) -> Hello:
        if link.role is Role.SENDER:
            confirmed = self.durable.outgoing[link.peer].first
            return self.handshake.hello(link.role, link.peer, confirmed)
        incoming = self.durable.incoming[link.peer]
        incoming.restart()
        return self.handshake.hello(link.role, link.peer, incoming.expected)

    async def _first(self, peer: str, stream: Stream) -> Hello:
        """What the other end says first, which must be hello."""
        async with asyncio.timeout(_PATIENCE):
            data = await stream.read()
        if data is None:
            raise BrokenError("it went away at once")
        chunk = wire.decode(data)
        if isinstance(chunk, Refusal):
            refused_by(chunk, self.events, self.lost)
        if isinstance(chunk, Absence):
            self.attendance.take(chunk)
            raise BrokenError("it does not take part")
        if not isinstance(chunk, Hello):
            raise MessageError("the first chunk was not a hello")
        return chunk

    def _refusal(self, peer: str, hello: Hello, link: LinkStatus | None) -> Refusal | None:
        role = link.role if link is not None else hello.role  # which no link has at both ends
        refusal = self.handshake.refusal(hello, peer, role, self.durable.journal)
        if refusal is None or not refusal.final:
            return refusal
        self.events.tell_once(peer, f"refused: {refusal.reason}", "refused")
        self.lost.refuse(peer, refusal)
        return None  # it is told so, and nothing but words is exchanged

    async def _converse(self, link: LinkStatus, stream: Stream, hello: Hello) -> None:
        parts = self.durable, self.queue, self.events, self.attendance, self.lost
        await Conversation(link, stream, *parts).run(hello)


async def _turn_away(stream: Stream, refusal: Refusal) -> NoReturn:
    """At the end that dialled: say why, and leave the other time to read it."""
    await stream.write(wire.encode(refusal))
    await stream.finish()
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSING_SECONDS):
            await stream.read()
    raise BrokenError(f"refused: {refusal.reason}")
