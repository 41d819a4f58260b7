"""TITAN's side of every comparison: the same inputs.

`titan_sum` and `titan_solve` run all parties in this one process, through the public functions;
`sum_over_tls` runs one process per party, under mutual TLS.
The network is made beforehand, as a study makes it, and so are the keys of the peers that have any.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from statistics import median
from typing import TypeVar

import numpy as np

import titan
from benchmarks import parties
from benchmarks.measure import seconds
from benchmarks.peers.inputs import Equations, Floats, error, exact_sum
from benchmarks.peers.report import Measured
from titan.engines import EngineName
from titan.protocol import RelayMode

REPEATS = 5

T = TypeVar("T")


def timed(work: Callable[[], T], repeats: int = REPEATS) -> tuple[float, T]:
    """The median time of some runs, and what the last of them returned."""
    kept: list[T] = []
    times = [seconds(lambda: kept.append(work())) for _ in range(repeats)]
    return median(times), kept[-1]


def titan_sum(values: Floats, tau: int) -> Measured:
    """One private sum on a designed network that tolerates `tau`."""
    network = titan.Network.design(len(values), tau=tau)
    took, outcome = timed(lambda: titan.average(values, network, tau=tau))
    sent = outcome.cost.bytes_sent.largest
    return Measured(took, sent, error(np.atleast_1d(outcome.total), exact_sum(values)))


def titan_solve(equations: Equations, tau: int, engine: EngineName = "local") -> Measured:
    """The whole private solve, from every party's rows to the certified solution."""
    parts = list(zip(equations.A, equations.b, strict=True))
    network = titan.Network.design(len(parts), tau=tau)
    took, solution = timed(lambda: titan.solve(parts, network, tau=tau, engine=engine))
    return Measured(took, solution.cost.bytes_sent.largest, error(solution.x, equations.exact()))


def sum_over_tls(
    values: Floats, tau: int, repeats: int = REPEATS, relays: RelayMode = "trusted"
) -> Measured:
    """One private sum on a designed network that tolerates `tau`, one process per party.

    Bytes are all that the busiest party wrote to its streams, meetings included, for each sum.
    """
    secrets = parties.encoded(values)
    results = parties.run(secrets, tau, repeats, relays)
    ring = parties.RING
    total = ring.sum(secrets, values.shape[1])
    if results[0]["found"] != sha256(total.tobytes()).hexdigest():
        raise AssertionError("TITAN's total is not the sum")
    found = [x / 2**parties.FRACTION for x in ring.to_signed(total)]
    return Measured(
        median(parties.durations([r["reached"] for r in results])),
        max(r["written"] for r in results) // repeats,
        error(found, exact_sum(values)),
    )
