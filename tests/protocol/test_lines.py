"""What a sum takes on given lines, and what `auto` makes of it: by hand, in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from titan import Network
from titan.protocol import Lines, Plan
from titan.protocol.lines import NANOSECONDS as MS
from titan.protocol.messages import HEADER_BYTES
from titan.ring import Ring

RING = Ring(64)
CYCLE = Network.cycle(4)  # the tree's root is party 0: three links up, three down


def _plan(recovery: str, entries: int = 1) -> Plan:
    return Plan.make(CYCLE, RING, entries - 1, recovery=recovery)  # type: ignore[arg-type]


def _alike(network: Network, latency_ms: int, mbit: int) -> Lines:
    count = len(network.edges)
    return Lines.of(network, [latency_ms] * count, [mbit] * count)


def test_latencies_follow_each_other_as_rounds_do() -> None:
    lines = _alike(CYCLE, 100, 1_000_000)
    assert lines.furthest == 300 * MS
    for recovery, trips in (("flood", 3), ("tree", 6), ("topk", 3)):
        found = lines.recovery(_plan(recovery).scheme)
        assert trips * 100 * MS <= found < (trips * 100 + 1) * MS


def test_of_unequal_latencies_those_on_the_way_count() -> None:
    """Links 0→1, 1→2, 2→3, 3→0, and one from 0 to 2 that nobody should take."""
    network = Network([*CYCLE.edges, (CYCLE.parties[0], CYCLE.parties[2])], CYCLE.parties)
    said = {(0, 1): 1, (0, 2): 100, (1, 2): 2, (2, 3): 4, (3, 0): 8}
    ends = zip(network.senders.tolist(), network.receivers.tolist(), strict=True)
    lines = Lines.of(network, [said[edge] for edge in ends], [1000] * 5)
    assert lines.furthest == 14 * MS, "1→2→3→0; 0→2 goes by way of 1"
    flood = Plan.make(network, RING, 0, recovery="flood").scheme
    assert flood.longest_way(lines.latency) == 3 * 100 * MS, "every round waits for the slowest"
    ways = np.array([1, 2, 4, 8], np.int64)
    assert _plan("tree").scheme.longest_way(ways) == (2 + 4 + 8) + (1 + 2 + 4)


def test_the_busiest_party_sends_or_receives_on_one_line() -> None:
    star = Network([("a", "b"), ("a", "c"), ("b", "a"), ("c", "a")])
    lines = Lines.of(star, [0] * 4, [8, 4, 8, 8])  # 1000 and 500 bytes in a millisecond
    assert lines.busiest(np.array([1000, 1000, 0, 0])) == 3 * MS
    assert lines.busiest(np.array([0, 0, 2000, 3000])) == 5 * MS


def test_pieces_of_a_tree_fill_its_links_one_after_the_other() -> None:
    entries = 500_000
    tree = _plan("tree", entries).scheme
    pieces = tree.chunks  # type: ignore[attr-defined]
    assert pieces > 1
    size = RING.width * entries
    assert tree.filling_bytes == 5 * size // pieces
    lines = _alike(CYCLE, 0, 8)
    sent = 2 * size + 2 * pieces * HEADER_BYTES  # a party between root and leaf: up and down
    assert lines.recovery(tree) == (sent + tree.filling_bytes) * MS // 1000


@pytest.mark.parametrize(
    ("latency_ms", "mbit", "entries", "expected"),
    [
        (100, 50, 55, "flood"),  # a regression of ten coefficients, far away
        (100, 50, 500_500, "tree"),  # of a thousand
        (0, 1000, 55, "tree"),  # in one room fewest bytes win
        (100, 1, 55, "flood"),
        (1, 1, 500, "tree"),
        (1000, 1, 500, "flood"),  # the same over a satellite
    ],
)
def test_auto_weighs_rounds_against_bytes(
    latency_ms: int, mbit: int, entries: int, expected: str
) -> None:
    network = Network.design(20, 1)
    lines = _alike(network, latency_ms, mbit)
    plan = Plan.make(network, Ring(128), entries, lines=lines)
    assert plan.scheme.name == expected
