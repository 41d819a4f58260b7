"""A private average among simulated parties on all ranks: how long it takes, and what it costs.

    mpiexec -n 4 python -m titan.engines.mpi --parties 10000 --entries 8 --network kautz

Party number i = 1, 2, … holds the vector i, 2i, 3i, …, so that the sum is known beforehand: it is
compared, and so is what was counted with what was planned. The first rank prints JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from titan.engines.local import Outcome
from titan.engines.mpi import run
from titan.engines.mpi.ranks import Ranks, end_others, speaks, world
from titan.errors import RecoveryError, TitanError
from titan.network import Network
from titan.protocol import Plan
from titan.protocol.recovery import recovery_names
from titan.ring import Residues, Ring

_SHOWN = 5
_DEGREE = 2
_FAMILIES = {
    "cycle": lambda o: Network.cycle(o.parties),
    "complete": lambda o: Network.complete(o.parties),
    "kautz": lambda o: Network.kautz(o.parties, o.degree),
    "debruijn": lambda o: Network.de_bruijn(o.parties, o.degree),
    "random": lambda o: Network.random(o.parties, o.degree, o.seed),
    "design": lambda o: Network.design(o.parties, 1 if o.tau is None else o.tau),
}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        ranks = world()
        _advise(ranks)
        told = measured(options, ranks)
        if ranks.rank == 0:
            print(json.dumps(told, indent=2))
    except TitanError as error:
        if speaks(error):
            print(f"titan: error: {error.message}", file=sys.stderr)
            if error.hint:
                print(f"titan: hint: {error.hint}", file=sys.stderr, flush=True)
        end_others(error, error.exit_status)
        return error.exit_status
    return 0


def measured(options: Namespace, ranks: Ranks) -> dict[str, Any]:
    """Run it as often as asked; what was found, for JSON."""
    network = _FAMILIES[options.network](options)
    plan = Plan.make(
        network,
        Ring(options.bits),
        options.entries,
        recovery=options.recovery,
        k=options.k,
        masks=options.masks,
        relays=options.relays,
        tau=options.tau,
    )
    seconds, processor = [], []
    for _ in range(options.repeat):
        ranks.comm.Barrier()
        began, worked = time.monotonic(), time.process_time_ns()
        outcome = run(plan, lambda parties: inputs(plan, parties))
        processor.append(ranks.largest(time.process_time_ns() - worked) / 1e9)
        seconds.append(time.monotonic() - began)
    check(plan, outcome)
    m, cost = len(network), outcome.cost
    return {
        "ranks": ranks.size,
        "parties": m,
        "entries": plan.dimension,
        "recovery": plan.scheme.name,
        "average": [(m + 1) / 2 * j for j in range(1, min(plan.dimension, _SHOWN) + 1)],
        "seconds": seconds,
        "processor_seconds": processor,  # of the rank that took most
        "rounds": cost.rounds,
        "messages": cost.messages,
        "bytes_sent": cost.bytes_sent.total,
        "bytes_sent_by_the_busiest": cost.bytes_sent.largest,
    }


def inputs(plan: Plan, parties: Sequence[int]) -> Residues:
    """i, 2i, 3i, … of party number i, counted from 1: (limbs, parties, entries)."""
    found = plan.ring.zeros(len(parties), plan.dimension)
    i, j = np.array(parties, np.uint64) + 1, np.arange(1, plan.dimension + 1, dtype=np.uint64)
    found[0] = np.multiply.outer(i, j) & np.uint64(min(plan.ring.modulus, 1 << 64) - 1)
    return found


def check(plan: Plan, outcome: Outcome) -> None:
    """The sum of all j·i is j·m(m + 1)/2; costs are as planned."""
    m = len(plan.network)
    each = m * (m + 1) // 2
    expected = [j * each % plan.ring.modulus for j in range(1, plan.dimension + 1)]
    if plan.ring.to_ints(outcome.total) != expected:
        raise RecoveryError("the sum is not the one that the inputs have")
    if outcome.cost != plan.cost:
        raise RecoveryError("what was counted is not what was planned")


def _advise(ranks: Ranks) -> None:
    if ranks.size > 1:
        return
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    launcher = "mpiexec" if shutil.which("mpiexec") else beside
    hint = f"{launcher} -n 4 python -m titan.engines.mpi … starts four"
    if launcher is None:
        hint = "there is no mpiexec: python -m pip install mpich brings one"
    print(f"titan: one rank only; {hint}", file=sys.stderr)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m titan.engines.mpi",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--parties", type=_positive, default=10, help="how many (default: 10)")
    add("--entries", type=_positive, default=1, help="of each party's vector (default: 1)")
    add("--network", choices=_FAMILIES, default="cycle", help="default: cycle")
    add("--degree", type=int, default=_DEGREE, help="of kautz, debruijn, random (default: 2)")
    add("--seed", type=int, default=0, help="of random (default: 0)")
    add("--tau", type=int, help="refuse unless this many curious parties learn nothing")
    add("--recovery", choices=recovery_names(), default="auto", help="default: auto")
    add("--k", type=int, help="of topk")
    add("--bits", type=_positive, default=128, help="sums are modulo 2^bits (default: 128)")
    add("--masks", choices=("sent", "seeded"), default="sent", help="default: sent")
    add("--relays", choices=("trusted", "checked"), default="trusted", help="default: trusted")
    add("--repeat", type=_positive, default=1, help="run it so often (default: 1)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
