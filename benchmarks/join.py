"""`titan join` from its start until all are connected, beside `titan moments` on the same file.

A party with 250,000 × 20 rows of CSV comes last: the others wait already. Both are whole processes,
start-up included, and take turns; the shortest of their times counts. They find their modules
compiled, as those of an installed package are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import Row, ratio
from titan.joint.kinds import Question
from titan.network import Network
from titan.party.loopback import study_among
from titan.release import Dictionary, Number

ROWS, COLUMNS, OTHERS = 250_000, 20, 1000
NAMES = [f"x{j}" for j in range(COLUMNS)]
FORMULA = f"{NAMES[-1]} ~ {' + '.join(NAMES[:-1])}"
_COLUMN = Number.read("-200", "400", "0.01")
_REPEATS = 7
_TITAN = (sys.executable, "-m", "titan")


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as made:
        folder, rng = Path(made), np.random.default_rng(1)
        for party, count in (("large", ROWS), ("b", OTHERS), ("c", OTHERS)):
            table = {name: np.round(rng.normal(100, 30, count), 2) for name in NAMES}
            csv.write_csv(pa.table(table), folder / f"{party}.csv")
        times = [(_connected(folder, n), _moments(folder, n)) for n in range(_REPEATS)]
    ours, theirs = (min(each) for each in zip(*times, strict=True))
    what = f"join until connected, {ROWS:,} × {COLUMNS} of CSV, others waiting: against moments"
    yield ratio(what, ours, theirs, at_most=1.3)


def _compiled(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps what it compiles."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _connected(folder: Path, number: int) -> float:
    place = folder / str(number)
    asked = Question("regression", "", (("formula", FORMULA),))
    study = study_among(
        Network.cycle(["large", "b", "c"]), place / "keys", keys=None, now=datetime.now(UTC),
        title="a benchmark", tau=1, columns=Dictionary.of(dict.fromkeys(NAMES, _COLUMN)),
        questions=(asked,),
    )  # fmt: skip
    study.save(place / "study.toml")

    def words(party: str) -> list[str]:
        return [
            *_TITAN, "join", str(place / "study.toml"), "--as", party, "--yes", "--json",
            "--data", str(folder / f"{party}.csv"), "--key", str(place / "keys" / f"{party}.key"),
        ]  # fmt: skip

    own = _compiled(folder)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": own}
    waiting = [subprocess.Popen(words(party), **quiet) for party in ("b", "c")]  # type: ignore[call-overload]
    for other in waiting:
        while not other.stderr.readline().rstrip().endswith("waiting for large"):
            pass  # until all others are there, and have nothing to do
    start = time.monotonic()
    done = subprocess.run(words("large"), capture_output=True, text=True, check=True, env=own)
    for other in waiting:
        other.communicate()
    answer = json.loads(done.stdout)
    return float(answer["started"] - start + answer["times"]["connected"])


def _moments(folder: Path, number: int) -> float:
    start = time.monotonic()
    subprocess.run(
        [*_TITAN, "moments", str(folder / "large.csv"), "--formula", FORMULA,
         "--out", str(folder / f"{number}.moments")],
        check=True, capture_output=True, env=_compiled(folder),
    )  # fmt: skip
    return time.monotonic() - start
