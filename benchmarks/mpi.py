"""Agents on MPI ranks: ten thousand of them, two ranks against one, and what privacy costs.

The price of privacy is against `MPI.Allreduce` of the same numbers as float64: each rank adds up
its own parties' vectors, then all ranks' sums are added. It hides nothing and rounds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import Row, side_by_side
from benchmarks.peers.mpi import launcher
from benchmarks.peers.processes import python_module, run_all
from benchmarks.peers.report import NotMeasuredError, need
from titan.protocol import MaskMode, Plan
from titan.protocol.recovery import RecoveryName

NETWORK = "kautz"
ENTRIES = 100_000
SCALED = 100  # parties, for two ranks against one
PRICED = 10  # parties, for the price of privacy
RECOVERIES: tuple[tuple[RecoveryName, MaskMode], ...] = (
    ("tree", "sent"),
    ("tree", "seeded"),
    ("flood", "sent"),
    ("topk", "sent"),
)
TURNS, REPEATS = 4, 3
AT_LEAST = 1.5
CLOCKS = {"seconds": "by the clock", "processor_seconds": "by processor time"}


def ranks(count: int, module: str, *arguments: str) -> Any:
    """What the first rank says in JSON."""
    with TemporaryDirectory() as name:
        log = Path(name, "log")
        run_all([[launcher(), "-n", str(count), *python_module(module, *arguments)]], log)
        said = log.read_text(encoding="utf-8")
    return json.loads(said[said.index("{") :])


def simulated(count: int, parties: int, entries: int, repeats: int) -> Any:
    options = {"parties": parties, "entries": entries, "repeat": repeats, "network": NETWORK}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ranks(count, "titan.engines.mpi", *words)


def agents() -> Row:
    told = simulated(2, 10_000, 8, 1)
    [took] = told["seconds"]
    each = f"{told['messages']:,} messages, {told['rounds']} rounds"
    return Row("10,000 real agents on 2 ranks, d=8", f"{took:.3g} s, {each}", "they run", True)


def two_against_one() -> Iterator[Row]:
    """In turns; the first of every program's repetitions pays for its memory. Processor time is
    that of the busiest rank, waiting included: it tells the same where the machine is shared."""
    best = {(count, what): np.inf for count in (1, 2) for what in CLOCKS}
    for _ in range(TURNS):
        for count in (1, 2):
            told = simulated(count, SCALED, ENTRIES, REPEATS)
            for what in CLOCKS:
                best[count, what] = min(best[count, what], *told[what])
    for what, words in CLOCKS.items():
        one, two = best[1, what], best[2, what]
        measured = f"{one / two:.2f}x as fast ({two:.3g} s against {one:.3g} s)"
        row = f"m={SCALED}, d={ENTRIES:,}, {NETWORK}: two ranks against one, {words}"
        yield Row(row, measured, f"at least {AT_LEAST:g}x", one / two >= AT_LEAST)


def prices() -> Iterator[Row]:
    for name, (ours, theirs) in ranks(2, "benchmarks.mpi").items():
        measured = f"{ours / theirs:.0f}x ({ours:.3g} s against {theirs:.3g} s)"
        yield Row(f"m={PRICED}, d={ENTRIES:,} on 2 ranks, {name}", measured, "", None)


def rows() -> Iterator[Row]:
    try:
        need("mpi4py")
        yield agents()
        yield from two_against_one()
        yield from prices()
    except NotMeasuredError as missing:
        yield Row("agents on MPI ranks", "", "", None, skipped=str(missing))


# -- on every rank ------------------------------------------------------------------------------


def price(recovery: RecoveryName, masks: MaskMode) -> tuple[float, float]:
    from titan import Network
    from titan.engines.mpi import run, world
    from titan.engines.mpi.__main__ import inputs
    from titan.engines.mpi.placement import homes
    from titan.ring import Ring

    comm, network = world().comm, Network.kautz(PRICED, 2)
    plan = Plan.make(network, Ring(128), ENTRIES, recovery=recovery, masks=masks)
    mine = np.flatnonzero(homes(network, comm.size) == comm.rank).tolist()
    secrets = inputs(plan, mine)
    floats, total = secrets[0].astype(np.float64), np.empty(ENTRIES)

    def ours() -> None:
        run(plan, lambda parties: secrets)
        comm.Barrier()

    def all_reduce() -> None:
        comm.Allreduce(floats.sum(axis=0), total)
        comm.Barrier()

    comm.Barrier()
    return side_by_side(ours, all_reduce, repeats=7)


def be_a_rank() -> None:
    from titan.engines.mpi import world

    found = {
        f"{recovery}, masks {masks}: against MPI.Allreduce": price(recovery, masks)
        for recovery, masks in RECOVERIES
    }
    if world().rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    be_a_rank()
    sys.exit()
