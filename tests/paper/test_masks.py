"""The obfuscation step: modulo aggregate invariance, and the lemmas on uniform masks.

The lemmas are shown by enumeration: every choice of masks on every edge, counted.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import networks
from titan import Network
from titan.protocol.masking import mask
from titan.ring import Ring

CASES = [
    (Network.cycle(3), 2),
    (Network([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]), 1),
    (Network.complete(3), 1),
    (Network.cycle(5), 1),
    (Network([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")]), 1),
]


def masked(
    network: Network, ring: Ring, x: list[int], masks: dict[tuple[int, int], int]
) -> tuple[int, ...]:
    """Every party's x̃_i for given masks, through the production code."""
    vector = {edge: ring.from_ints([r]) for edge, r in masks.items()}
    return tuple(
        ring.to_ints(
            mask(
                ring,
                ring.from_ints([x[i]]),
                received=[vector[j, i] for j in network.in_neighbours(i)],
                sent=[vector[i, j] for j in network.out_neighbours(i)],
            )
        )[0]
        for i in range(len(network))
    )


def all_masks(network: Network, ring: Ring) -> list[dict[tuple[int, int], int]]:
    edges = list(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    return [
        dict(zip(edges, choice, strict=True))
        for choice in product(range(ring.modulus), repeat=len(edges))
    ]


@given(networks(), st.integers(1, 130), st.data())
def test_modulo_aggregate_invariance(network: Network, bits: int, data: st.DataObject) -> None:
    """Eq. (PerturbationsBalanced): the perturbations add up to 0, whatever the masks."""
    ring = Ring(bits)
    number = st.integers(0, ring.modulus - 1)
    edges = zip(network.senders.tolist(), network.receivers.tolist(), strict=True)
    masks = {edge: data.draw(number) for edge in edges}
    x = [data.draw(number) for _ in network.parties]
    assert sum(masked(network, ring, [0] * len(x), masks)) % ring.modulus == 0
    assert sum(masked(network, ring, x, masks)) % ring.modulus == sum(x) % ring.modulus


@pytest.mark.parametrize(("network", "bits"), CASES)
def test_lemma_1_perturbations_are_uniform_among_those_that_cancel(
    network: Network, bits: int
) -> None:
    ring, m = Ring(bits), len(network)
    counts = Counter(masked(network, ring, [0] * m, r) for r in all_masks(network, ring))
    balanced = {t for t in product(range(ring.modulus), repeat=m) if sum(t) % ring.modulus == 0}
    assert set(counts) == balanced
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize(("network", "bits"), CASES)
def test_lemma_2_masked_inputs_are_uniform_among_those_with_the_true_sum(
    network: Network, bits: int
) -> None:
    ring, m = Ring(bits), len(network)
    x = [(3 * i + 1) % ring.modulus for i in range(m)]
    counts = Counter(masked(network, ring, x, r) for r in all_masks(network, ring))
    right = {
        t for t in product(range(ring.modulus), repeat=m) if (sum(t) - sum(x)) % ring.modulus == 0
    }
    assert set(counts) == right
    assert len(set(counts.values())) == 1


@given(st.lists(st.integers(0, 2**70)), st.integers(1, 70))
def test_remark_1_properties_of_the_modulo(y: list[int], bits: int) -> None:
    ring = Ring(bits)
    vectors = [ring.from_ints([n]) for n in y]
    assert ring.to_ints(ring.sum(vectors, 1)) == [sum(y) % ring.modulus]
    for n, vector in zip(y, vectors, strict=True):
        assert ring.to_ints(ring.negate(vector)) == [(ring.modulus - n) % ring.modulus]
