"""gRPC, as far as a link needs it: one stream of bytes in pieces, under mutual TLS with pins."""

# Rule 1: TLS 1.3 on both sides, always. A channel trusts the one certificate it expects, a server
#         those of the study; whose it is, is compared with the pin besides.
# Rule 2: nothing larger than a chunk is received.

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, cast

from titan.errors import PeerError
from titan.party import addresses, descriptors, tls
from titan.party.link_troubles import is_lookup
from titan.party.proxies import DIRECTLY, Proxies
from titan.party.tls import grpc
from titan.party.wire import MOST_CHUNK
from titan.study import Card, Identity
from titan.study.certificates import SERVER_NAME

_aio: Any = grpc.aio  # the stubs know it only in part

CLOSING_SECONDS = 1.0  # for the other end to close its side
METHOD = "/titan.Party/Link"
_SERVICE, _, _NAME = METHOD[1:].partition("/")
_PING_MS = 15_000  # a silent peer is asked whether it is still there
_PONG_MS = 10_000
_HANDSHAKE_MS = 5_000  # for TLS and HTTP/2; who says nothing is sent away after that
_HANDSHAKE = 10.0  # seconds, from a connection to its first stream
_STRANGERS = 4096  # connections, of all addresses together
_LOOKUP = 3.0  # seconds after which a name that could not be looked up is looked up again
_KEPT = 4  # connections of one party that nobody else's may displace; restarts leave old ones

_COMMON = [
    ("grpc.max_receive_message_length", MOST_CHUNK + 16),
    ("grpc.max_send_message_length", MOST_CHUNK + 16),
    ("grpc.keepalive_time_ms", _PING_MS),
    ("grpc.keepalive_timeout_ms", _PONG_MS),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.bdp_probe", 1),
    ("grpc.http2.max_frame_size", MOST_CHUNK),  # a chunk is cut as little as can be
    ("grpc.http2.lookahead_bytes", 4 * MOST_CHUNK),  # on their way to one reader, at first
]
_CHANNEL = [
    *_COMMON,
    ("grpc.ssl_target_name_override", SERVER_NAME),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),  # in truth: how long one try to connect may take
    ("grpc.max_reconnect_backoff_ms", 200),
]
_SERVER = [
    *_COMMON,
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _PING_MS // 2),  # of pings that come in
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
]


class StreamEndedError(Exception):
    """The stream ended under the hands of whoever was reading or writing."""

    def __init__(self) -> None:
        super().__init__("the connection was lost")


# What gRPC raises, besides AioRpcError, for a stream that is over.
_OVER = (asyncio.InvalidStateError, _aio.BaseError)


class Stream:
    """One end of an open stream: a client's call or a server's context, both read and write.

    A read that is cancelled would take a client's whole call with it, and what was written last.
    """

    def __init__(
        self, end: Any, finish: Callable[[], Awaitable[None]] | None = None, address: str = ""
    ) -> None:
        self.address = address
        """Whence it was dialled."""
        self._end = end
        self._finish = finish

    async def read(self) -> bytes | None:
        """The next chunk; None at the end."""
        try:
            chunk = await self._end.read()
        except _OVER:
            raise StreamEndedError from None
        return None if chunk is _aio.EOF else chunk

    async def write(self, chunk: bytes) -> None:
        try:
            await self._end.write(chunk)
        except _OVER:
            raise StreamEndedError from None

    async def finish(self) -> None:
        """Nothing more will be written; what was, still arrives."""
        if self._finish is not None:  # a server's stream ends with its handler
            try:
                await self._finish()
            except _OVER:
                raise StreamEndedError from None


class Dialler:
    """Opens streams to one party."""

    def __init__(self, identity: Identity, peer: Card, proxies: Proxies = DIRECTLY) -> None:
        tls.check()
        self._address = peer.address
        self.proxy = proxies.for_address(peer.address)
        self._credentials = grpc.ssl_channel_credentials(
            peer.certificate.encode(), identity.key_pem(), identity.card.certificate.encode()
        )
        self._make_channel()

    def _make_channel(self) -> None:
        options = [*_CHANNEL, ("grpc.enable_http_proxy", int(self.proxy is not None))]
        if self.proxy is not None:
            options.append(("grpc.http_proxy", self.proxy.url))
        self._channel: Any = _aio.secure_channel(self._address, self._credentials, options)
        self._open = self._channel.stream_stream(METHOD)
        self._made = time.monotonic()

    async def stream(self, converse: Callable[[Stream], Awaitable[None]]) -> None:
        """Open a stream and use it; raises grpc.aio.AioRpcError where that fails."""
        call = self._open()
        try:
            await converse(Stream(call, call.done_writing))
        except grpc.aio.AioRpcError as error:
            if is_lookup(error) and time.monotonic() - self._made > _LOOKUP:
                await self.start_anew()  # gRPC would look up again after up to two minutes
            raise
        finally:
            call.cancel()

    async def start_anew(self) -> None:
        """Forget that nobody was there: gRPC would pause before it tries again."""
        await self._channel.close()
        self._make_channel()

    async def close(self) -> None:
        await self._channel.close()


