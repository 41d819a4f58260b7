"""A run among strangers, beside the same run alone, in turns.

Five parties are processes on this machine. From the moment the first of them listens, 5,000
connections that say nothing are opened to them and held, and 10,000 more are opened and closed.
Everybody begins with the usual soft limit of 1,024 descriptors.
Whole rehearsals are timed, from the first start to the last end; the strangers' own time, on the
same processors, is part of it.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import Row, ratio, side_by_side
from titan.joint.kinds import Question
from titan.network import Network
from titan.party.loopback import study_among
from titan.party.rehearsal import rehearse
from titan.release import Dictionary, Number
from titan.study import Study

PARTIES, ROWS = tuple("abcde"), 1000
NAMES = [f"x{j}" for j in range(60)]
IDLE, CONNECTS = 5_000, 10_000
_COLUMN = Number.read("-200", "400", "0.01")
_READY = 1e-3  # seconds after which a port where nobody answered is tried again


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as made:
        folder, rng = Path(made), np.random.default_rng(1)
        files = {party: folder / f"{party}.csv" for party in PARTIES}
        for file in files.values():
            table = {name: np.round(rng.normal(100, 30, ROWS), 2) for name in NAMES}
            csv.write_csv(pa.table(table), file)
        study = study_among(
            Network.design(PARTIES, 1), folder / "keys", keys=None, now=datetime.now(UTC),
            title="a benchmark", tau=1, columns=Dictionary.of(dict.fromkeys(NAMES, _COLUMN)),
            questions=(Question("regression", "", (("formula", _formula()),)),),
        )  # fmt: skip
        counts: list[int] = []
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, limits[1]), limits[1]))
        times = side_by_side(
            lambda: counts.append(_among_strangers(study, files)), lambda: rehearse(study, files)
        )
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    what = f"{len(PARTIES)} processes among {IDLE:,} idle strangers and {CONNECTS:,} connects"
    yield ratio(f"a run of {what}: against alone", *times, at_most=2)
    least = min(counts) / (IDLE + CONNECTS)
    yield Row("the strangers' connections made by its end", f"{least:.0%}", "", None)


def _formula() -> str:
    return f"{NAMES[-1]} ~ {' + '.join(NAMES[:-1])}"


def _among_strangers(study: Study, files: dict[str, Path]) -> int:
    """How many connections strangers had made when the run was over."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        started: list[subprocess.Popen[str]] = []

        def begin(_: str, text: str) -> None:
            if "waiting for" in text and not started:
                command = [sys.executable, "-m", "benchmarks.strangers", name]
                strangers = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                started.append(stack.enter_context(strangers))
                stack.callback(strangers.kill)

        rehearse(study, files, folder=Path(name), progress=begin)
        (strangers,) = started
        strangers.kill()
        assert strangers.stdout is not None
        return int((strangers.stdout.read().split() or ["0"])[-1])


# -- the strangers ----------------------------------------------------------------------------


def be_strangers(folder: Path, tell: Callable[[int], object]) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    addresses = [card.address.split(":") for card in Study.load(folder / "study.toml").parties]
    places = cycle([(host, int(port)) for host, port in addresses])
    held: list[socket.socket] = []
    for count in range(1, IDLE + CONNECTS + 1):
        connection = _connected(places)
        if count <= IDLE:
            held.append(connection)
        else:
            connection.close()
        if count % 100 == 0:
            tell(count)
    time.sleep(3600)


def _connected(places: Iterator[tuple[str, int]]) -> socket.socket:
    while True:
        connection = socket.socket()
        try:
            connection.connect(next(places))
        except ConnectionRefusedError:
            connection.close()
            time.sleep(_READY)
        else:
            return connection


if __name__ == "__main__":
    be_strangers(Path(sys.argv[1]), lambda count: print(count, flush=True))
