"""How rounds, bytes and time grow: with the parties m, the entries d and the network's diameter D.

One private sum of d entries in a ring of 128 bits, masks sent. Three sweeps:

    parties    m = 10, 100, …, one entry, on a directed cycle and on a designed network
    entries    d = 1, 10, …, among ten parties
    diameter   sixty parties on networks from complete (D = 1) to the cycle (D = 59)

Rounds and bytes are what real agents counted where these ran, and must be what was planned; else
the plan's, which tests hold to the agents' counts; and beyond what a plan is made for, formulas:

    tree     rounds: depth of the trees, up and down;  a vector along every edge of both
    flood    rounds D;                                 every party receives m - 1 vectors
    topk     rounds D⌈m/k⌉;                            k values and ids to every out-neighbour, each

Time is this machine's processor time where a sum ran, else that of the largest that did, times what
more is sent.
"""

# Rule: every number says how it was found.

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from titan.engines import local, vectorised
from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol import Cost, Plan, RecoveryName
from titan.protocol.masking import SEED_BYTES
from titan.protocol.messages import HEADER_BYTES
from titan.ring import Ring

BITS = 128
TAU = 1
K = 10
RING = Ring(BITS)
LARGEST = 1_000_000
MOST_ENTRIES = 1_000_000
ENTRIES_PARTIES = 10
DIAMETER_PARTIES = 60
_ID_BYTES = 2

How = Literal["counted", "planned", "formula"]
Sweep = Literal["parties", "entries", "diameter"]
RECOVERIES: tuple[RecoveryName, ...] = ("tree", "flood", "topk")
MOST_PLANNED: dict[str, int] = {"tree": 1_000_000, "flood": 1_000, "topk": 10_000}
"""Parties up to which a plan is made: flood's traffic depends on every pair of them."""
_MOST_MESSAGES, _MOST_TURNS, _MOST_BYTES = 25_000, 150_000, 1 << 26
"""Of agents that run here, some seconds each; a turn is one agent in one round."""
_MOST_ARRAYS: dict[str, int] = {"tree": 1_000_000, "flood": 0, "topk": 1_000}
"""Parties up to which arrays run beyond that. (Of flood they would show nothing of its traffic.)"""
_MOST_ROUNDS_OF_ARRAYS = 30_000


@dataclass(frozen=True)
class Point:
    """One sum, and how each of its figures was found."""

    sweep: Sweep
    network: str
    recovery: str
    m: int
    d: int
    diameter: int
    rounds: int
    bytes_busiest: int
    bytes_total: int
    messages: int
    costs: How
    seconds: float | None = None
    engine: str = ""
    """That took the time; of an extrapolated one, the engine that took what it is made of."""
    measured: bool = False

    @property
    def series(self) -> tuple[str, str]:
        return self.network, self.recovery


@dataclass(frozen=True)
class Result:
    """All points. Counts that differ from plans raise before there is one."""

    points: tuple[Point, ...]

    def of(self, sweep: Sweep) -> list[Point]:
        return [point for point in self.points if point.sweep == sweep]


