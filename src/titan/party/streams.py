"""Streams between two parties: one connection each, under mutual TLS with pins."""

# Rule 1: a dialler accepts the one certificate it expects, a listener those of the parties that
#         dial it.
# Rule 2: strangers cost a descriptor each, for some seconds, and no more of them than `newcomers`
#         allows; a party of the study is never sent away for them.
# Rule 3: whatever is begun here has ended when it is closed.

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from titan.errors import PeerError
from titan.party import addresses, descriptors
from titan.party.connection import Connection, StreamEndedError
from titan.party.link_troubles import NoConnectionError, explained
from titan.party.newcomers import Newcomers
from titan.party.proxies import DIRECTLY, Proxies
from titan.party.tls import Expected
from titan.party.wire import Bytes
from titan.study import Card, Identity

__all__ = [
    "CLOSING_SECONDS",
    "Dialler",
    "Listener",
    "NoConnectionError",
    "Stream",
    "StreamEndedError",
]

CLOSING_SECONDS = 1.0  # for the other end to close its side
_DIALLING = 10.0  # seconds that one try to connect may take, hands shaken
_HANDSHAKE = 5.0  # seconds after which who has not shown who it is is sent away
_STRANGERS = 4096  # connections, of all addresses together
_INTRODUCTION = 1 << 16  # bytes within which a party has shown who it is; it needs 3,000
_KEPT = 8  # connections of one party: restarts leave old ones
_AT_ONCE = 16  # connections that are taken from the system and not counted yet
_FULL_SECONDS = 0.1  # until it is looked again whether there is a descriptor


class Stream:
    """One end of an open stream."""

    def __init__(self, connection: Connection, address: str = "") -> None:
        self.address = address
        """Whence it was dialled."""
        self._connection = connection

    async def read(self) -> Bytes | None:
        """The next chunk; None at the end."""
        return await self._connection.read()

    async def write(self, *parts: bytes | memoryview) -> None:
        """A chunk, which may come in parts."""
        await self._connection.write(*parts)

    async def finish(self) -> None:
        """Nothing more will be written; what was, still arrives."""
        await self._connection.finish()

    def break_off(self) -> None:
        """Nothing more will be read or written; the other end is not told that it was all."""
        self._connection.close()


class Dialler:
    """Opens streams to one party."""

    def __init__(self, identity: Identity, peer: Card, proxies: Proxies = DIRECTLY) -> None:
        self._address = peer.address
        self._expected = Expected(identity, [peer])
        self.proxy = proxies.for_address(peer.address)

    async def stream(self, converse: Callable[[Stream], Awaitable[None]]) -> None:
        """Open a stream and use it; NoConnectionError says why there is none."""
        connection = await self._connected()
        try:
            await converse(Stream(connection))
            with suppress(StreamEndedError):
                await connection.finish()  # who breaks off, or is stopped, does not say so
        finally:
            connection.close()

    async def _connected(self) -> Connection:
        made = Connection(self._expected, dials=True)
        try:
            async with asyncio.timeout(_DIALLING):
                await self._dial(made)
                try:
                    await made.shake_hands()
                except BaseException:
                    made.abort()
                    raise
        except (OSError, StreamEndedError) as error:
            raise explained(error, self._address, self.proxy) from None
        return made

    async def _dial(self, made: Connection) -> None:
        loop = asyncio.get_running_loop()
        if self.proxy is None:
            through = await addresses.connected(self._address)
        else:
            through = await self.proxy.connect(self._address)
        await loop.create_connection(lambda: made, sock=through)


