"""One run of the campaign: start the parties, let things go wrong, compare the answers."""

# Rule 1: whoever was killed is started again with the same command; so is who gave up waiting, and
#         who left, saying that somebody had not confirmed everything, when somebody then gives up.
# Rule 2: the verdict reads exit statuses and saved answers. No clock enters it but the deadline,
#         after which a run counts as hanging.

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.party.campaign import files
from tests.party.campaign.nursing import Nurse
from tests.party.campaign.proxy import Proxy
from tests.party.campaign.scenario import Cut, Kill, Scenario

DEADLINE = 180.0
_LOOK = 0.004  # seconds between two looks at a file
_LIVES = 12  # starts of one party in one run


@dataclass
class Tally:
    """What happened, in one run or in all."""

    runs: int = 0
    kills: int = 0
    cuts: int = 0
    duplicated: int = 0
    delayed: int = 0
    reordered: int = 0
    exact: int = 0
    errors: int = 0
    waited: int = 0
    wrong: int = 0
    hung: int = 0

    def add(self, other: Tally) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.kills} kills, {self.cuts} connections cut, "
            f"{self.duplicated} frames duplicated, {self.delayed} delayed, "
            f"{self.reordered} reordered; {self.exact} exact answers, "
            f"{self.errors} clear errors, {self.waited} waits given up and resumed, "
            f"{self.wrong} wrong answers, {self.hung} runs that hung"
        )


