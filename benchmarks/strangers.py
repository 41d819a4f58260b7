"""A run among strangers, beside the same run alone, in turns.

Five parties are processes on this machine. When four of them listen, 5,000 connections that say
nothing are opened to them and held. Then the fifth party starts, and 10,000 more connections are
opened and closed. What is timed is from the fifth's start to the last one's end; the strangers' own
time, on the same processors, is part of it. Everybody begins with the usual soft limit of 1,024
descriptors.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import Row, ratio
from titan.joint.kinds import Question
from titan.network import Network
from titan.party.loopback import study_among
from titan.release import Dictionary, Number
from titan.study import Study

PARTIES, ROWS, REPEATS = tuple("abcde"), 1000, 3
NAMES = [f"x{j}" for j in range(60)]
IDLE, CONNECTS = 5_000, 10_000
_COLUMN = Number.read("-200", "400", "0.01")
_WAIT = 1.0  # seconds for one connection
_HELD = "held"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as made:
        folder, rng = Path(made), np.random.default_rng(1)
        for party in PARTIES:
            table = {name: np.round(rng.normal(100, 30, ROWS), 2) for name in NAMES}
            csv.write_csv(pa.table(table), folder / f"{party}.csv")
        study = study_among(
            Network.design(PARTIES, 1), folder, keys=None, now=datetime.now(UTC),
            title="a benchmark", tau=1, columns=Dictionary.of(dict.fromkeys(NAMES, _COLUMN)),
            questions=(Question("regression", "", (("formula", _formula()),)),),
        )  # fmt: skip
        study.save(folder / "study.toml")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, limits[1]), limits[1]))
        try:
            found = [
                _run(study, folder, 2 * at + strangers, strangers=strangers)
                for at in range(REPEATS)
                for strangers in (False, True)
            ]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    alone, among = (min(took for took, _ in found[at::2]) for at in (0, 1))
    what = f"{len(PARTIES)} processes among {IDLE:,} idle strangers and {CONNECTS:,} connects"
    yield ratio(f"a run of {what}: against alone", among, alone, at_most=2)
    least = min(made for _, made in found[1::2]) / CONNECTS
    held = f"{IDLE:,} held before the last party starts, {least:.0%} of the others by the end"
    yield Row("the strangers' connections", held, "all are held", least > 0)


def _formula() -> str:
    return f"{NAMES[-1]} ~ {' + '.join(NAMES[:-1])}"


def _run(study: Study, folder: Path, number: int, *, strangers: bool) -> tuple[float, int]:
    """How long the last party and all others take, and how many connects were made meanwhile."""
    with ExitStack() as stack:
        *early, last = PARTIES
        joined = [_join(stack, folder, name, number) for name in early]
        places = [_place(study, name) for name in early]
        for place in places:
            _connected(cycle([place])).close()
        crowd = _start_strangers(stack, folder) if strangers else None
        start = time.perf_counter()
        if crowd is not None and crowd.stdin is not None:
            crowd.stdin.write("go\n")
            crowd.stdin.flush()
        joined.append(_join(stack, folder, last, number))
        ended = [process.wait(300) for process in joined]
        took = time.perf_counter() - start
        assert ended == [0] * len(PARTIES), "a run among strangers has its answer"
        if crowd is None or crowd.stdout is None:
            return took, 0
        crowd.kill()
        return took, int(crowd.stdout.read().split()[-1])


def _join(stack: ExitStack, folder: Path, name: str, number: int) -> subprocess.Popen[bytes]:
    words = [
        sys.executable, "-m", "titan", "join", "study.toml", "--as", name, "--data", f"{name}.csv",
        "--key", f"{name}.key", "--run", str(number + 1), "--yes",
    ]  # fmt: skip
    quiet = subprocess.DEVNULL
    process = stack.enter_context(subprocess.Popen(words, cwd=folder, stdout=quiet, stderr=quiet))
    stack.callback(process.kill)
    return process


def _start_strangers(stack: ExitStack, folder: Path) -> subprocess.Popen[str]:
    """Once they hold their idle connections."""
    words, pipe = [sys.executable, "-m", "benchmarks.strangers", str(folder)], subprocess.PIPE
    crowd = stack.enter_context(subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True))
    stack.callback(crowd.kill)
    assert crowd.stdout is not None
    assert crowd.stdout.readline().strip() == _HELD
    return crowd


def _place(study: Study, name: str) -> tuple[str, int]:
    host, port = study.card(name).address.rsplit(":", 1)
    return host, int(port)


# -- the strangers ----------------------------------------------------------------------------


def be_strangers(folder: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    study = Study.load(folder / "study.toml")
    places = cycle([_place(study, name) for name in PARTIES[:-1]])
    held = [_connected(places) for _ in range(IDLE)]
    print(_HELD, flush=True)
    sys.stdin.readline()
    print(0, flush=True)
    for count in range(1, CONNECTS + 1):
        _connected(places).close()
        if count % 100 == 0:
            print(count, flush=True)
    time.sleep(3600)
    del held


def _connected(places: Iterator[tuple[str, int]]) -> socket.socket:
    """The first of them that answers."""
    while True:
        with suppress(OSError):
            return socket.create_connection(next(places), _WAIT)
        time.sleep(0.01)


if __name__ == "__main__":
    be_strangers(Path(sys.argv[1]))
