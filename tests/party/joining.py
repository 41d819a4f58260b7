"""Parties of one study for tests: started, looked at, killed, started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.party import loopback
from tests.party.campaign import files
from tests.party.campaign.faults import Noise
from tests.party.campaign.nursing import Nurse
from tests.party.campaign.scenario import Scenario
from tests.party.ports import free_port

PATIENCE = 120.0  # seconds after which a test that waits is taken to hang


def calm(*pairs: tuple[str, str]) -> Scenario:
    """These links, and no trouble."""
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    links = tuple((a, b, "push") for a, b in pairs)
    return Scenario(1, names, links, 1, {"recovery": "tree"}, Noise(), (), (), False, PATIENCE)


@dataclass
class Joined:
    """One process that runs `titan join`."""

    name: str
    pid: int
    ended: asyncio.Future[int]
    out: Path
    err: Path

    @property
    def said(self) -> str:
        return self.err.read_text()

    async def shows_its_answer(self) -> None:
        await until(lambda: self.out.stat().st_size > 0)

    async def says(self, words: str) -> None:
        await until(lambda: words in self.said)

    async def ends(self) -> int:
        return await asyncio.wait_for(self.ended, PATIENCE)

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it was quicker
            os.kill(self.pid, signal.SIGKILL)


@dataclass
class Study:
    """The files of a study, and everybody who joined it."""

    folder: Path
    nurse: Nurse
    scenario: Scenario
    expected: Mapping[str, Any] = field(init=False)
    ports: dict[str, int] = field(init=False)
    started: int = 0

    def __post_init__(self) -> None:
        self.ports = {name: free_port() for name in self.scenario.parties}
        addresses = {name: f"127.0.0.1:{port}" for name, port in self.ports.items()}
        self.expected = files.write(self.scenario, self.folder, addresses).answer

    async def join(
        self,
        name: str,
        *more: str,
        wait: float = PATIENCE,
        kill: str = "",
        out: Path | None = None,
        err: Path | None = None,
        save: bool = True,
        **order_too: int | str,
    ) -> Joined:
        """`out` and `err` are where stdout and stderr go, if not to files of their own."""
        self.started += 1
        at = self.folder
        out, err = out or at / f"{self.started}.out", err or at / f"{self.started}.err"
        argv = [
            "join", str(at / "study.toml"), "--as", name, "--yes", "--wait", str(wait),
            "--data", str(at / f"{name}.csv"), "--key", str(at / f"{name}.key"),
            *(["--save", str(at / f"{name}.json")] if save else []), *more,
        ]  # fmt: skip
        order = {
            "argv": argv,
            "stdout": str(out),
            "stderr": str(err),
            "noise": [],
            "kill": [kill, 0, True] if kill else [],
            **order_too,
        }
        out.touch()
        err.touch()
        pid, ended = await self.nurse.start(order)
        return Joined(name, pid, ended, out, err)

    def answer(self, name: str) -> dict[str, Any] | None:
        """The saved one, as far as `titan.fit` has it too."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        found = json.loads(path.read_text())
        return {key: found.get(key) for key in self.expected}


until = partial(loopback.until, seconds=PATIENCE)