class Listener:
    """Takes streams from the parties that dial here."""

    def __init__(
        self,
        identity: Identity,
        peers: Iterable[Card],
        address: str,
        accept: Callable[[Card, Stream], Awaitable[None]],
        turned_away: Callable[[str], None],
        crowded: Callable[[str], None] = lambda _: None,
        failed: Callable[[BaseException], None] = lambda _: None,
        out_of_date: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        """`failed` is told what comes out of `accept`, whose stream is of no more use then;
        `out_of_date` of whom a certificate is the study's, and why it is not accepted today."""
        cards = list(peers)
        self._expected = Expected(identity, cards)
        self._accept = accept
        self._turned_away = turned_away
        self._crowded = crowded
        self._failed = failed
        self._out_of_date = out_of_date
        self.begun = self.came = 0
        """How many connections there were, and of how many parties of the study."""
        most = _most_connections(len(cards))
        per_address = min(descriptors.PER_ADDRESS, most // 2)
        self._newcomers: Newcomers[_Caller] = Newcomers(per_address, most - per_address)
        self._of: dict[str, deque[Connection]] = defaultdict(deque)
        self._tasks: set[asyncio.Task[None]] = set()
        self._arriving: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self.places = addresses.to_listen_at(address)
        self._sockets = _listening(self.places)

    async def start(self) -> None:
        for each in self._sockets:
            self._listen_at(each)

    def _listen_at(self, place: socket.socket) -> None:
        if not self._closed:
            self._loop.add_reader(place, self._take_from, place)

    def _take_from(self, place: socket.socket) -> None:
        """Those who wait at the port, some at a time; the others' turn comes."""
        while len(self._arriving) < _AT_ONCE:
            try:
                taken, _ = place.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left: who waits there waits a little longer
                self._loop.remove_reader(place)
                self._loop.call_later(_FULL_SECONDS, self._listen_at, place)
                return
            taken.setblocking(False)
            self._arrive(taken)

    def _arrive(self, taken: socket.socket) -> None:
        def arrived(task: asyncio.Task[Any]) -> None:
            self._arriving.discard(task)
            if task.cancelled() or task.exception() is not None:
                taken.close()

        making = self._loop.connect_accepted_socket(lambda: _Caller(self), taken)
        task = self._loop.create_task(making)
        self._arriving.add(task)
        task.add_done_callback(arrived)

    async def close(self, grace: float) -> None:
        """Nobody is let in any more; those who are in have so many seconds to end."""
        self._closed = True
        for each in self._sockets:
            if each.fileno() >= 0:
                self._loop.remove_reader(each)
            each.close()
        await asyncio.gather(*self._arriving, return_exceptions=True)
        for caller in self._newcomers:
            caller.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- who comes ----------------------------------------------------------------------------

    def _comes(self, caller: _Caller) -> None:
        if self._closed:  # it was on its way through the event loop
            caller.abort()
            return
        self.begun += 1
        host, _ = caller.address
        for ended in self._newcomers.add(caller, host):
            ended.abort()
            self._crowded(ended.host)

    def _speaks(self, caller: _Caller) -> None:
        task = asyncio.get_running_loop().create_task(self._meet(caller))
        self._tasks.add(task)
        task.add_done_callback(partial(self._met, caller))

    def _met(self, caller: _Caller, task: asyncio.Task[None]) -> None:
        """What fails before it has shown who it is costs its connection, and nothing else."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            caller.abort()
            if caller.party:
                self._failed(error)

    def _leaves(self, caller: _Caller) -> None:
        """Before it has shown who it is."""
        if not self._newcomers.discard(caller):
            return
        if why := caller.out_of_date:
            self._out_of_date(caller.host, why)
        else:
            self._turned_away(caller.host)

    def _forget(self, caller: _Caller, party: str) -> None:
        """It has no descriptor any more, or will have none in an instant."""
        if caller in self._of[party]:
            self._of[party].remove(caller)

    async def _meet(self, caller: _Caller) -> None:
        try:
            await caller.shake_hands()
            card = caller.peer
        except StreamEndedError:
            card = None
        if card is None:
            self._leaves(caller)
            caller.close()
            return
        self._newcomers.discard(caller)
        self.came += 1
        caller.party = card.name
        kept = self._of[card.name]
        kept.append(caller)
        if len(kept) > _KEPT:
            kept.popleft().abort()
        try:
            await self._accept(card, Stream(caller, "{}:{}".format(*caller.address)))
            with suppress(StreamEndedError, TimeoutError):
                await caller.finish()
                async with asyncio.timeout(CLOSING_SECONDS):
                    while await caller.read() is not None:
                        pass
        finally:
            caller.close()
            if not caller.unsent:
                self._forget(caller, card.name)


class _Caller(Connection):
    """Somebody who dialled, perhaps a party of the study."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener._expected, dials=False)
        self._listener = listener
        self._speaks = False
        self._said_before = 0  # bytes, before it has shown who it is
        self.party = ""  # once it has shown who it is

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.host = self.address[0]
        self._patience = self._loop.call_later(_HANDSHAKE, self._out_of_patience)
        self._listener._comes(self)

    def buffer_updated(self, count: int) -> None:
        super().buffer_updated(count)
        if self in self._listener._newcomers:
            self._said_before += count
            if self._said_before > _INTRODUCTION:
                self.abort()
        if not self._speaks:
            self._speaks = True
            self._listener._speaks(self)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._patience.cancel()
        self._listener._leaves(self)
        if self.party:
            self._listener._forget(self, self.party)

    def _out_of_patience(self) -> None:
        if self in self._listener._newcomers:
            self.abort()


def _listening(places: Iterable[str]) -> list[socket.socket]:
    made: list[socket.socket] = []
    for place in places:
        try:
            made.append(addresses.listening_at(place))
        except OSError as error:
            for each in made:
                each.close()
            raise addresses.cannot_listen(place, error) from None
    return made


def _most_connections(parties: int) -> int:
    """Half of what this process may have open is for who dials; files and dialling need some.

    Each party has one, and for a moment a second, when it comes back.
    """
    limit = descriptors.raise_limit()
    if 4 * parties > limit:
        raise PeerError(
            f"{parties} parties dial this one, and this process may open no more than "
            f"{limit} files and connections",
            hint=f"raise the limit of file descriptors to {4 * parties} or more: "
            "ulimit -n, or LimitNOFILE= of a service",
        )
    return min(limit // 2, _STRANGERS + 2 * parties)
