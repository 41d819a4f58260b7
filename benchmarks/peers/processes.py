"""Peers that run one process per party: inputs in files, one each, and one file of results back.

A party finds `<i>.npy` in the folder it is given and leaves `<i>.json`. It gets no other party's
file name, and the seed of the inputs is not used there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.report import NotMeasuredError

ROOT = Path(__file__).parent.parent.parent
DEADLINE_SECONDS = 600.0
REST_SECONDS = 0.1


def hand_out(folder: Path, inputs: npt.NDArray[Any]) -> None:
    for i, mine in enumerate(inputs):
        np.save(folder / f"{i}.npy", mine, allow_pickle=False)


def own_input(folder: Path, party: int) -> npt.NDArray[Any]:
    mine: npt.NDArray[Any] = np.load(folder / f"{party}.npy", allow_pickle=False)
    return mine


def leave(folder: Path, party: int, **result: Any) -> None:
    (folder / f"{party}.json").write_text(json.dumps(result), encoding="utf-8")


def collect(folder: Path, parties: int) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{i}.json").read_text("utf-8")) for i in range(parties)]


def rest(folder: Path, repetition: int) -> float:
    """Seconds until all begin this repetition, at the instant that the first one here names.

    So nobody is ahead, and nobody is still busy with what came before.
    """
    common, own = folder / f"begin-{repetition}", folder / f"begin-{repetition}-{os.getpid()}"
    own.write_text(repr(time.monotonic() + REST_SECONDS), encoding="utf-8")
    with suppress(FileExistsError):
        common.hardlink_to(own)
    own.unlink()
    return max(0.0, float(common.read_text("utf-8")) - time.monotonic())


def until_all_know(results: Sequence[dict[str, Any]]) -> float:
    """A repetition lasts from the first party's beginning until the last has the result.

    Parties begin once all have met and rested; their clock is the machine's, common to all
    processes. The median of the repetitions.
    """
    began, knew = (
        list(zip(*(r[what] for r in results), strict=True)) for what in ("began", "knew")
    )
    return float(median(max(end) - min(start) for start, end in zip(began, knew, strict=True)))


def python_module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


def run_all(commands: Sequence[Sequence[str]], log: Path) -> None:
    """Start all, and wait for all; if one fails, end the others and say what it said."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with log.open("w+", encoding="utf-8", errors="replace") as output:
        running = [
            subprocess.Popen(c, cwd=ROOT, env=environment, stdout=output, stderr=output)
            for c in commands
        ]
        try:
            failed = _first_failure(running)
        finally:
            for process in running:
                _end(process)
        if failed:
            output.seek(0)
            said = output.read().strip().splitlines()
            raise NotMeasuredError(f"did not run here: {failed} {said[-1] if said else ''}".strip())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Politely first: a launcher then ends the processes that it has started."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _first_failure(running: Sequence[subprocess.Popen[bytes]]) -> str:
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end:
        codes = [process.poll() for process in running]
        for code in codes:
            if code:
                return f"exit status {code};"
        if None not in codes:
            return ""
        time.sleep(0.05)
    return f"not done after {DEADLINE_SECONDS:.0f} s;"
