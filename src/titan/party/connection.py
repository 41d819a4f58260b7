"""A TCP connection under TLS in the event loop: chunks of bytes out, and in.

Each chunk stands behind its length. No chunk is empty: a length of 0 says that this side has said
all it has to say. Who has nothing to say says from time to time that it is still there (`ALIVE`).
"""

# Rule 1: nothing larger than a chunk is received; nobody has to be known to be told that.
# Rule 2: reading that is cancelled goes on later where it was. Writing that is cancelled within a
#         chunk was the last: nobody could tell what comes after it.
# Rule 3: who is not heard for a while is gone, whatever TCP thinks.
# Rule 4: what came is kept only up to a bound. Who does not read hears nothing, and the other end
#         waits.
# Rule 5: who says much in many small chunks does not keep the others waiting.
# Rule 6: who does not take what was written before the end is not waited for long.

from __future__ import annotations

import asyncio
import struct
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import cast

import numpy as np

from titan.party.newcomers import plain
from titan.party.tls import AT_ONCE, Expected, Tls, TlsError
from titan.party.wire import MOST_CHUNK, Bytes
from titan.study import Card

_LENGTH = struct.Struct("<I")
_END, _ALIVE = 0, 0xFFFF_FFFF
_AT_ONCE = AT_ONCE
_MOST_UNREAD = 1 << 20
_MOST_UNSENT = 1 << 21  # twice what is ever written before it is waited for
_SHORT = 1 << 16
_IN_TURN = 64  # chunks that are read before others have their turn
ALIVE_SECONDS = 15.0  # after which who has nothing else to say says that it is there
GONE_SECONDS = 25.0  # after which who was not heard is gone
LEAVING_SECONDS = 5.0  # for what was written to leave a connection that is closed
LOST = "the connection was lost"
_NOWHERE = "0.0.0.0", 0  # noqa: S104 - nobody listens there


class StreamEndedError(Exception):
    """The connection ended under the hands of whoever was reading or writing."""

    def __init__(self, why: str = LOST) -> None:
        super().__init__(why)