def run(
    largest: int = LARGEST,
    most_entries: int = MOST_ENTRIES,
    diameter_parties: int = DIAMETER_PARTIES,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Every sweep; with fewer parties and entries it is quick."""
    work = [*_parties(largest), *_entries(most_entries), *_diameters(diameter_parties)]
    points = []
    for done, measure in enumerate(work, 1):
        points.append(measure())
        if progress is not None:
            progress(done, len(work))
    return Result(tuple(_with_times(points)))


Measure = Callable[[], Point]


def _parties(largest: int) -> Iterator[Measure]:
    for name, make in _FAMILIES.items():
        for recovery in RECOVERIES:
            m = 10
            while m <= largest:
                yield _later("parties", name, make, m, 1, recovery)
                m *= 10


def _entries(most: int) -> Iterator[Measure]:
    for recovery in RECOVERIES:
        d = 1
        while d <= most:
            yield _later("entries", "designed", _designed, ENTRIES_PARTIES, d, recovery)
            d *= 10


def _diameters(m: int) -> Iterator[Measure]:
    """Circulant graphs: the farther the offsets reach, the shorter the ways."""
    offsets = [range(1, m), range(1, 1 + m // 3), range(1, 8), [1, 8], [1, 3], [1, 2], [1]]
    for each in offsets:
        for recovery in RECOVERIES:
            yield _later("diameter", "circulant", _circulant(list(each)), m, 1, recovery)


def _circulant(offsets: list[int]) -> Callable[[int], Network]:
    return lambda m: Network.circulant(m, offsets)


def _designed(m: int) -> Network:
    return Network.design(m, TAU)


_FAMILIES: dict[str, Callable[[int], Network]] = {"cycle": Network.cycle, "designed": _designed}


def _later(
    sweep: Sweep,
    name: str,
    make: Callable[[int], Network],
    m: int,
    d: int,
    recovery: RecoveryName,
) -> Measure:
    return lambda: measure(sweep, name, make(m), d, recovery)


def measure(sweep: Sweep, name: str, network: Network, d: int, recovery: RecoveryName) -> Point:
    """By agents, by arrays, by the plan, or by formulas: the first that will do here."""
    m, diameter = len(network), diameter_of(name, network)
    if m > MOST_PLANNED[recovery]:
        rounds, busiest, total, messages = formula(network, diameter, d, recovery)
        return Point(
            sweep, name, recovery, m, d, diameter, rounds, busiest, total, messages, "formula"
        )
    plan = Plan.make(network, RING, d, recovery=recovery, k=K if recovery == "topk" else None)
    cost = plan.cost
    figures = cost.recovery_rounds, cost.bytes_sent.largest, cost.bytes_sent.total, cost.messages
    point = Point(sweep, name, recovery, m, d, diameter, *figures, "planned")
    few = cost.messages <= _MOST_MESSAGES and m * cost.rounds <= _MOST_TURNS
    if few and cost.bytes_sent.total <= _MOST_BYTES:
        seconds = _timed(plan, local.run, cost)
        return replace(point, costs="counted", seconds=seconds, engine="agents", measured=True)
    if m <= _MOST_ARRAYS[recovery] and cost.recovery_rounds <= _MOST_ROUNDS_OF_ARRAYS:
        seconds = _timed(plan, vectorised.run, cost)
        return replace(point, seconds=seconds, engine="arrays", measured=True)
    return point


def diameter_of(name: str, network: Network) -> int:
    """Of a cycle it is known; of a very large network a bound is, of at most twice as much."""
    if name == "cycle":
        return len(network) - 1
    return network.diameter if len(network) <= 10_000 else network.diameter_bound


def _timed(plan: Plan, engine: Callable[..., local.Outcome], cost: Cost) -> float:
    """Each party's vector is 1, 1, …; the sum must be m everywhere, and the cost as planned."""
    m = len(plan.network)
    secrets = plan.ring.zeros(m, plan.dimension)
    secrets[0] = 1
    began = time.process_time()  # one core, whatever else the machine does
    outcome = engine(plan, secrets)
    seconds = time.process_time() - began
    if np.any(outcome.total[0] != m) or outcome.cost != cost:
        raise RecoveryError("a sum, or what it cost, is not what was planned")
    return seconds


# -- formulas -------------------------------------------------------------------------------------


def formula(
    network: Network, diameter: int, d: int, recovery: RecoveryName
) -> tuple[int, int, int, int]:
    """Rounds, bytes of the busiest party, bytes and messages of all; d does not count the 1.

    Of flood, the busiest party is taken to send what all send on average, and every link to have
    something to say in every round: that is the most.
    """
    m, links = len(network), len(network.senders)
    vector = RING.width * (d + 1)
    mask = HEADER_BYTES + SEED_BYTES + vector
    most = int(network.out_degree.max())
    if recovery == "topk":
        rounds = diameter * -(-m // K)
        a_list = HEADER_BYTES + K * (d + 1) * (RING.width + _ID_BYTES)
        edge = mask + rounds * a_list
        return rounds, most * edge, links * edge, links * (rounds + 1)
    told = diameter * links
    total = links * mask + m * (m - 1) * (vector + 4) + told * (HEADER_BYTES + 4)
    return diameter, total // m, total, links + told


# -- time -----------------------------------------------------------------------------------------


def _with_times(points: list[Point]) -> Iterator[Point]:
    """Where no sum ran: the time of the largest of its kind that did, by what more is sent."""
    for point in points:
        if point.seconds is not None:
            yield point
            continue
        ran = [
            p for p in points if p.series == point.series and p.sweep == point.sweep and p.measured
        ]
        if not ran:
            yield point
            continue
        last = max(ran, key=lambda p: p.bytes_total)
        seconds = (last.seconds or 0.0) * point.bytes_total / last.bytes_total
        yield replace(point, seconds=seconds, engine=last.engine)
