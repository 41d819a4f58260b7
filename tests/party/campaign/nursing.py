"""The campaign's end of the nursery."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT / "src"),
    "OPENBLAS_NUM_THREADS": "1",
}


class Nurse:
    """Has processes started, and knows when each has ended."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._news: asyncio.Task[None] | None = None
        self._pids: dict[int, asyncio.Future[int]] = {}
        self._ends: dict[int, asyncio.Future[int]] = {}

    async def __aenter__(self) -> Nurse:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.party.campaign.nursery",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT,
            env=os.environ | _ENVIRONMENT,
        )  # fmt: skip
        self._news = asyncio.ensure_future(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        assert self._news is not None
        await self._news

    async def start(self, order: dict[str, Any]) -> tuple[int, asyncio.Future[int]]:
        """The process, and its exit status to come (negative for a signal)."""
        assert self._process is not None
        assert self._process.stdin is not None
        number = len(self._pids)
        loop = asyncio.get_running_loop()
        self._pids[number], self._ends[number] = loop.create_future(), loop.create_future()
        self._process.stdin.write(json.dumps({"id": number, **order}).encode() + b"\n")
        return await self._pids[number], self._ends[number]

    @staticmethod
    def kill(pid: int, ended: asyncio.Future[int]) -> None:
        if not ended.done() or ended.cancelled():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            news = json.loads(line)
            which, what = ("pid", self._pids) if "pid" in news else ("status", self._ends)
            if not what[news["id"]].done():
                what[news["id"]].set_result(news[which])
