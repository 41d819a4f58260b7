"""Many parties on this machine, and parties far from each other: whole studies, `titan join` each.

A regression of ten coefficients on a designed network. Far away is between network namespaces, with
a switch of our own between them; how many one-way trips follow one another is counted in sessions
without sockets (`tests/party/trips.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.party.campaign.distant import far, near
from tests.party.campaign.switch import missing
from tests.party.trips import Trips, regression

from benchmarks.measure import Row
from titan.study import Study

MANY, FAR = 50, 20
DELAY_MS, LOSS = 100.0, 0.01
MOST_SECONDS = 10.0
MOST_TRIPS = 40


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        took = asyncio.run(near(Path(folder), MANY))
    what = f"{MANY} parties on this machine: from the last process started to the last answer"
    yield _at_most_seconds(what, took, f"{took:.1f} s")
    asked = regression(FAR)
    trips = Trips.of(asked).run().reached["agreement"]
    what = f"{FAR} parties, {_recovery(asked)}: one-way trips from all connected to answered"
    yield Row(what, str(trips), f"at most {MOST_TRIPS}", trips <= MOST_TRIPS)
    yield _far(_recovery(asked))


def _recovery(study: Study) -> str:
    """What `auto` takes; where origins sign what they send, nothing has to be checked after."""
    (recovery,) = {
        f"{plan.scheme.name}, {'checked' if plan.scheme.checked else 'no check'}"
        for plan in study.plans
    }
    return recovery


def _far(recovery: str) -> Row:
    what = (
        f"{FAR} parties, {recovery}, {DELAY_MS:g} ms one way, {LOSS:.0%} loss: from all connected "
        "to answered"
    )
    if why := missing():
        return Row(what, "", "", None, skipped=why)
    with TemporaryDirectory() as folder:
        times, how = asyncio.run(far(Path(folder), FAR, DELAY_MS, LOSS))
    took = times.answered - times.connected
    return _at_most_seconds(what, took, f"{took:.1f} s ({how})")


def _at_most_seconds(what: str, took: float, measured: str) -> Row:
    return Row(what, measured, f"at most {MOST_SECONDS:g} s", took <= MOST_SECONDS)
