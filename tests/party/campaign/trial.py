"""One run of the campaign: start the parties, let things go wrong, compare the answers."""

# Rule 1: whoever was killed is started again with the same command; so is who gave up waiting, and
#         who left, saying that somebody had not confirmed everything, when somebody then gives up;
#         and so are all where some have an answer and others gave up, who are told that this helps.
# Rule 2: a run hangs in which nothing at all has happened for a long time; how long a run takes
#         while something does, does not count.

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.party.campaign import files, switch
from tests.party.campaign.disks import Disk
from tests.party.campaign.expected import given
from tests.party.campaign.faults import PAUSED, SIGNALS, Cut, Kill, Stop
from tests.party.campaign.judge import LIVES, Judge, text_of
from tests.party.campaign.moments import reached, send, stage, stands_still, until
from tests.party.campaign.nursing import Nurse
from tests.party.campaign.proxy import Proxy
from tests.party.campaign.scenario import Scenario
from tests.party.campaign.strangers import Crowd
from tests.party.campaign.switch import Switch
from tests.party.campaign.tally import Tally
from tests.party.ports import free_port

__all__ = ["Tally", "Trial"]

STILL = 120.0  # seconds in which nothing happens, besides what parties wait by themselves
_FULL = 60.0  # seconds that a disk stays full, unless the party ends before
_PORT = 7443
_OTHER_VERSION = 99
_CROWDED = "some are ended"  # what a party says that has no descriptors for more strangers


