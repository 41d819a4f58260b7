"""Why one long vector proves what many runs would: entries of a vector do not influence each other,
and who sends how much to whom in which round does not depend on values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from tests.privacy.enumeration import read
from tests.strategies import networks
from tests.streams import same_for_all_entries, streams
from titan import Network
from titan.engines import local
from titan.engines.local import Outcome
from titan.protocol import Kind, Plan, RecoveryName
from titan.ring import Residues, Ring

recoveries = st.sampled_from(["topk", "flood", "tree"])
Shown = dict[tuple[object, ...], npt.NDArray[np.int64]]


class Table:
    """Masks written down beforehand: row e for the e-th edge, its last column for the carried 1."""

    def __init__(self, rows: Residues) -> None:
        self.rows = iter(rows)

    def words(self, count: int) -> Residues:
        row: Residues = next(self.rows)
        assert count == row.size
        return row.copy()

    def seed(self) -> bytes:
        return bytes(32)


def run(
    network: Network, ring: Ring, secrets: Residues, masks: Residues, **choices: Any
) -> tuple[Plan, Outcome]:
    plan = Plan.make(network, ring, secrets.shape[2], **choices)
    source = Table(masks)
    with streams(same_for_all_entries):
        return plan, local.run(plan, secrets, source=lambda: source, record=True)


def shown(plan: Plan, outcome: Outcome) -> Shown:
    """Every number that travelled, by kind, link, round and place; chunks put together."""
    pieces: dict[tuple[object, ...], list[npt.NDArray[np.int64]]] = {}
    for e in outcome.envelopes:
        turn = None if e.kind in (Kind.PARTIAL, Kind.TOTAL) else e.round
        for place, column in read(plan, e):
            key = (e.kind, e.sender, e.receiver, turn, place)
            pieces.setdefault(key, []).append(column)
    return {key: np.concatenate(parts) for key, parts in pieces.items()}


def traffic(outcome: Outcome) -> list[tuple[object, ...]]:
    return [(e.kind, e.sender, e.receiver, e.round, len(e.payload)) for e in outcome.envelopes]


def drawn(network: Network, ring: Ring, d: int, seed: int) -> tuple[Residues, Residues]:
    """Inputs (1, m, d) and masks (edges, d + 1)."""
    rng = np.random.default_rng(seed)
    shapes = (1, len(network), d), (len(network.senders), d + 1)
    inputs, masks = (rng.integers(0, ring.modulus, shape, dtype=np.uint64) for shape in shapes)
    return inputs, masks


@given(
    networks(most=5), st.integers(1, 3), recoveries, st.integers(0, 2**32), st.integers(1, 6),
    st.sampled_from([1, 1 << 40]),
)  # fmt: skip
def test_an_entry_travels_as_if_it_were_alone(
    network: Network, bits: int, recovery: RecoveryName, seed: int, d: int, round_bytes: int
) -> None:
    """Any choice of entries, in any order, gives the same columns in that order."""
    ring = Ring(bits)
    inputs, masks = drawn(network, ring, d, seed)
    chosen = np.random.default_rng(seed).permutation(d)[: 1 + seed % d]
    columns = [*chosen, d]  # and the carried 1
    choices: dict[str, Any] = {"recovery": recovery, "round_bytes": round_bytes}
    whole = shown(*run(network, ring, inputs, masks, **choices))
    part = shown(*run(network, ring, inputs[:, :, chosen], masks[:, columns], **choices))
    assert whole.keys() == part.keys()
    for key, column in whole.items():
        assert np.array_equal(column[columns], part[key]), key


@given(networks(most=6), st.integers(1, 8), recoveries, st.integers(0, 2**32), st.integers(1, 6))
def test_traffic_does_not_depend_on_values(
    network: Network, bits: int, recovery: RecoveryName, seed: int, d: int
) -> None:
    """Kinds, senders, receivers, rounds, sizes and even the order of delivery are the same."""
    ring = Ring(bits)
    one = run(network, ring, *drawn(network, ring, d, seed), recovery=recovery)[1]
    other = run(network, ring, *drawn(network, ring, d, seed + 1), recovery=recovery)[1]
    assert traffic(one) == traffic(other)
    assert any(
        bytes(a.payload) != bytes(b.payload)
        for a, b in zip(one.envelopes, other.envelopes, strict=True)
    ) or d * bits < 32, "values did differ"  # fmt: skip
