"""Mutated frames for every decoder of a party, and for sessions in the middle of a run.

    python -m tests.party.campaign.mutated --frames 1000000

Exit status 1 for an error that is not one of ours, for bytes that were accepted and encode to
others, and for an agreement on a wrong sum; each is shown with what it takes to see it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from tests.party.decoders import Decoder, every_decoder
from tests.party.test_refusals import RECOVERIES, Heard, Trial, listen

BATCH = 50_000
OF_SESSIONS = 10  # of 100 frames
MUTANTS_EACH = 3
TROUBLES = 10
"""Shown at most."""


def campaign(decoders: Sequence[Decoder], heard: Sequence[Heard], frames: int, first: int) -> int:
    """How many were tried; each trouble is told on the standard error stream."""
    found, began = Counter[str](), time.monotonic()
    for_sessions = frames * OF_SESSIONS // 100
    for seed, of in enumerate(batches(frames - for_sessions), first):
        for decoder in decoders:
            found += decoded(decoder, seed, of)
        print(f"{time.monotonic() - began:6.0f} s  {found.total()} frames", flush=True)
    slipped = Counter[str]()
    for seed, one in enumerate(cycle(heard), first):
        if slipped.total() >= for_sessions:
            break
        slipped += in_session(one, seed)
    whole = found + slipped
    troubles = whole["changed"] + whole["crashed"]
    print(
        f"{whole.total()} mutated frames, {slipped.total()} of them in sessions: "
        f"{whole['crashed']} crashes, {whole['refused']} refused, {whole['changed']} accepted "
        f"that encode to others ({time.monotonic() - began:.0f} s)"
    )
    return troubles


def batches(frames: int) -> list[int]:
    return [BATCH] * (frames // BATCH) + [frames % BATCH]


def decoded(decoder: Decoder, seed: int, of: int) -> Counter[str]:
    found = Counter[str]()
    for data in decoder.mutants(seed, of):
        try:
            what, why = decoder.tried(data), ""
        except Exception:
            what, why = "crashed", traceback.format_exc()
        found[what] += 1
        if what in ("changed", "crashed") and found[what] <= TROUBLES:
            print(f"{decoder.name}: {what}: {data.hex()}\n{why}", file=sys.stderr, flush=True)
    return found


def in_session(heard: Heard, seed: int) -> Counter[str]:
    found = Counter[str]()
    try:
        Trial(heard, random.Random(seed), found)(MUTANTS_EACH)
    except Exception:
        found["crashed"] += 1
        why = traceback.format_exc()
        print(f"session of {heard.recovery}, seed {seed}:\n{why}", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.party.campaign.mutated")
    parser.add_argument("--frames", type=int, default=1_000_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="titan-mutated-") as name:
        folder = Path(name)
        decoders = every_decoder(folder)
        heard = []
        for recovery in RECOVERIES:
            (place := folder / f"heard-{recovery}").mkdir()
            heard.append(listen(place, recovery))
    return 1 if campaign(decoders, heard, chosen.frames, chosen.first) else 0


if __name__ == "__main__":
    sys.exit(main())
