"""A TCP proxy before one party: what others dial. Its connections can be cut, and new ones too."""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Listens at a port of its own on loopback and passes everything on to `target`."""

    def __init__(self) -> None:
        self.port = 0
        self.target = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._dark = False

    async def start(self, target: int) -> None:
        self.target = target
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self, blackout: float) -> int:
        """Cut everything, and whatever is tried within `blackout` seconds; how many were cut."""
        found = len(self._open) // 2
        self._dark = True
        self._abort()
        await asyncio.sleep(blackout)
        self._dark = False
        return found

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._abort()

    def _abort(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._dark:
            writer.transport.abort()
            return
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()  # nobody is there
            return
        both = {writer, outer}
        self._open |= both
        try:
            with contextlib.suppress(OSError):  # one end is reset, and so is the other then
                await asyncio.gather(_pass_on(reader, outer), _pass_on(inner, writer))
        finally:
            self._open -= both
            for each in both:
                each.transport.abort()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()
    target.write_eof()