class Listener:
    """Takes streams from the parties that dial here."""

    def __init__(
        self,
        identity: Identity,
        peers: Iterable[Card],
        address: str,
        accept: Callable[[Card, Stream], Awaitable[None]],
        turned_away: Callable[[], None],
        crowded: Callable[[str], None] = lambda _: None,
    ) -> None:
        tls.check()
        self._peers = list(peers)
        self._accept = accept
        self._turned_away = turned_away
        self._crowded = crowded
        self._begun = self._lost = self._looked = 0
        self._new: deque[None] = deque()  # connections that gRPC's threads have told of
        self._told = False
        self._came: set[str] = set()  # the connections on which a stream was opened
        self._of: dict[str, deque[descriptors.Peer]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._loop = asyncio.get_running_loop()
        roots = "".join(card.certificate for card in self._peers).encode()
        pair = (identity.key_pem(), identity.card.certificate.encode())
        credentials = grpc.dynamic_ssl_server_credentials(
            grpc.ssl_server_certificate_configuration([pair], roots),
            cast("Any", self._note_connection),  # the stubs do not know that None means no change
            require_client_authentication=True,
        )
        self.places = addresses.to_listen_at(address)
        most = self._most_connections()
        self._per_address = min(descriptors.PER_ADDRESS, most // 2)
        self._unused = descriptors.UnusedConnections(
            int(address.rpartition(":")[2]), self._per_address, most - self._per_address
        )
        options = [*_SERVER, ("grpc.max_allowed_incoming_connections", most)]
        self._server: Any = _aio.server(options=options)
        handler = grpc.stream_stream_rpc_method_handler(self._handle)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {_NAME: handler}),)
        )
        for place in self.places:
            try:
                self._server.add_secure_port(place, credentials)
            except RuntimeError:
                raise addresses.cannot_listen(place) from None

    async def start(self) -> None:
        await self._server.start()

    def _most_connections(self) -> int:
        """Half of what this process may have open is for who dials; files and dialling need some.

        Each party has one, and for a moment a second, when it comes back.
        """
        limit = descriptors.raise_limit()
        if 4 * len(self._peers) > limit:
            raise PeerError(
                f"{len(self._peers)} parties dial this one, and this process may open no more than "
                f"{limit} files and connections",
                hint=f"raise the limit of file descriptors to {4 * len(self._peers)} or more: "
                "ulimit -n, or LimitNOFILE= of a service",
            )
        return min(limit // 2, _STRANGERS + 2 * len(self._peers))

    def _note_connection(self) -> None:
        """At every connection gRPC asks, in a thread of its own, for new certificates: none.

        It tells nothing of a handshake that fails. But a connection on which nobody opens a stream
        is nobody's of the study.
        """
        self._new.append(None)
        if not self._told:  # who is told of the first counts those who come meanwhile
            self._told = True
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._await_streams)

    def _await_streams(self) -> None:
        self._told = False  # first: who comes from now on tells again
        while self._new:
            self._new.popleft()
            self._begun += 1
        self._loop.call_later(_HANDSHAKE, self._look, self._begun)
        if self._begun - self._looked >= self._per_address // 2:
            self._looked = self._begun
            used = {peer for kept in self._of.values() for peer in kept}
            for address in self._unused.end_oldest(used):
                self._crowded(address)

    def _look(self, begun: int) -> None:
        if begun > len(self._came) + self._lost:
            self._lost = begun - len(self._came)
            self._turned_away()

    async def _handle(self, _: Any, context: Any) -> None:
        self._came.add(context.peer())
        shown = context.auth_context().get("x509_pem_cert", [b""])[0]
        for card in self._peers:
            if card.recognises(shown):
                kept, peer = self._of[card.name], descriptors.peer_of(context.peer())
                if peer not in kept:
                    kept.append(peer)
                await self._accept(card, Stream(context, address="{}:{}".format(*peer)))
                return
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "this certificate is not expected")

    async def close(self, grace: float) -> None:
        await self._server.stop(grace)
