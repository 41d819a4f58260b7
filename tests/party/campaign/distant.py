"""Parties far from each other: a whole study between network namespaces, with delay and loss.

`python -m tests.party.campaign.distant --parties 20 --delay-ms 100 --loss 0.01` says how long it
took from all connected to the last answer. With `--near --parties 50` all are on this machine, and
wait for one; the clock starts with the process of that one. No right answer, no exit status 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import titan
from tests.party.campaign.nursing import Nurse
from tests.party.campaign.switch import Switch, missing
from titan import Network
from titan.joint.kinds import Question
from titan.party.loopback import free_addresses
from titan.release import Dictionary, Number
from titan.study import Identity, Link, Study

PORT = 7443
WAIT = 120.0
_MADE = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class Distant:
    """A regression of ten coefficients on a designed network; every party in its own place."""

    folder: Path
    names: tuple[str, ...]
    address: Callable[[str], str]
    namespace: Callable[[str], str] | None = None
    coefficients: int = 10
    changes: dict[str, Any] = field(default_factory=dict)

    def write(self) -> Study:
        """Keys, rows and the study."""
        columns = [f"x{at}" for at in range(1, self.coefficients)]
        cards = []
        for name in self.names:
            found = Identity.create(name, self.address(name), now=_MADE, days=36_500)
            found.save(self.folder)
            cards.append(found.card)
            rng = Random(name)
            lines = [
                ",".join(str(rng.randrange(1000)) for _ in range(self.coefficients))
                for _ in range(40)
            ]
            text = "\n".join([",".join([*columns, "y"]), *lines])
            (self.folder / f"{name}.csv").write_text(text + "\n")
        formula = f"y ~ {' + '.join(columns) or '1'}"
        study = Study(
            title="parties far from each other",
            tau=1,
            parties=tuple(cards),
            links=tuple(Link(a, b) for a, b in Network.design(self.names, 1).edges),
            columns=Dictionary.of({c: Number.read("0", "1000", "1") for c in [*columns, "y"]}),
            questions=(Question("regression", "", (("formula", formula),)),),
            **self.changes,
        )
        study.save(self.folder / "study.toml", force=True)
        return study

    def compare(self, found: dict[str, dict[str, Any]]) -> None:
        """With what `titan.fit` has for the same rows: AssertionError where it is not that."""
        study = Study.load(self.folder / "study.toml")
        tables = {name: self.folder / f"{name}.csv" for name in self.names}
        formula = str(dict(study.questions[0].asked)["formula"])
        expected = dict(titan.fit(tables, study.network, formula=formula, tau=1).params)
        assert {name for name in self.names if found[name]["params"] == expected} == {*self.names}

    def words(self, name: str) -> list[str]:
        at = self.folder
        return [
            "join", str(at / "study.toml"), "--as", name, "--yes", "--wait", str(WAIT),
            "--data", str(at / f"{name}.csv"), "--key", str(at / f"{name}.key"),
            "--save", str(at / f"{name}.json"),
        ]  # fmt: skip

    def said(self, name: str) -> str:
        path = self.folder / f"{name}.err"
        return path.read_text() if path.exists() else ""

    def saved(self) -> dict[str, dict[str, Any]]:
        return {name: json.loads((self.folder / f"{name}.json").read_text()) for name in self.names}

    async def join(self, nurse: Nurse, name: str) -> tuple[int, asyncio.Future[int]]:
        """One process: its number, and its exit status to come."""
        at = self.folder
        order: dict[str, Any] = {
            "argv": self.words(name),
            "stdout": str(at / f"{name}.out"),
            "stderr": str(at / f"{name}.err"),
            "noise": [],
            "kill": [],
        }
        if self.namespace is not None:
            order["namespace"] = self.namespace(name)
        return await nurse.start(order)

    async def run(self, nurse: Nurse) -> dict[str, dict[str, Any]]:
        """All together; what each has saved. AssertionError for one that has nothing."""
        begun = [await self.join(nurse, name) for name in self.names]
        statuses = await asyncio.wait_for(asyncio.gather(*(ended for _, ended in begun)), WAIT)
        failed = {n: s for n, s in zip(self.names, statuses, strict=True) if s != 0}
        for name in failed:
            print(self.said(name)[-2000:], file=sys.stderr)
        assert not failed, failed
        return self.saved()


@dataclass(frozen=True)
class Times:
    """Of all parties of one machine, whose monotonic clock they share."""

    started: float
    """When the last process began."""
    connected: float
    pooled: float
    answered: float

    @classmethod
    def of(cls, found: dict[str, dict[str, Any]]) -> Times:
        def last(what: str) -> float:
            return max(float(each["started"] + each["times"][what]) for each in found.values())

        began = max(each["started"] for each in found.values())
        return cls(began, last("connected"), last("pooled"), last("answered"))

    def __str__(self) -> str:
        return (
            f"{self.answered - self.connected:.2f} s from all connected to the last answer; "
            f"{self.answered - self.started:.2f} s from the last process started "
            f"({self.connected - self.started:.2f} s until all were connected)"
        )


async def far(
    folder: Path, parties: int, delay_ms: float, loss: float, seed: int = 0
) -> tuple[Times, str]:
    """Each in a network namespace of its own; how long it took, and what happened on the way."""
    names = tuple(f"p{at}" for at in range(parties))
    with Switch(names, delay=delay_ms / 1000, loss=loss, seed=seed) as switch:
        place = Distant(
            folder, names, lambda name: f"{switch.address(name)}:{PORT}", switch.namespace
        )
        place.write()
        async with Nurse() as nurse:
            found = await place.run(nurse)
        place.compare(found)
        lost = f"{switch.counts['lost']} of {switch.counts.total()} packets lost"
        return Times.of(found), f"{delay_ms:g} ms one way, {lost}"


async def near(folder: Path, parties: int) -> float:
    """All on this machine: seconds from the last process started to the last answer."""
    *names, last = (f"p{at}" for at in range(parties))
    addresses = dict(zip([*names, last], free_addresses(parties), strict=True))
    place = Distant(folder, (*names, last), addresses.__getitem__)
    place.write()
    async with Nurse() as nurse:
        for name in names:
            await place.join(nurse, name)
        waiting = f"waiting for {last}\n"
        while not all(waiting in place.said(name) for name in names):
            await asyncio.sleep(0.05)
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "titan", *place.words(last),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert await process.wait() == 0
        async with asyncio.timeout(WAIT):
            while not all((folder / f"{name}.json").exists() for name in names):
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # for whole files
    found = place.saved()
    place.compare(found)
    return Times.of(found).answered - began


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.party.campaign.distant")
    parser.add_argument("--parties", type=int, default=20)
    parser.add_argument("--delay-ms", type=float, default=100.0, help="one way")
    parser.add_argument("--loss", type=float, default=0.01, help="share of the packets")
    parser.add_argument("--seed", type=int, default=0, help="of what is lost")
    parser.add_argument("--near", action="store_true", help="on this machine, without a switch")
    chosen = parser.parse_args()
    if not chosen.near and (why := missing()):
        print(f"not here: {why}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="titan-distant-") as folder:
        if chosen.near:
            took = asyncio.run(near(Path(folder), chosen.parties))
            told = f"{took:.2f} s from the last process started to the last answer"
        else:
            run = far(Path(folder), chosen.parties, chosen.delay_ms, chosen.loss, chosen.seed)
            times, how = asyncio.run(run)
            told = f"{how}: {times}"
    print(f"{chosen.parties} parties, {told}; load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
