"""Run the campaign; exit status 1 for a wrong answer, an answer beside an error, or a hang."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.party.campaign.nursing import Nurse
from tests.party.campaign.scenario import draw
from tests.party.campaign.trial import Tally, Trial


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
        for trouble in trial.troubles:
            print(f"seed {seed}: {trouble} (files in {place})", file=sys.stderr, flush=True)
        if not trial.troubles and not keep:
            shutil.rmtree(place)

    async with Nurse() as nurse:
        await asyncio.gather(*(work(nurse) for _ in range(at_once)))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.party.campaign", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this run alone")
    parser.add_argument("--at-once", type=int, default=4, help="runs at a time")
    parser.add_argument("--each", action="store_true", help="a line for each run")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.runs)
    if chosen.seed is not None:
        seeds = range(chosen.seed, chosen.seed + 1)
    folder = Path(tempfile.mkdtemp(prefix="titan-faults-"))
    began = time.monotonic()
    every = 0 if chosen.seed is not None or chosen.each else 10
    keep = chosen.seed is not None
    tally = asyncio.run(campaign(iter(seeds), chosen.at_once, folder, every=every, keep=keep))
    print(f"{tally} ({time.monotonic() - began:.0f} s)")
    if keep:
        print(f"files in {folder}")
    if tally.wrong or tally.hung:
        return 1
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
