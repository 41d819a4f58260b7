"""Who has come and who will not, as parties tell each other beside the run's messages.

Both are for those who wait: nobody waits in the dark. That a party has come is passed on so that
only who is missing is named, and so that who dials it need not wait for its next try; nobody
computes with it. That a party does not take part ends the run of all who hear of it: each passes it
on before it leaves.
"""

# Rule 1: an absence counts under its party's own signature for this study and run, and only while
#         nothing of the run has come from that party, nor the party itself: what has begun goes on,
#         and who came after all is not sent away by what it said before.
# Rule 2: its reason is quoted as that party's words.
# Rule 3: nothing of this is kept: when everybody comes after all, the same run goes on.
# Rule 4: what is told is a sentence of `reasons`, never the error itself; and nothing at all where
#         the reason is in the rows: "do you have such a patient?" must not be answered.
# Rule 5: that a party has come is believed once: who says it again and again makes nobody dial.
# Rule 6: only who has not begun the run stays away from it: what has begun goes on with the same
#         command.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from titan.errors import AbsentError, MessageError, PeerError
from titan.party import wire
from titan.party.connection import StreamEndedError
from titan.party.ending import to_its_end
from titan.party.notices import quoted
from titan.party.proxies import DIRECTLY, Proxies
from titan.party.reasons import Reason
from titan.party.run import CONNECTING, DOES_NOT_TAKE_PART, RunProgress
from titan.party.run_events import LinkStatuses, RunEvents, link_statuses
from titan.party.streams import CLOSING_SECONDS, Dialler, Listener, NoConnectionError, Stream
from titan.party.wire import Absence, Here
from titan.study import Card, Identity, Study

SECONDS = 5.0  # to reach those who are there
_PAUSE = 0.2  # seconds between two tries to connect
_GRACE = 0.2  # seconds for handlers to end when the listener closes


@dataclass
class Attendance:
    """What one party knows of the others' coming; `begun` says who has told its nonce."""

    study: Study
    run: int
    me: str
    links: LinkStatuses
    events: RunEvents
    begun: Callable[[], Collection[str]]

    def __post_init__(self) -> None:
        self._names = self.study.network.parties
        self._came = {self.me}
        self._met: set[str] = set()  # who has connected here, whatever others say

    def met(self, peer: str) -> None:
        """It has said hello itself."""
        self._met.add(peer)
        self.came([peer])

    def came(self, names: Iterable[str]) -> None:
        """Somebody has; those who wait with this party are told."""
        new = set(names) - self._came
        if new:
            self._came |= new
            for link in self.links.values():
                link.wake.set()
                if link.peer in new:
                    link.peer_came.set()
            self.events.progressed()

    def unknown_to(self, told: set[str]) -> Here | None:
        """Who else has come than those that somebody was `told` of."""
        if len(told) == len(self._names):
            return None
        new = (self._came | set(self.begun())) - told
        return Here(tuple(sorted(map(self._names.index, new)))) if new else None

    def names(self, here: Here) -> list[str]:
        return [self._names[party] for party in here.parties]

    def take(self, chunk: Here | Absence) -> None:
        """What a neighbour says, of itself or of others."""
        most = max(chunk.parties) if isinstance(chunk, Here) else chunk.party
        if most >= len(self._names):
            raise MessageError(f"something said of party {most}")
        if isinstance(chunk, Here):
            self.came(self.names(chunk))
            return
        name = self._names[chunk.party]
        signed = _data(self.study, self.run, chunk.party, chunk.reason)
        if not self.study.parties[chunk.party].verify(chunk.signature, signed):
            raise MessageError(f"an absence that {name} did not sign for this run")
        if name in self.begun():
            raise MessageError(f"an absence of {name}, who has begun")
        if name in self._met:
            raise MessageError(f"an absence of {name}, who has come")
        self.events.last_words = wire.encode(chunk)
        self.events.fail(
            AbsentError(
                f"{name} {DOES_NOT_TAKE_PART}: {quoted(chunk.reason)}",
                hint=f"talk to {name}; if it comes after all, the same command takes part again",
            )
        )

    def named(self, progress: RunProgress) -> RunProgress:
        """Who is there; and while the parties come, for whom it waits is who is not."""
        up = {link.peer for link in self.links.values() if link.up}
        gone = {link.peer for link in self.links.values()} - up
        came = (self._came | set(self.begun())) - gone
        progress = replace(progress, here=tuple(name for name in self._names if name in came))
        if progress.phase != CONNECTING:
            return progress
        missing = [n for n in progress.waiting if n in gone or n not in self._came]
        return replace(progress, waiting=missing or progress.waiting)


def absence(study: Study, identity: Identity, run: int, reason: str) -> Absence:
    """Signed, as this party tells it."""
    me = study.network.index(identity.name)
    return Absence(me, identity.sign(_data(study, run, me, reason)), reason)


def _data(study: Study, run: int, party: int, reason: str) -> bytes:
    numbers = run.to_bytes(4, "little") + party.to_bytes(4, "little")
    return b"titan ABSENCE\n" + bytes.fromhex(study.digest) + numbers + reason.encode()


# -- a party that does not take part ----------------------------------------------------------


class Absentee:
    """One party that stays away from a run, while it says so."""

    def __init__(
        self,
        study: Study,
        identity: Identity,
        run: int,
        reason: Reason,
        proxies: Proxies = DIRECTLY,
    ) -> None:
        self._study = study
        self._proxies = proxies
        self._identity = identity
        self._chunk = wire.encode(absence(study, identity, run, reason))
        self._links = list(link_statuses(study, identity.name).values())
        self._untold = {link.peer for link in self._links}
        self._all_told = asyncio.Event()

    async def tell(self, listen: str) -> None:
        """Until all neighbours were told, or for some seconds: not all need be there."""
        dialled = {link.peer for link in self._links if link.dials}
        tasks = [asyncio.ensure_future(self._dial(peer)) for peer in dialled]
        cards = [self._study.card(name) for name in sorted(self._untold - dialled)]
        listener: Listener | None = None
        try:
            if cards:
                with suppress(PeerError):  # the port is taken, and nothing is to be done about it
                    listener = Listener(self._identity, cards, listen, self._accept, lambda _: None)
                    await listener.start()
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self._all_told.wait()
        finally:
            await to_its_end(_close(tasks, listener))

    async def _accept(self, card: Card, stream: Stream) -> None:
        await self._say(card.name, stream)

    async def _dial(self, peer: str) -> None:
        dialler = Dialler(self._identity, self._study.card(peer), self._proxies)
        while peer in self._untold:
            with suppress(NoConnectionError):  # nobody answers there yet
                await dialler.stream(partial(self._say, peer))
            await asyncio.sleep(_PAUSE)

    async def _say(self, peer: str, stream: Stream) -> None:
        """Say it, and wait until the other end closes: then it has read it."""
        with suppress(TimeoutError, StreamEndedError):
            await stream.write(self._chunk)
            await stream.finish()
            async with asyncio.timeout(CLOSING_SECONDS):
                while await stream.read() is not None:
                    pass
        self._told(peer)

    def _told(self, peer: str) -> None:
        self._untold.discard(peer)
        if not self._untold:
            self._all_told.set()


async def _close(tasks: list[asyncio.Task[None]], listener: Listener | None) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if listener is not None:
        await listener.close(_GRACE)
