"""Run the campaign; exit status 1 for a wrong answer, an answer that only some have, an error where
there must be none, a refusal that the rows do not deserve, a lie that is not found out, a hang, or
a secret that a finished run left; also, of 500 runs or more, where some kind of fault hardly ever
happened."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.party.campaign import disks, switch
from tests.party.campaign.nursing import Nurse
from tests.party.campaign.scenario import draw
from tests.party.campaign.tally import Tally
from tests.party.campaign.trial import Trial

_SHOWN = 3  # troubles of one run


async def campaign(
    seeds: Iterator[int], at_once: int, folder: Path, *, every: int = 10, keep: bool = False
) -> Tally:
    """Run all seeds, some at a time; a run with trouble keeps its files and tells its seed."""
    tally, began = Tally(), time.monotonic()

    async def work(nurse: Nurse) -> None:
        for seed in seeds:
            await one(nurse, seed)
            if every and tally.runs % every == 0:
                print(f"{time.monotonic() - began:6.0f} s  {tally}", flush=True)

    async def one(nurse: Nurse, seed: int) -> None:
        place = folder / f"run-{seed}"
        place.mkdir(mode=0o700)
        trial, started = Trial(draw(seed), place, nurse), time.monotonic()
        await trial.run()
        if not every:
            print(f"seed {seed}: {time.monotonic() - started:.1f} s, {trial.tally}", flush=True)
        tally.add(trial.tally)
        for trouble in trial.troubles[:_SHOWN]:
            print(f"seed {seed}: {trouble}\n    (files in {place})", file=sys.stderr, flush=True)
        if not trial.troubles and not keep:
            shutil.rmtree(place)

    async with Nurse() as nurse:
        await asyncio.gather(*(work(nurse) for _ in range(at_once)))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.party.campaign", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, nargs="+", help="these runs alone; files are kept")
    parser.add_argument("--at-once", type=int, default=4, help="runs at a time")
    parser.add_argument("--each", action="store_true", help="a line for each run")
    chosen = parser.parse_args()
    seeds = chosen.seed or range(chosen.first, chosen.first + chosen.runs)
    folder = Path(tempfile.mkdtemp(prefix="titan-faults-"))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))  # to clean up
    began = time.monotonic()
    every = 0 if chosen.seed is not None or chosen.each else 10
    keep = chosen.seed is not None
    tally = asyncio.run(campaign(iter(seeds), chosen.at_once, folder, every=every, keep=keep))
    print(f"{tally} ({time.monotonic() - began:.0f} s)\n{tally.drawn}")
    if why := disks.missing():
        print(f"power cuts were kills, and full disks failing commits, since {why}")
    if why := switch.missing():
        print(f"no hosts of their own: links were cut by proxies, since {why}")
    few = tally.too_few(apart=not switch.missing())
    for what in few:
        print(f"too few: {what}")
    if keep:
        print(f"files in {folder}")
    elif not tally.bad:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if tally.bad or few else 0


if __name__ == "__main__":
    sys.exit(main())