@dataclass
class Trial:
    scenario: Scenario
    folder: Path
    nurse: Nurse
    tally: Tally = field(default_factory=Tally)
    troubles: list[str] = field(default_factory=list)

    async def run(self) -> None:
        scenario, tally = self.scenario, self.tally
        tally.runs = 1
        tally.questions.update(scenario.questions)
        tally.parties[len(scenario.parties)] += 1
        self._pids: dict[str, tuple[int, asyncio.Future[int]]] = {}
        self._changed = asyncio.Event()
        self._lives: Counter[str] = Counter()  # starts of each so far
        self._remembered = ""
        with ExitStack() as stack:
            self._disks = {name: self._disk(name, stack) for name in scenario.parties}
            self._switch = await asyncio.to_thread(self._far_apart, stack)
            self._proxies = {name: Proxy() for name in scenario.parties}
            self._listen = {name: free_port() for name in scenario.parties}
            for name, proxy in self._proxies.items():
                await proxy.start(self._listen[name])
            expected = files.write(scenario, self.folder, self._addresses())
            parts = self._disks, expected, tally, self.troubles
            self._judge = Judge(scenario, self.folder, *parts)
            await self._play()
            self._judge.judge_all()

    def _disk(self, name: str, stack: ExitStack) -> Disk:
        hows = {kill.how for kill in self.scenario.kills if kill.party == name}
        own = bool(hows & {"power", "full"}) or name == self.scenario.on_disk
        disk = Disk(self.folder / name, own=own)
        stack.callback(disk.unmount)
        return disk

    def _far_apart(self, stack: ExitStack) -> Switch | None:
        there = self.scenario.distance
        if there is None or switch.missing():
            return None
        self.tally.faults["distant"] += 1
        made = Switch(
            self.scenario.parties, delay=there.delay, loss=there.loss, seed=self.scenario.seed
        )
        return stack.enter_context(made)

    def _addresses(self) -> dict[str, str]:
        if self._switch is not None:
            there = self._switch.address
            return {name: f"{there(name)}:{_PORT}" for name in self.scenario.parties}
        return {name: f"127.0.0.1:{proxy.port}" for name, proxy in self._proxies.items()}

    async def _play(self) -> None:
        scenario = self.scenario
        crowds = [Crowd(s, self._listen[s.party], scenario.seed) for s in scenario.strangers]
        faults = [asyncio.ensure_future(self._cut(cut)) for cut in scenario.cuts]
        faults += [asyncio.ensure_future(self._stop(stop)) for stop in scenario.stops]
        together = asyncio.ensure_future(self._all_live())
        hangs = asyncio.ensure_future(self._stands_still())
        try:
            await asyncio.wait((together, hangs), return_when=asyncio.FIRST_COMPLETED)
            if not together.done():
                self.tally.hung = 1
                late = sorted(set(scenario.parties) - set(self._judge.ended))
                self.troubles.append(f"it hangs: {', '.join(late)} have not ended")
        finally:
            for task in (*faults, together, hangs):
                task.cancel()
            await asyncio.gather(*faults, together, hangs, return_exceptions=True)
            for crowd in crowds:
                await crowd.go()
                self.tally.faults["stranger"] += crowd.came
            for proxy in self._proxies.values():
                await proxy.close()
        for task in (together, *faults):
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]
        self._count_noise()

    async def _stands_still(self) -> None:
        """Until nothing has happened for long: no word, no message on a disk, no start, no end."""
        known, since = None, 0.0
        while since < STILL + self.scenario.wait:
            await asyncio.sleep(1)
            now = self._happened()
            known, since = now, 0.0 if now != known else since + 1

    def _happened(self) -> list[tuple[str, int]]:
        found = [(path.name, path.stat().st_size) for path in self.folder.glob("*.err")]
        for path in self.folder.glob("*/runs/*/*"):
            try:
                found.append((str(path), path.stat().st_mtime_ns))
            except OSError:
                continue  # it has just gone
        return found

    # -- a party --------------------------------------------------------------------------------

    async def _all_live(self) -> None:
        """Until all have ended, and nobody has given up waiting for what others have."""
        while True:
            async with asyncio.TaskGroup() as group:
                for name in self.scenario.parties:
                    group.create_task(self._live(name))
            if not self._judge.starts_all_again():
                return

    async def _live(self, name: str) -> None:
        """From one start to an end."""
        while (life := self._lives[name]) < LIVES:
            self._lives[name] += 1
            kill = self._kill_of(name, life)
            status = await self._one_life(name, life, kill)
            if name in self.scenario.descriptors:
                self.tally.faults["descriptors"] += _CROWDED in text_of(self._screen(name, life)[1])
            if kill is not None and await self._was_struck(kill, status):
                await asyncio.sleep(kill.pause)
                continue
            if self._is_at_wrong_time(name, life, status):
                self.tally.faults["early"] += 1
                continue
            over = self._judge.is_over(name, life, status)
            self._changed.set()
            if over and not await self._is_asked_back(name, life):
                return
        self._judge.wrong(name, f"was started {LIVES} times")

    async def _was_struck(self, kill: Kill, status: int) -> bool:
        """Whether it was the fault that ended this life; make good what can be."""
        name, how, disk = kill.party, kill.how, self._disks[kill.party]
        said = text_of(self._screen(name, kill.life)[1])
        disk.free()
        if how == "rollback" and status in (0, -signal.SIGKILL):
            if not await asyncio.to_thread(disk.roll_back):
                how = "KILL"
            if status == 0:
                if how == "KILL" or not self._judge.is_over(name, kill.life, status):
                    return False
                self._changed.set()
            self.tally.faults[f"back {self._remembered}"] += how == "rollback"
        elif status == -signal.SIGKILL:
            if how == "power":
                await asyncio.to_thread(disk.restore)
        elif how in SIGNALS or how == "version":
            if status != 75 or "titan: stopped" not in said:
                return False
            if how == "version" and not self._is_said("of titan's messages, and"):
                how = "TERM"
        elif how != "full" or status != 75 or "make room on the disk" not in said:
            return False
        self.tally.faults[how] += 1
        if kill is self.scenario.kills[0]:
            self._lose(disk)
        return True

    def _lose(self, disk: Disk) -> None:
        """What the first who is killed does not find again."""
        scenario = self.scenario
        if scenario.loses_journal and disk.has_journal:
            disk.lose_runs()
            self.tally.faults["lost"] += 1
        if scenario.loses_key and disk.lose_key(altered=scenario.loses_key == "altered"):
            self.tally.faults["key"] += 1

    def _is_said(self, words: str) -> bool:
        return any(words in text_of(path) for path in self.folder.glob("*.err"))

    def _is_at_wrong_time(self, name: str, life: int, status: int) -> bool:
        """Whether it says that it cannot begin by this clock, which is right in its next life."""
        clock = self.scenario.clock
        if clock is None or not clock.from_start or (clock.party, life, status) != (name, 0, 1):
            return False
        said = text_of(self._screen(name, life)[1])
        return "cannot be joined: the certificate of" in said and "clock" in said

    async def _is_asked_back(self, name: str, life: int) -> bool:
        """Whether somebody gives up waiting whom this party left too early."""
        if "has not confirmed everything" not in text_of(self._screen(name, life)[1]):
            return False
        gave_up = self.tally.waited
        while self.tally.waited == gave_up:
            if len(self._judge.ended) == len(self.scenario.parties):
                return False
            self._changed.clear()
            await self._changed.wait()
        return True

    async def _one_life(self, name: str, life: int, kill: Kill | None) -> int:
        out, err = self._screen(name, life)
        order: dict[str, Any] = {
            "argv": self._command(name),
            "stdout": str(out),
            "stderr": str(err),
            "noise": self._noise(name, life),
            "kill": [] if kill is None else kill.own,
            "inside": self._inside(name, life, kill),
        }
        if most := self.scenario.descriptors.get(name):
            order["descriptors"] = most
        if self._switch is not None:
            order["namespace"] = self._switch.namespace(name)
        pid, ended = self._pids[name] = await self.nurse.start(order)
        striker = None
        if kill is not None:
            striker = asyncio.ensure_future(self._strike(kill, pid, out, err, ended))
        try:
            return await ended
        except asyncio.CancelledError:
            self.nurse.kill(pid, ended)
            raise
        finally:
            if striker is not None:
                striker.cancel()
                for fell in await asyncio.gather(striker, return_exceptions=True):
                    if isinstance(fell, Exception):
                        raise fell

    def _command(self, name: str) -> list[str]:
        at, home = self.folder, self._disks[name].place
        data = [
            word
            for question, path in given(self.scenario.questions, at, name).items()
            for word in ("--data", f"{question}={path}")
        ]
        listen = [] if self._switch else ["--listen", f"127.0.0.1:{self._listen[name]}"]
        apart = ["--allow-differencing"] if {"average"} < {*self.scenario.questions} else []
        return [
            "join", str(at / "study.toml"), "--as", name, "--yes", *data, *listen, *apart,
            "--key", str(at / f"{name}.key"), "--wait", str(self.scenario.wait),
            "--runs", str(home / "runs"), "--ledger", str(home / f"{name}.ledger"),
            "--save", str(home / f"{name}.json"),
        ]  # fmt: skip

    def _noise(self, name: str, life: int) -> list[Any]:
        noise = self.scenario.noise
        if not any(vars(noise).values()):
            return []
        seed, notes = self._seed(name, life), str(self._notes)
        return [seed, notes, noise.duplicate, noise.delay, noise.swap]

    def _seed(self, name: str, life: int) -> int:
        return self.scenario.seed * 10_000 + 100 * self.scenario.parties.index(name) + life

    @property
    def _notes(self) -> Path:
        return self.folder / "noise"

    def _inside(self, name: str, life: int, kill: Kill | None) -> dict[str, Any]:
        """What is different in its process."""
        scenario, seed = self.scenario, self._seed(name, life)
        wanted: dict[str, Any] = {"secrets": [str(self.folder / "secrets")]}
        wanted["pieces"] = [str(self._notes)]
        if kill is not None and kill.how == "full":
            wanted |= self._disks[name].inside
        if kill is not None and kill.how == "version":
            wanted["version"] = [_OTHER_VERSION]
        if scenario.chunk is not None:
            wanted["chunk"] = [scenario.chunk]
        if scenario.keepalive is not None:
            wanted["keepalive"] = scenario.keepalive
        if scenario.clock is not None and name == scenario.clock.party:
            wanted["clock"] = [str(self._notes), *scenario.clock.order(life)]
        if name in scenario.insiders:
            chance, most = scenario.insiders[name]
            # Less in every life: one that had more to say than a life is long would never be heard.
            wanted["rubbish"] = [seed, str(self._notes), chance, most >> life]
        if name == scenario.liar:
            wanted["lie"] = [scenario.seed, str(self._notes)]
        return wanted

    def _screen(self, name: str, life: int) -> tuple[Path, Path]:
        return self.folder / f"{name}.{life}.out", self.folder / f"{name}.{life}.err"

    def _kill_of(self, name: str, life: int) -> Kill | None:
        found = (k for k in self.scenario.kills if (k.party, k.life) == (name, life))
        return next(found, None)

    # -- what goes wrong ------------------------------------------------------------------------

    async def _strike(
        self, kill: Kill, pid: int, out: Path, err: Path, ended: asyncio.Future[int]
    ) -> None:
        disk = self._disks[kill.party]
        if not kill.own:
            await self._moment(kill, out, err)
            if kill.how == "rollback":
                await until(lambda: ended.done() or disk.has_journal)
            send(f"SIG{'STOP' if kill.how in PAUSED else kill.how}", pid, ended)
        elif kill.how not in PAUSED:
            return  # the process does it itself
        await until(lambda: stands_still(pid))
        if kill.how == "power":
            await asyncio.to_thread(disk.cut_power)
            send("SIGKILL", pid, ended)
        elif kill.how == "full":
            await asyncio.to_thread(disk.fill)
            send("SIGCONT", pid, ended)
            await asyncio.sleep(_FULL)
            disk.free()
        elif kill.how == "rollback":
            await asyncio.to_thread(disk.remember)
            self._remembered = stage(text_of(out), text_of(err))
            send("SIGCONT", pid, ended)
            await until(lambda: ended.done() or disk.has_moved_on())
            if kill.till_answer:
                await until(lambda: text_of(out) != "")
            await asyncio.sleep(kill.pause)
            send("SIGKILL", pid, ended)

    @staticmethod
    async def _moment(kill: Kill, out: Path, err: Path) -> None:
        """When it is time; for a gentle signal, not before the process can take it."""
        if kill.when == "answer":
            await until(lambda: text_of(out) != "")
        elif kill.when == "phase":
            await until(lambda: reached(kill.phase, text_of(err)))
        elif kill.how != "KILL":
            await until(lambda: text_of(err) != "")
        await asyncio.sleep(kill.seconds)

    async def _stop(self, stop: Stop) -> None:
        err = self._screen(stop.party, 0)[1]
        await until(lambda: stop.party in self._pids and reached(stop.phase, text_of(err)))
        pid, ended = self._pids[stop.party]
        if ended.done():
            return
        send("SIGSTOP", pid, ended)
        self.tally.faults["stop"] += 1
        await asyncio.sleep(stop.lasting)
        send("SIGCONT", pid, ended)

    async def _cut(self, cut: Cut) -> None:
        """When that party comes into a phase, its connections are cut, or its packets vanish."""
        err = self._screen(cut.party, 0)[1]
        await until(lambda: reached(cut.phase, text_of(err)))
        await asyncio.sleep(cut.seconds)
        if self._switch is None:
            self.tally.faults["cut"] += await self._proxies[cut.party].cut(cut.blackout)
            return
        others = [name for name in self.scenario.parties if name != cut.party]
        ways = {(other, cut.party) for other in others if cut.ways != "from"}
        ways |= {(cut.party, other) for other in others if cut.ways != "to"}
        before = self._switch.withheld_on(ways)
        self._switch.cut |= ways
        await asyncio.sleep(cut.blackout)
        self._switch.cut -= ways
        withheld = self._switch.withheld_on(ways) > before
        self.tally.faults["hole" if cut.ways == "both" else "oneway"] += withheld

    def _count_noise(self) -> None:
        self.tally.faults.update(text_of(self._notes))
        if self._switch is not None:
            late = self._switch.delay and self._switch.counts["passed"]
            self.tally.faults.update(loss=self._switch.counts["lost"], late=int(late))
