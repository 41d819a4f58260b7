"""Theorem 3, through real agents and both engines: what a coalition sees tells the sum alone.

Every choice of masks is enumerated. A coalition's view is every envelope it received; if the honest
parties stay weakly connected, views are equally frequent for any two inputs with the same sum and
the same inputs of the coalition; if they do not, some such pair is told apart (the condition is
tight). The large set of cases is in the tests on privacy; these are the theorem's statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.sums import stacked
from titan import Network
from titan.engines import local, vectorised
from titan.protocol import Kind, Plan, RecoveryName, SystemMasks
from titan.ring import Residues, Ring

RING = Ring(1)
CYCLE = Network.cycle(3)
PATH = Network([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
SQUARE = Network.cycle(4)


class Given:
    """A source of masks that hands out words chosen beforehand; the keys are any, and stay."""

    def __init__(self, words: Iterator[int]) -> None:
        self._words = words
        self.handed_out = self.keys = 0

    def words(self, count: int) -> Residues:
        self.handed_out += count
        return np.array([next(self._words) for _ in range(count)], np.uint64)

    def seed(self) -> bytes:
        self.keys += 1
        return self.keys.to_bytes(32, "little")


def views(plan: Plan, inputs: tuple[int, ...], coalition: set[int]) -> Counter[Any]:
    """How often each view occurs over all choices of masks; the carried 1s take no part."""
    edges = len(plan.network.senders)
    counts: Counter[Any] = Counter()
    for choice in product((0, 1), repeat=edges):
        words = iter([w for r in choice for w in (r, 0)])  # the mask of the carried 1 is fixed
        outcome = local.run(
            plan, stacked(RING, [[x] for x in inputs]), source=partial(Given, words), record=True
        )
        assert next(words, None) is None, "every mask was used, once"
        counts[
            tuple(
                (e.kind, e.sender, e.receiver, e.round, bytes(e.payload))
                for e in outcome.envelopes
                if coalition & {e.receiver, e.sender}
            )
        ] += 1
    return counts


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
@pytest.mark.parametrize(
    ("network", "coalition", "hidden"),
    [
        (CYCLE, {0}, True),
        (CYCLE, {1}, True),
        (PATH, {0}, True),
        (PATH, {1}, False),
        (SQUARE, {0}, True),
        (SQUARE, {0, 2}, False),
    ],
)
def test_theorem_3_views_tell_the_sum_and_nothing_else(
    network: Network, coalition: set[int], hidden: bool, recovery: RecoveryName
) -> None:
    plan = Plan.make(network, RING, 1, recovery=recovery)
    names = [network.parties[i] for i in coalition]
    assert network.hides_from(names) == hidden
    by_known: dict[Any, list[Counter[Any]]] = {}
    for inputs in product((0, 1), repeat=len(network)):
        known = (sum(inputs) % 2, tuple(inputs[i] for i in sorted(coalition)))
        by_known.setdefault(known, []).append(views(plan, inputs, coalition))
    same = all(view == group[0] for group in by_known.values() for view in group)
    assert same == hidden
    if hidden:  # and the sum itself is told, or nothing was computed
        assert len({frozenset(group[0]) for group in by_known.values()}) == len(by_known)


@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_no_mask_is_used_twice(masks: Any) -> None:
    """All masks and seeds of two runs, on all edges, are different."""
    plan = Plan.make(Network.complete(4), Ring(128), 1, masks=masks)
    secrets = stacked(Ring(128), [[i] for i in range(4)])
    payloads = [
        bytes(e.payload)
        for _ in range(2)
        for e in local.run(plan, secrets, record=True).envelopes
        if e.kind is Kind.MASK
    ]
    assert len(set(payloads)) == len(payloads) == 24


@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_the_vectorised_engine_really_masks(masks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each edge has a mask of its own, from the source, and what is recovered is masked."""
    plan = Plan.make(Network.kautz(12, 2), Ring(128), 3, recovery="flood", masks=masks)
    secrets = stacked(Ring(128), [[7] * 3 for _ in range(12)])
    seen: list[Residues] = []
    obfuscate = vectorised._obfuscate

    def spy(*arguments: Any) -> Residues:
        seen.append(obfuscate(*arguments).copy())
        return seen[-1].copy()

    monkeypatch.setattr(vectorised, "_obfuscate", spy)
    for _ in range(2):
        outcome = vectorised.run(plan, secrets, source=SystemMasks)
        assert Ring(128).to_ints(outcome.total) == [84] * 3
    words = np.concatenate([masked.reshape(2, -1) for masked in seen], axis=1)
    numbers = Ring(128).to_ints(words)
    assert len(set(numbers)) == len(numbers) == 2 * 12 * 4
    assert min(numbers) > 2**64, "a residue this small would be one in 2^57 runs"


def test_the_vectorised_engine_asks_for_a_word_per_edge_entry_and_limb() -> None:
    plan = Plan.make(Network.complete(5), Ring(130), 6, recovery="tree")
    source = Given(iter(int, 1))  # zeros without end
    vectorised.run(plan, Ring(130).zeros(5, 6), source=lambda: source)
    assert source.handed_out == 20 * 7 * 3