class Connection(asyncio.BufferedProtocol):
    """One end; `read`, `write` and `finish` once hands are shaken."""

    def __init__(self, expected: Expected, *, dials: bool) -> None:
        self._expected = expected
        self._dials = dials
        self._loop = asyncio.get_running_loop()
        self._lost = ""  # why there is nothing more to read or write
        self._came = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._unread = self._read = self._unanswered = 0
        self._buffer = bytearray()
        self._head, self._chunk, self._filled = _room(_LENGTH.size), _NOTHING, 0
        self._in_chunk = self._heard_all = self._said_all = self._writing = False
        self._heard = self._said = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    # -- what the event loop calls ------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(_AT_ONCE)
        self._transport.get_extra_info("socket").setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)

    def get_buffer(self, _: int) -> bytearray:
        if not self._buffer:
            self._begin()
        return self._buffer

    def _begin(self) -> None:
        """When the first bytes come, or are to leave: who says nothing costs little."""
        self._buffer = self._expected.buffer
        self._tls = Tls(self._expected, dials=self._dials)

    def buffer_updated(self, count: int) -> None:
        self._heard = self._loop.time()
        self._tls.take(memoryview(self._buffer)[:count])
        self._unread += count
        if self._unread > _MOST_UNREAD:
            self._transport.pause_reading()
        self._came.set()

    def eof_received(self) -> None:
        self._fail(LOST)

    def connection_lost(self, _: Exception | None) -> None:
        self._fail(LOST)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def _fail(self, why: str) -> None:
        self._lost = self._lost or why
        self._came.set()
        self._may_write.set()
        if self._timer is not None:
            self._timer.cancel()

    # -- life ---------------------------------------------------------------------------------

    @property
    def peer(self) -> Card | None:
        """Which party it is, once hands are shaken."""
        return self._tls.peer

    @property
    def address(self) -> tuple[str, int]:
        """Of the other end; one that has gone already may have none."""
        host, port = (self._transport.get_extra_info("peername") or _NOWHERE)[:2]
        return plain(host), port

    @property
    def unsent(self) -> bool:
        """Whether something that was written has not left yet."""
        return self._transport.get_write_buffer_size() > 0

    @property
    def out_of_date(self) -> str:
        """Why the dates of the other end's certificate do not fit the clock here; or empty."""
        return self._tls.out_of_date if self._buffer else ""

    async def shake_hands(self) -> None:
        if not self._buffer:
            self._begin()
        try:
            while not self._tls.shake_hands():
                self._flush()
                await self._more()
        except TlsError as error:
            self._flush()  # it is told why
            raise StreamEndedError(str(error)) from None
        self._flush()
        self._heard = self._loop.time()
        self._look_later()

    def close(self) -> None:
        """What was written still leaves, if it can within some seconds."""
        self._fail(LOST)
        self._transport.close()
        if self.unsent:
            self._timer = self._loop.call_later(LEAVING_SECONDS, self._transport.abort)

    def abort(self) -> None:
        self._fail(LOST)
        self._transport.abort()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(ALIVE_SECONDS / 2, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if now - self._heard > GONE_SECONDS and not self._unread:
            self.abort()
            return
        silent = now - self._said > ALIVE_SECONDS and self._may_write.is_set()
        if silent and not (self._writing or self._said_all):
            try:
                self._put(_LENGTH.pack(_ALIVE))
            except StreamEndedError:  # nobody waits for this call: whoever reads is told
                self.abort()
                return
        self._look_later()

    # -- out ----------------------------------------------------------------------------------

    async def write(self, *parts: bytes | memoryview) -> None:
        """A chunk, which may come in parts."""
        length = sum(map(len, parts))
        if self._writing or self._said_all or not length:
            raise StreamEndedError
        self._writing = True
        if length < _AT_ONCE:
            self._put(b"".join((_LENGTH.pack(length), *parts)))
        else:
            self._put(_LENGTH.pack(length))
            for part in parts:
                await self._put_long(part)
        self._writing = False
        if not self._may_write.is_set():
            await self._may_write.wait()

    async def _put_long(self, part: bytes | memoryview) -> None:
        for at in range(0, len(part), _AT_ONCE):
            self._put(memoryview(part)[at : at + _AT_ONCE])
            if not self._may_write.is_set():
                await self._may_write.wait()

    async def finish(self) -> None:
        """Nothing more will be written; what was, still arrives."""
        if self._lost:
            raise StreamEndedError(self._lost)
        if not self._said_all and not self._writing:
            self._put(_LENGTH.pack(_END))
        self._said_all = True

    def _put(self, text: bytes | memoryview) -> None:
        if self._lost:
            raise StreamEndedError(self._lost)
        try:
            self._tls.send(text)
        except TlsError as error:
            raise StreamEndedError(str(error)) from None
        self._said = self._loop.time()
        self._flush()

    def _flush(self) -> None:
        while due := self._tls.due():
            if self._transport.is_closing():
                continue
            short = len(due) < _SHORT  # a copy of it: memory that is kept is half a megabyte
            self._transport.write(bytes(due) if short else due)
            if self.unsent and not short:
                self._expected.keep_leaving()

    def _answer(self) -> None:
        """TLS itself answers who asks for new keys; who asks and does not listen is let go."""
        self._unanswered = 0
        self._flush()
        if self._transport.get_write_buffer_size() > _MOST_UNSENT:
            self.abort()

    # -- in -----------------------------------------------------------------------------------

    async def read(self) -> Bytes | None:
        """The next chunk; None at the end."""
        while not self._heard_all:
            self._read += 1
            if self._read % _IN_TURN == 0:
                await asyncio.sleep(0)
            if not self._in_chunk:
                await self._fill(self._head)
                (length,) = _LENGTH.unpack(self._head)
                self._filled = 0
                if length == _END:
                    self._heard_all = True
                elif length != _ALIVE:
                    if length > MOST_CHUNK:
                        self.abort()
                        raise StreamEndedError(
                            f"a chunk of {length} bytes; the most is {MOST_CHUNK}"
                        )
                    self._in_chunk, self._chunk = True, _room(length)
                continue
            await self._fill(self._chunk)
            chunk, self._chunk, self._filled, self._in_chunk = self._chunk, _NOTHING, 0, False
            return chunk
        return None

    async def _fill(self, target: memoryview) -> None:
        while self._filled < len(target):
            try:
                got = self._tls.receive_into(target[self._filled :])
            except TlsError as error:
                raise StreamEndedError(str(error)) from None
            self._filled += got
            if not got:
                await self._more()

    async def _more(self) -> None:
        """Until more has come; all that had come was read."""
        if self._unread > _MOST_UNREAD:
            self._transport.resume_reading()
        self._unanswered += self._unread
        if self._unanswered > _MOST_UNREAD:
            self._answer()
        self._unread = 0
        self._came.clear()
        if not self._lost:
            await self._came.wait()
        if self._lost and not self._unread:
            raise StreamEndedError(self._lost)


def _room(size: int) -> memoryview:
    """Memory for so many bytes; a long block is not filled with zeros first, as all of it will be
    with what comes."""
    return memoryview(bytearray(size)) if size < _AT_ONCE else np.empty(size, np.uint8).data


_NOTHING = _room(0)