@dataclass
class Trial:
    scenario: Scenario
    folder: Path
    nurse: Nurse
    tally: Tally = field(default_factory=Tally)
    troubles: list[str] = field(default_factory=list)

    async def run(self) -> None:
        scenario, self.tally.runs = self.scenario, 1
        self._ended: set[str] = set()
        self._changed = asyncio.Event()
        self._proxies = {name: Proxy() for name in scenario.parties}
        self._listen = {name: free_port() for name in scenario.parties}
        for name, proxy in self._proxies.items():
            await proxy.start(self._listen[name])
        dialled = {name: f"127.0.0.1:{proxy.port}" for name, proxy in self._proxies.items()}
        self._expected = files.write(scenario, self.folder, dialled)
        cuts = [asyncio.ensure_future(self._cut(cut)) for cut in scenario.cuts]
        lives = [asyncio.ensure_future(self._live(name)) for name in scenario.parties]
        _, late = await asyncio.wait(lives, timeout=DEADLINE)
        if late:
            self.tally.hung = 1
            self.troubles.append(f"{len(late)} parties had not ended after {DEADLINE:g} seconds")
        for task in (*cuts, *lives):
            task.cancel()
        for ended in await asyncio.gather(*lives, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
        for proxy in self._proxies.values():
            await proxy.close()
        self._count_noise()

    # -- a party --------------------------------------------------------------------------------

    async def _live(self, name: str) -> None:
        """From its first start to its last end."""
        for life in range(_LIVES):
            kill = self._kill_of(name, life)
            status = await self._one_life(name, life, kill)
            if status == -signal.SIGKILL:
                self.tally.kills += 1
                if self.scenario.loses_journal and kill is self.scenario.kills[0]:
                    self._lose_journal(name)
                await asyncio.sleep(0 if kill is None else kill.pause)
            elif self._is_over(name, life, status) and not await self._is_asked_back(name, life):
                return
        self._wrong(name, f"was started {_LIVES} times")

    async def _is_asked_back(self, name: str, life: int) -> bool:
        """Whether somebody gives up waiting whom this party left too early."""
        self._ended.add(name)
        self._changed.set()
        if "has not confirmed everything" not in _text(self._screen(name, life)[1]):
            return False
        gave_up = self.tally.waited
        while self.tally.waited == gave_up:
            if len(self._ended) == len(self.scenario.parties):
                return False
            self._changed.clear()
            await self._changed.wait()
        return True

    async def _one_life(self, name: str, life: int, kill: Kill | None) -> int:
        out, err = self._screen(name, life)
        own = kill is not None and kill.when in ("commit", "write")
        order = {
            "argv": self._command(name),
            "stdout": str(out),
            "stderr": str(err),
            "noise": self._noise(name, life),
            "kill": [kill.when, kill.count, kill.before] if kill is not None and own else [],
        }
        pid, ended = await self.nurse.start(order)
        killer = None
        if kill is not None and not own:
            killer = asyncio.ensure_future(self._kill(kill, pid, out, err, ended))
        try:
            return await ended
        except asyncio.CancelledError:
            self.nurse.kill(pid, ended)
            raise
        finally:
            if killer is not None:
                killer.cancel()

    def _command(self, name: str) -> list[str]:
        at = self.folder
        return [
            "join", str(at / "study.toml"), "--as", name, "--yes",
            "--data", str(at / f"{name}.csv"), "--key", str(at / f"{name}.key"),
            "--listen", f"127.0.0.1:{self._listen[name]}",
            "--wait", str(self.scenario.wait), "--save", str(at / f"{name}.json"),
        ]  # fmt: skip

    def _noise(self, name: str, life: int) -> list[Any]:
        noise, place = self.scenario.noise, self.scenario.parties.index(name)
        if not any(vars(noise).values()):
            return []
        seed = self.scenario.seed * 1000 + 100 * place + life
        return [seed, str(self.folder / "noise"), noise.duplicate, noise.delay, noise.swap]

    def _screen(self, name: str, life: int) -> tuple[Path, Path]:
        return self.folder / f"{name}.{life}.out", self.folder / f"{name}.{life}.err"

    def _kill_of(self, name: str, life: int) -> Kill | None:
        found = (k for k in self.scenario.kills if (k.party, k.life) == (name, life))
        return next(found, None)

    # -- what goes wrong ------------------------------------------------------------------------

    async def _kill(
        self, kill: Kill, pid: int, out: Path, err: Path, ended: asyncio.Future[int]
    ) -> None:
        if kill.when == "answer":
            await _until(lambda: _text(out) != "")
        elif kill.when == "phase":
            await _until(lambda: _reached(kill.phase, _text(err)))
        await asyncio.sleep(kill.seconds)
        self.nurse.kill(pid, ended)

    async def _cut(self, cut: Cut) -> None:
        """When that party comes into a phase, its connections are cut."""
        err = self._screen(cut.party, 0)[1]
        await _until(lambda: _reached(cut.phase, _text(err)))
        await asyncio.sleep(cut.seconds)
        self.tally.cuts += await self._proxies[cut.party].cut(cut.blackout)

    def _lose_journal(self, name: str) -> None:
        for path in self.folder.glob(f"runs/*-{name}/*"):
            path.unlink()

    def _count_noise(self) -> None:
        noted = _text(self.folder / "noise")
        self.tally.duplicated += noted.count("d")
        self.tally.delayed += noted.count("l")
        self.tally.reordered += noted.count("s")

    # -- the verdict ----------------------------------------------------------------------------

    def _is_over(self, name: str, life: int, status: int) -> bool:
        """Whether a party that ended by itself has reached its end; judge how."""
        said = _text(self._screen(name, life)[1])
        saved = self.folder / f"{name}.json"
        if status == 0:
            self._compare(name, json.loads(saved.read_text()))
            return True
        if status not in (1, 75) or "titan: error: " not in said or "Traceback" in said:
            self._wrong(name, f"ended with status {status}: {said[-2000:]}")
            return True
        if saved.exists():
            self._wrong(name, "has an answer and an error")
            return True
        if status == 75 and not self.scenario.loses_journal:
            self.tally.waited += 1
            self._changed.set()
            return False  # the same command goes on from there
        self.tally.errors += 1
        if not self.scenario.loses_journal:
            self.troubles.append(f"{name}: an error: {said[-600:]}")
        return True

    def _compare(self, name: str, found: dict[str, Any]) -> None:
        different = [key for key, value in self._expected.items() if found.get(key) != value]
        if different:
            self._wrong(name, f"has another answer in {', '.join(different)}")
        elif name not in self._ended:
            self.tally.exact += 1

    def _wrong(self, name: str, why: str) -> None:
        self.tally.wrong += 1
        self.troubles.append(f"{name}: {why}")


def _reached(phase: str, said: str) -> bool:
    return any(phase in line for line in said.splitlines())


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(_LOOK)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def free_port() -> int:
    """One below those that the system hands out by itself."""
    while True:
        port = next(_PORTS)
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _ports() -> Iterator[int]:
    while True:
        yield from range(10_000 + os.getpid() % 50 * 200, 20_000)  # a rehearsal takes higher ones


_PORTS = _ports()
