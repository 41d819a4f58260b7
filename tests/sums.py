"""Shared ways to run sums of plain integers, and a deliberately dumb twin of the protocol."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from titan import Network
from titan.engines import local
from titan.engines.local import Outcome
from titan.protocol import Plan
from titan.ring import Residues, Ring


def stacked(ring: Ring, inputs: Sequence[Sequence[int]]) -> Residues:
    """One row of integers per party as (limbs, m, d)."""
    return np.stack([ring.from_ints(row) for row in inputs], axis=1)


def plain_sum(ring: Ring, inputs: Sequence[Sequence[int]]) -> list[int]:
    return [sum(column) % ring.modulus for column in zip(*inputs, strict=True)]


def random_inputs(ring: Ring, m: int, d: int, seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(ring.modulus) for _ in range(d)] for _ in range(m)]


def run_local(
    network: Network, ring: Ring, inputs: Sequence[Sequence[int]], **choices: Any
) -> tuple[Plan, Outcome]:
    plan = Plan.make(network, ring, len(inputs[0]), **choices)
    return plan, local.run(plan, stacked(ring, inputs), record=True)


def top_k(pairs: Sequence[tuple[int, int]], k: int) -> list[tuple[int, int]]:
    """The k largest (value, id) pairs, ties to the larger id: Theorem 1's right-hand side."""
    return sorted(pairs, reverse=True)[:k]
