"""A party that does not take part tells its neighbours, who tell theirs: nobody waits in the dark.

It dials and listens as if it took part, says that one sentence to whoever is there, and leaves.
"""

# Rule 1: what is told is a sentence of this file, never the error itself; and nothing at all where
#         the reason is in the rows: "do you have such a patient?" must not be answered.
# Rule 2: only who has not begun the run stays away from it: what has begun goes on with the same
#         command.

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial

import grpc
import grpc.aio

from titan.errors import PeerError, TitanError
from titan.party import wire
from titan.party.attendance import absence
from titan.party.conversation import CLOSING_SECONDS
from titan.party.link_status import link_statuses
from titan.party.streams import Dialler, Listener, Stream, StreamEndedError
from titan.study import Card, Identity, Study

SECONDS = 5.0  # to reach those who are there
_PAUSE = 0.2  # seconds between two tries to connect
_GRACE = 0.2  # seconds for handlers to end when the listener closes


class Reason(StrEnum):
    """Why a party does not take part, as far as others are told."""

    DECLINED = "its people declined"
    FILE = "its file of rows does not fit the study"
    LEDGER = "its ledger refuses the study"
    STUDY = "its check of the study found a problem"


@contextmanager
def told_as(reason: Reason) -> Iterator[None]:
    """What goes wrong inside may be told to others, in these words."""
    try:
        yield
    except TitanError as error:
        error.to_others = reason
        raise


class Absentee:
    """One party that stays away from a run, while it says so."""

    def __init__(self, study: Study, identity: Identity, run: int, reason: Reason) -> None:
        self._study = study
        self._identity = identity
        self._chunk = wire.encode(absence(study, identity, run, reason))
        self._links = list(link_statuses(study, identity.name).values())
        self._untold = {link.peer for link in self._links}
        self._all_told = asyncio.Event()

    async def tell(self, listen: str) -> None:
        """Until all neighbours were told, or for some seconds: not all need be there."""
        dialled = {link.peer for link in self._links if link.dials}
        tasks = [asyncio.ensure_future(self._dial(peer)) for peer in dialled]
        listener = await self._listen(listen, {link.peer for link in self._links if not link.dials})
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self._all_told.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if listener is not None:
                await listener.close(_GRACE)

    async def _listen(self, address: str, peers: set[str]) -> Listener | None:
        if not peers:
            return None
        cards = [self._study.card(name) for name in sorted(peers)]
        with suppress(PeerError):  # the port is taken, and nothing is to be done about it
            listener = Listener(self._identity, cards, address, self._accept, lambda: None)
            await listener.start()
            return listener
        return None

    async def _accept(self, card: Card, stream: Stream) -> None:
        try:
            await self._say(card.name, stream)
        except asyncio.CancelledError:  # the other end has closed
            self._told(card.name)
            raise

    async def _dial(self, peer: str) -> None:
        dialler = Dialler(self._identity, self._study.card(peer))
        try:
            while peer in self._untold:
                with suppress(grpc.aio.AioRpcError):  # nobody answers there yet
                    await dialler.stream(partial(self._say, peer))
                await asyncio.sleep(_PAUSE)
        finally:
            await dialler.close()

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
