"""Counting the parties, among parties who know only that there are at most so many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from titan.errors import PlanError
from titan.inputs import network_for
from titan.joint.computation import Sum
from titan.joint.settings import SumSettings
from titan.joint.together import together
from titan.network import Network
from titan.ring import Residues, Ring
from titan.ring.whole import whole_number


@dataclass(frozen=True)
class Counting:
    """Everyone adds a 1, in a ring that holds `at_most`: the paper's footnote to Theorem 2."""

    at_most: int

    @property
    def sums(self) -> tuple[Sum]:
        ring = Ring(self.at_most.bit_length())
        return (Sum("count", 1, ring, Fraction(1), "the number of parties"),)

    def prepare(self, rows: Any) -> None:
        return None

    def begin(self) -> None:
        return None

    def secret(self, n: int, known: int | None, part: None) -> Residues:
        return self.sums[0].ring.from_ints([1])

    def learn(self, n: int, known: int | None, total: Residues) -> int:
        return self.sums[0].ring.to_ints(total)[0]

    def answer(self, known: int | None) -> int | None:
        return known


def count(
    network: Network | str, *, at_most: int, k: int | None = None, rounds: int | None = None
) -> int:
    """How many parties there are, found by parties who know only that there are at most so many.

    They run Top-k as if there were `at_most` of them. Without `rounds`, T = at_most - 1 ≥ the
    diameter.
    """
    at_most = whole_number("at_most", at_most)
    net = network_for(network, [])
    if at_most < len(net):
        raise PlanError(
            f"at_most={at_most} is below the number of parties",
            hint="counting needs a true upper bound on the number of parties",
        )
    rounds = at_most - 1 if rounds is None else rounds
    settings = SumSettings(net, recovery="topk", k=k, rounds=rounds, at_most=at_most)
    return together(Counting(at_most), [None] * len(net), settings).answer
