"""The private average: Top-k at the paper's size, bytes of a tree, a million parties, messages."""

from __future__ import annotations

import os
import resource

import numpy as np

from benchmarks.measure import Row, ratio, seconds, side_by_side
from titan import Network
from titan.engines import local, vectorised
from titan.protocol import MaskMode, Plan, SystemMasks
from titan.ring import FixedPoint, Ring
from titan.ring.fixed_point import decode

RNG = np.random.default_rng(20260101)  # of inputs and yardsticks; masks are never seeded


def paper_topk() -> Row:
    """The paper's second experiment: every list of 100 parties, 5151 entries, 1000 rounds.

    The yardstick copies all lists (values uint64, ids int16) once per round.
    """
    m, d, k, T = 100, 5150, 10, 100
    plan = Plan.make(Network.cycle(m), Ring(64), d, recovery="topk", k=k, rounds=T, tau=1)
    secrets = RNG.integers(0, 2**63, (1, m, d), dtype=np.uint64)
    values = RNG.integers(0, 2**63, (m, k, d + 1), dtype=np.uint64)
    ids = RNG.integers(0, m, (m, k, d + 1), dtype=np.int16)
    more_values, more_ids = values.copy(), ids.copy()

    def copy_once_per_round() -> None:
        for _ in range(plan.recovery_rounds):
            np.copyto(more_values, values)
            np.copyto(more_ids, ids)

    def ours() -> None:
        outcome = vectorised.run(plan, secrets)
        assert outcome.cost.recovery_rounds == 1000
        assert np.array_equal(outcome.total, secrets.sum(axis=1))

    times = side_by_side(ours, copy_once_per_round)
    return ratio("Top-k, m=100, d=5150, k=10, T=100, 64 bits, 1000 rounds", *times, at_most=1.5)


def tree_bytes() -> list[Row]:
    """Bytes sent by the busiest party on a cycle, in vectors of d numbers."""
    d = 5150
    sent, seeded = _tree_on_a_cycle(d, "sent"), _tree_on_a_cycle(d, "seeded")
    counts = {
        "the recovery alone": (sent - 8 * (d + 1), 2.2),
        "masks sent": (sent, 3.2),
        "masks as seeds": (seeded, 2.2),
    }
    return [
        Row(
            f"tree on a cycle, m=100, d={d}, {what}: vectors sent",
            f"{count / (8 * d):.3f}",
            f"at most {most} (all-reduce bound 1.98)",
            count <= most * 8 * d,
        )
        for what, (count, most) in counts.items()
    ]


def _tree_on_a_cycle(d: int, masks: MaskMode) -> int:
    plan = Plan.make(Network.cycle(100), Ring(64), d, recovery="tree", masks=masks)
    return local.run(plan, Ring(64).zeros(100, d)).cost.bytes_sent.largest


def million_parties() -> list[Row]:
    """A private scalar average over 1,000,000 parties; the yardstick draws and sums as many words.

    From numbers to the average: encoding, masks, trees, decoding. The network, its connectivity
    and the trees are made beforehand.
    """
    m, ring = 1_000_000, Ring(128)
    network = Network.design(m, tau=1)
    plan = Plan.make(network, ring, 1, recovery="tree", tau=1)
    vectorised.run(plan, ring.zeros(m, 1))
    numbers = RNG.random(m)
    scale = FixedPoint(ring, 64, m)
    words = ring.limbs * plan.entries * len(network.senders)

    def ours() -> None:
        secrets = scale.encode(numbers, str).reshape(ring.limbs, m, 1)
        outcome = vectorised.run(plan, secrets)
        [average] = decode(ring.to_signed(outcome.total), scale.units, m)
        assert abs(average - numbers.mean()) < 1e-9

    def yardstick() -> None:
        RNG.integers(0, 2**64 - 1, words, dtype=np.uint64, endpoint=True).sum()

    times = side_by_side(ours, yardstick)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        ratio(f"scalar average, m={m:,}, tree, 128 bits, {words:,} mask words", *times, at_most=50),
        Row("its peak memory", f"{peak:.2f} GiB", "at most 8 GiB", peak <= 8),
    ]


def flood_messages() -> Row:
    """Real envelopes between real agents in one process."""
    plan = Plan.make(Network.cycle(200), Ring(128), 64, recovery="flood")
    secrets = Ring(128).zeros(200, 64)
    best = min(seconds(lambda: local.run(plan, secrets)) for _ in range(5))
    return Row(
        "local engine, flood, m=200, d=64: messages per second",
        f"{plan.cost.messages / best:,.0f}",
        "aim: 100,000 on an idle core",
        None,
    )


def mask_bandwidth() -> Row:
    """AES-256-CTR against the operating system's bytes themselves."""
    words = 1 << 22
    masks = SystemMasks()
    ours, system = side_by_side(lambda: masks.words(words), lambda: os.urandom(8 * words))
    rates = [8 * words / t / 1e9 for t in (ours, system)]
    measured = f"{rates[0]:.2f} GB/s, against {rates[1]:.2f} GB/s of os.urandom"
    return Row("masks drawn", measured, "", None)


def rows() -> list[Row]:
    return [paper_topk(), *tree_bytes(), *million_parties(), flood_messages(), mask_bandwidth()]
