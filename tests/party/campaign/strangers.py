"""Connections of nobody's to a party: silent ones, TLS without a certificate, rubbish."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from random import Random

from tests.party.campaign.faults import Strangers

_AGAIN = 0.05  # seconds until a stranger who was sent away comes again
_STAYS = 30.0


class Crowd:
    """They come again and again, until they are told to go."""

    def __init__(self, strangers: Strangers, port: int, seed: int) -> None:
        self.came = 0
        self._port = port
        self._rng = Random(seed)
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        kinds = (
            (self._idle, strangers.idle),
            (self._handshake, strangers.handshakes),
            (self._rubbish, strangers.rubbish),
        )
        self._tasks = [
            asyncio.ensure_future(self._come(kind)) for kind, many in kinds for _ in range(many)
        ]

    async def go(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _come(self, kind: Callable[[], Awaitable[None]]) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                await kind()
            await asyncio.sleep(_AGAIN)

    async def _idle(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        await self._stay(reader, writer)

    async def _handshake(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls)
        await self._stay(reader, writer)

    async def _rubbish(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(self._rng.randbytes(self._rng.randint(1, 5000)))
        await self._stay(reader, writer)

    async def _stay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        try:
            async with asyncio.timeout(_STAYS):
                while await reader.read(1 << 16):
                    pass
        finally:
            writer.transport.abort()
