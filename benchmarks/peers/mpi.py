"""MPI's all-reduce, by `mpi4py`: no privacy at all, the limit of what a sum can cost.

One process per party. Time runs from a barrier until the last party has the sum. MPI does not
count its bytes; no all-reduce sends fewer than 2(m - 1)/m vectors per party on average.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.peers.inputs import Floats, error, exact_sum, vectors
from benchmarks.peers.processes import (
    collect,
    hand_out,
    leave,
    own_input,
    python_module,
    run_all,
    until_all_know,
)
from benchmarks.peers.report import AnyRow, Measured, NotMeasuredError, PeerRow, need
from benchmarks.peers.titan_runs import sum_over_tls

PARTIES, ENTRIES, TAU = 10, 5151, 2
REPEATS = 21


def be_a_party(folder: Path) -> None:
    everyone = import_module("mpi4py.MPI").COMM_WORLD
    mine = own_input(folder, everyone.rank)
    total = np.empty_like(mine)
    began, knew = [], []
    for _ in range(REPEATS):
        everyone.Barrier()
        began.append(time.monotonic())
        everyone.Allreduce(mine, total)
        knew.append(time.monotonic())
    leave(folder, everyone.rank, began=began, knew=knew, found=total.tolist())


def launcher() -> str:
    """The mpiexec beside this Python, where the wheels of MPI put it, or else on the path."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    if found is None:
        raise NotMeasuredError("mpi4py is installed, but no mpiexec: `pip install mpich`")
    return found


def measured(values: Floats) -> Measured:
    command = [launcher(), "-n", str(len(values))]
    with TemporaryDirectory() as name:
        folder = Path(name)
        hand_out(folder, values)
        run_all([[*command, *python_module("benchmarks.peers.mpi", name)]], folder / "log")
        results = collect(folder, len(values))
    found = results[0]["found"]
    return Measured(until_all_know(results), None, error(found, exact_sum(values)))


def rows() -> Iterator[AnyRow]:
    need("mpi4py")
    for parties in (2, PARTIES):
        values = vectors(parties, ENTRIES)
        ours, theirs = sum_over_tls(values, min(TAU, parties - 2)), measured(values)
        yield PeerRow(
            f"sum, m={parties}, d={ENTRIES}",
            "MPI all-reduce (mpi4py)",
            theirs,
            ours,
            f"not private; floats; {parties} processes on either side",
        )


if __name__ == "__main__":
    be_a_party(Path(sys.argv[1]))
