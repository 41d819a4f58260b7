"""No other leak is found: on networks too large to enumerate, by linear algebra on the view.

With `flood` and `tree` every number that goes by is a linear function of the inputs and the masks.
One run of the production code over the ring of two elements, in which entry e of the vector is the
e-th unit vector of (inputs, masks), writes these functions down. Masks are uniform and independent,
so what a view tells is what combinations of it hold no mask: exactly these must be the coalition's
own inputs and the sums over the honest components, as `titan privacy` says, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.privacy.enumeration import Column, read
from tests.strategies import networks
from titan import Network
from titan.engines import local
from titan.protocol import Kind, Plan, RecoveryName
from titan.ring import Residues, Ring
from titan_lab.privacy.audit import infer


class Units:
    """A source of masks: the e-th one asked for is 1 in the entry that stands for it alone."""

    def __init__(self, inputs: int) -> None:
        self.next = inputs

    def words(self, count: int) -> Residues:
        words = np.zeros(count, np.uint64)
        words[self.next] = 1
        self.next += 1
        return words

    def seed(self) -> bytes:
        raise AssertionError("no seeds here")


def functions(network: Network, recovery: RecoveryName) -> Iterator[tuple[tuple[int, int], Column]]:
    """(sender, receiver) and the coefficients of every number sent: m inputs, then the masks."""
    m, unknowns = len(network), len(network) + len(network.senders)
    secrets = np.zeros((1, m, unknowns), np.uint64)
    secrets[0, range(m), range(m)] = 1
    plan = Plan.make(network, Ring(1), unknowns, recovery=recovery, round_bytes=1 << 40)
    source = Units(m)
    pieces: dict[tuple[int, int, Kind, object], list[Column]] = {}
    for envelope in local.run(plan, secrets, source=lambda: source, record=True).envelopes:
        kind, sender, receiver, round_, _ = envelope
        turn = None if kind in (Kind.PARTIAL, Kind.TOTAL) else round_  # chunks are one column
        for what, column in read(plan, envelope):
            pieces.setdefault((sender, receiver, kind, (turn, what)), []).append(column)
    assert source.next == unknowns
    for (sender, receiver, *_), parts in pieces.items():
        yield (sender, receiver), np.concatenate(parts)[:unknowns]


def reduced(rows: list[int]) -> list[int]:
    """The reduced echelon form over two elements; a row is the bits of an integer."""
    basis: list[int] = []
    for row in rows:
        for pivot in basis:
            row = min(row, row ^ pivot)
        if row:
            basis = [min(other, other ^ row) for other in basis]
            basis = sorted([*basis, row], reverse=True)
    return basis


def told(seen: list[Column], own: list[int], m: int) -> list[int]:
    """What follows from the view about the inputs alone, as a basis: party i is bit i.

    Masks are the high bits, so rows of the echelon form without masks span what has none.
    """
    rows = [1 << i for i in own]
    rows += [sum(int(bit) << at for at, bit in enumerate(column)) for column in seen]
    return [row for row in reduced(rows) if row < 1 << m]


def expected(network: Network, coalition: list[str]) -> list[int]:
    groups = infer(network, coalition).components
    rows = [1 << network.index(party) for party in coalition]
    return reduced(rows + [sum(1 << network.index(p) for p in group) for group in groups])


@pytest.mark.parametrize("recovery", ["flood", "tree"])
@given(networks(most=12), st.data())
@settings(max_examples=40)
def test_the_view_tells_the_groups_sums_and_nothing_else(
    recovery: RecoveryName, network: Network, data: st.DataObject
) -> None:
    links = list(functions(network, recovery))
    for _ in range(8):
        coalition = data.draw(
            st.lists(st.sampled_from(network.parties), min_size=1, max_size=len(network) - 1,
                     unique=True)
        )  # fmt: skip
        members = {network.index(party) for party in coalition}
        seen = [column for ends, column in links if not members.isdisjoint(ends)]
        found = told(seen, sorted(members), len(network))
        assert found == expected(network, coalition)


def test_a_view_that_shows_more_is_found_out() -> None:
    """The comparison can fail: with one honest party's mask besides, there is something else."""
    network = Network.cycle(5)
    links = list(functions(network, "flood"))
    seen = [column for ends, column in links if 0 in ends]
    stolen = next(column for ends, column in links if ends == (2, 3))
    assert told(seen, [0], 5) == expected(network, ["1"])
    assert told([*seen, stolen], [0], 5) != expected(network, ["1"])
