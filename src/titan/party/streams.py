"""gRPC, as far as a link needs it: one stream of bytes in pieces, under mutual TLS with pins."""

# Rule 1: TLS 1.3 on both sides, always. A channel trusts the one certificate it expects, a server
#         those of the study; whose it is, is compared with the pin besides.
# Rule 2: nothing larger than a chunk is received.

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from titan.errors import PeerError
from titan.party import tls
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
_HANDSHAKE = 10.0  # seconds, from a connection to its first stream

_COMMON = [
    ("grpc.max_receive_message_length", MOST_CHUNK + 16),
    ("grpc.max_send_message_length", MOST_CHUNK + 16),
    ("grpc.keepalive_time_ms", _PING_MS),
    ("grpc.keepalive_timeout_ms", _PONG_MS),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.bdp_probe", 1),
]
_CHANNEL = [
    *_COMMON,
    ("grpc.ssl_target_name_override", SERVER_NAME),
    ("grpc.enable_http_proxy", 0),  # parties dial each other, never a proxy from the environment
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
]


class StreamEndedError(Exception):
    """The stream ended under the hands of whoever was reading or writing."""

    def __init__(self) -> None:
        super().__init__("the connection was lost")


@contextmanager
def _until_it_ends() -> Iterator[None]:
    """What gRPC raises, besides AioRpcError, for a stream that is over."""
    try:
        yield
    except (asyncio.InvalidStateError, _aio.BaseError):
        raise StreamEndedError from None


class Stream:
    """One end of an open stream: a client's call or a server's context, both read and write.

    A read that is cancelled would take a client's whole call with it, and what was written last.
    """

    def __init__(self, end: Any, finish: Callable[[], Awaitable[None]] | None = None) -> None:
        self._end = end
        self._finish = finish

    async def read(self) -> bytes | None:
        """The next chunk; None at the end."""
        with _until_it_ends():
            chunk = await self._end.read()
        return None if chunk is _aio.EOF else chunk

    async def write(self, chunk: bytes) -> None:
        with _until_it_ends():
            await self._end.write(chunk)

    async def finish(self) -> None:
        """Nothing more will be written; what was, still arrives."""
        if self._finish is not None:  # a server's stream ends with its handler
            with _until_it_ends():
                await self._finish()


class Dialler:
    """Opens streams to one party."""

    def __init__(self, identity: Identity, peer: Card) -> None:
        tls.check()
        credentials = grpc.ssl_channel_credentials(
            peer.certificate.encode(), identity.key_pem(), identity.card.certificate.encode()
        )
        self._channel: Any = _aio.secure_channel(peer.address, credentials, _CHANNEL)
        self._open = self._channel.stream_stream(METHOD)

    async def stream(self, converse: Callable[[Stream], Awaitable[None]]) -> None:
        """Open a stream and use it; raises grpc.aio.AioRpcError where that fails."""
        call = self._open()
        try:
            await converse(Stream(call, call.done_writing))
        finally:
            call.cancel()

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
    ) -> None:
        tls.check()
        self._peers = list(peers)
        self._accept = accept
        self._turned_away = turned_away
        self._begun = self._lost = 0
        self._came: set[str] = set()  # the connections on which a stream was opened
        self._loop = asyncio.get_running_loop()
        roots = "".join(card.certificate for card in self._peers).encode()
        pair = (identity.key_pem(), identity.card.certificate.encode())
        credentials = grpc.dynamic_ssl_server_credentials(
            grpc.ssl_server_certificate_configuration([pair], roots),
            cast("Any", self._note_connection),  # the stubs do not know that None means no change
            require_client_authentication=True,
        )
        self._server: Any = _aio.server(options=_SERVER)
        handler = grpc.stream_stream_rpc_method_handler(self._handle)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {_NAME: handler}),)
        )
        try:
            self._server.add_secure_port(address, credentials)
        except RuntimeError:
            raise PeerError(
                f"cannot listen at {address}",
                hint="is the port taken, or the address of another machine? --listen names another",
            ) from None

    async def start(self) -> None:
        await self._server.start()

    def _note_connection(self) -> None:
        """At every connection gRPC asks, in a thread of its own, for new certificates: none.

        It tells nothing of a handshake that fails. But a connection on which nobody opens a stream
        is nobody's of the study.
        """
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._await_stream)

    def _await_stream(self) -> None:
        self._begun += 1
        self._loop.call_later(_HANDSHAKE, self._look, self._begun)

    def _look(self, begun: int) -> None:
        if begun > len(self._came) + self._lost:
            self._lost += 1
            self._turned_away()

    async def _handle(self, _: Any, context: Any) -> None:
        self._came.add(context.peer())
        shown = context.auth_context().get("x509_pem_cert", [b""])[0]
        for card in self._peers:
            if card.recognises(shown):
                await self._accept(card, Stream(context))
                return
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "this certificate is not expected")

    async def close(self, grace: float) -> None:
        await self._server.stop(grace)


def explained(error: grpc.aio.AioRpcError) -> str:
    """What a failed call means for the link, in words."""
    details = (error.details() or "").lower()
    for sign, meaning in _MEANINGS:
        if sign.lower() in details:
            return meaning
    return f"no connection ({error.code().name.lower().replace('_', ' ')})"


_MEANINGS = (
    ("CERTIFICATE_VERIFY_FAILED", "it answered with a certificate that is not the study's"),
    ("CERTIFICATE_EXPIRED", "it does not accept this party's certificate"),
    ("ALERT_UNKNOWN_CA", "it does not know this party's certificate"),
    ("ALERT_BAD_CERTIFICATE", "it does not know this party's certificate"),
    ("WRONG_VERSION_NUMBER", "whoever answers there does not speak TLS"),
    ("not expected", "it does not expect this party"),
    ("Connection refused", "nobody answers there yet"),
    ("Name resolution", "its address is not known"),
    ("DNS", "its address is not known"),
    ("handshake", "the TLS handshake failed"),
)
