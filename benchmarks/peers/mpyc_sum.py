"""MPyC's secure sum: Shamir shares of every vector, added, and the sum opened to all.

Over the smallest prime field that holds the sum in fixed point with 64 fractional bits, as many as
TITAN's ring of 128 bits has, by MPyC's NumPy arrays. Time runs from the moment that all are
connected and have met until the last party has the sum; encoding is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import Row, ratio
from benchmarks.peers.inputs import MAGNITUDE, Floats, error, exact_sum, vectors
from benchmarks.peers.mpyc_parties import Work, be_a_party, run_parties
from benchmarks.peers.processes import until_all_know
from benchmarks.peers.report import AnyRow, Measured, NotMeasuredError, PeerRow, need
from benchmarks.peers.titan_runs import sum_over_tls
from titan.protocol import RelayMode

PARTIES, ENTRIES, TAU = 10, 5151, 2
FRACTION = 2**64
REPEATS = 9
TURNS = 3
AT_MOST: dict[RelayMode, float] = {"trusted": 0.25, "checked": 0.3}


def secure_sum(mpc: Any, mine: Floats) -> Work:
    """One party's part; the field and the encoding are made beforehand."""
    bound = len(mpc.parties) * MAGNITUDE * FRACTION
    field = mpc.SecFld(min_order=2 * bound + 1, signed=True)
    encoded = np.array([round(x * FRACTION) for x in mine.tolist()], dtype=object)

    async def work() -> list[int]:
        shared = mpc.input(field.array(encoded))
        total = await mpc.output(mpc.np_sum(mpc.np_stack(shared), axis=0))
        return [int(x) for x in total.signed_()]

    return work


def measured(values: Floats, tau: int | None, repeats: int = REPEATS) -> Measured:
    """All parties' processes, once; an error if they do not agree."""
    results = run_parties("benchmarks.peers.mpyc_sum", values, tau, repeats)
    if any(r["found"] != results[0]["found"] for r in results):
        raise NotMeasuredError("did not run here: the parties do not agree on the sum")
    found = [int(x) / FRACTION for x in results[0]["found"]]
    sent = max(r["sent"] for r in results)
    return Measured(until_all_know(results), sent, error(found, exact_sum(values)))


def rows() -> Iterator[AnyRow]:
    need("mpyc")
    for parties in (5, PARTIES):
        values = vectors(parties, ENTRIES)
        task = f"sum, m={parties}, d={ENTRIES}"
        for tau, remark in ((TAU, ""), (None, ", MPyC's default")):
            of = (parties - 1) // 2 if tau is None else tau
            if tau is None and of == TAU:
                continue
            ours, theirs = sum_over_tls(values, of), measured(values, tau)
            yield PeerRow(
                task,
                "MPyC, secure sum",
                theirs,
                ours,
                f"τ={of}{remark}; {parties} processes on either side, plain TCP, TITAN's TLS",
            )


def process_rows() -> Iterator[AnyRow]:
    need("mpyc")
    yield from against_processes()


def against_processes() -> Iterator[Row]:
    """All as one process per party, by turns; the median of each. MPyC checks nothing."""
    what = f"private sum, {PARTIES} processes, d={ENTRIES}, τ={TAU}, mutual TLS"
    values = vectors(PARTIES, ENTRIES)
    ours: dict[RelayMode, list[float]] = {relays: [] for relays in AT_MOST}
    theirs: list[float] = []
    try:
        for _ in range(TURNS):
            for relays, times in ours.items():
                times.append(sum_over_tls(values, TAU, REPEATS, relays).seconds)
            theirs.append(measured(values, TAU).seconds)
    except NotMeasuredError as missing:
        yield Row(what, "", "", None, skipped=str(missing))
        return
    for relays, times in ours.items():
        named = f"{what}, relays {relays}: against MPyC"
        yield ratio(named, median(times), median(theirs), AT_MOST[relays])


if __name__ == "__main__":
    be_a_party(secure_sum)
