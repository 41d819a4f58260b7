"""Rounds, numbers sent and memory against counts made by hand.

Three parties, two unknowns. Directed, each has one out-neighbour; both ways, two neighbours. The
summand of an average is the triangle of A_iᵀA_i and A_iᵀb_i: 3 + 2 = 5 numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titan import Network
from titan_lab import compare
from titan_lab.compare import Method, Problem
from titan_lab.compare.methods.gossip import PrivateGossip
from titan_lab.compare.methods.private_projection import PrivateProjection
from titan_lab.compare.problems import dominant

from .cases import TRIANGLE, after, case, tiny

FOUR_ROUNDS: dict[str, tuple[int, int, dict[str, Any]]] = {
    # method: (sent by each in four rounds, held by each, choices)
    "average-consensus": (4 * 2 * 5, 5, {}),
    "ratio-consensus": (4 * 1 * 6, 6, {}),  # z and w
    "robust-ratio": (4 * 1 * 6, 3 * 6, {}),  # y, its own running sum, and its neighbour's
    "private-average": (2 * 5 + 3 * 2 * 5, 5, {}),  # the first round is that of the masks
    "projection-consensus": (4 * 1 * 2, 2, {}),
    "async-projection": (4 * 1 * 2, 4, {"wake": 1.0}),  # x, and what the neighbour last said
    "constrained-consensus": (4 * 2 * 2, 2, {}),
    "extra": (4 * 2 * 2, 8, {}),
    "diging": (4 * 2 * 4, 6, {}),  # x and y
    "push-diging": (4 * 1 * 5, 7, {}),  # u, v and y
    "sonata": (4 * 1 * 5, 7, {}),
    "consensus-innovations": (4 * 2 * 2, 2, {}),
    "dp-optimisation": (4 * 2 * 2, 2, {}),
    "function-sharing": (2 * 5 + 3 * 2 * 2, 7, {}),  # first Q and r: 3 + 2 numbers
}


@pytest.mark.parametrize("method", FOUR_ROUNDS)
def test_four_rounds(method: str) -> None:
    sent, held, choices = FOUR_ROUNDS[method]
    state = after(method, tiny(consistent=True), TRIANGLE, 4, **choices)
    assert state.cost.rounds == 4
    assert state.cost.sent.tolist() == [sent] * 3
    assert state.cost.held.tolist() == [held] * 3
    assert state.cost.bits == 64
    assert state.cost.flops is not None


def test_flops_of_a_round_of_diging() -> None:
    """4 numbers of 3 parties weighted and added, and a matrix of order 2 times a vector."""
    cost = after("diging", tiny(), TRIANGLE, 1).cost
    assert cost.flops is not None
    assert cost.flops.tolist() == [2 * 4 * 3 + 2 * 2**2] * 3


def test_four_rounds_of_the_fixed_point() -> None:
    cost = after("fixed-point", dominant(m=3), TRIANGLE, 4).cost
    assert (cost.sent.tolist(), cost.held.tolist()) == ([4 * 3] * 3, [3] * 3)


def test_faim() -> None:
    """m·T = 6 rounds, a value and an id for 5 entries in each; memory as the paper's (2k+m)d."""
    record = compare.run(tiny(), TRIANGLE, ["faim"])["faim"]
    assert (record.rounds, record.sent_most, record.sent_total) == (6, 6 * 2 * 5, 3 * 60)
    assert record.held_most == (2 * 1 + 3) * 5


def test_titan_counts_as_the_papers_formulas_say() -> None:
    """Two sums of d = 6 and 2 with the carried 1s; T = 2, k = m = 3."""
    results = compare.run(tiny(), TRIANGLE, ["titan-topk", "titan-flood", "titan-tree"])
    topk, flood, tree = results.records
    assert (topk.rounds, topk.sent_most) == (2 * (1 + 2), (2 * 3 * 2 + 1) * (6 + 2))
    assert topk.held_most == (2 * 3 + 3) * 6
    assert (flood.rounds, flood.sent_most) == (2 * (1 + 2), (1 + 2) * (6 + 2))
    assert tree.sent_most == (1 + 2) * (6 + 2)  # a mask, a partial sum up, the total down
    assert {record.flops_most for record in results.records} == {None}


def test_finite_time() -> None:
    """The average of three numbers, everybody a neighbour of everybody: W is ⅓ everywhere.

    The mean follows 1 − α; the deviation and its integral have two modes more. So L = 3: seven
    rounds, and one to tell the others.
    """
    state = after("finite-time", Problem.averaging([1.0, 2.0, 6.0]), TRIANGLE, 8, step_size=0.25)
    assert state.finished
    assert state.cost.rounds == 2 * 3 + 1 + 1
    assert state.cost.sent.tolist() == [2 * 7 + 2, 2 * 7, 2 * 7]
    assert state.cost.held.tolist() == [2 + 8, 2, 2]  # eight states recorded by the first
    assert state.estimates.tolist() == [[3.0]] * 3
    assert state.cost.flops is None, "work on long rationals is given as time"


def test_finite_time_takes_91_rounds_and_long_numbers_on_the_papers_small_problem() -> None:
    """States are 25 and their integrals 20: L = 45 modes. Two rounds tell the others."""
    problem = compare.problem("small")
    network = Network.cycle(problem.parties)
    record = compare.run(problem, network, ["finite-time"], tolerance=1e-14)["finite-time"]
    assert record.status == "reached"
    assert record.rounds == 2 * 45 + 1 + 2
    assert record.bits > 20_000


def gossiped(state: Method, rounds: int, d: int) -> int:
    """One pair a round among three: d numbers while scrambling, then d both ways."""
    expected = 0
    assert isinstance(state, PrivateGossip | PrivateProjection)
    for _ in range(rounds):
        expected += d if state.gossip.scrambling else 2 * d
        state.step()
    return expected


@pytest.mark.parametrize(("method", "d"), [("private-gossip", 5), ("private-projection", 2)])
def test_every_message_of_gossip_counts(method: str, d: int) -> None:
    problem = tiny(consistent=True)
    state = compare.named(method)(case(problem, TRIANGLE, method), seed=1)
    assert state.cost.sent.sum() == 0
    expected = gossiped(state, 40, d)
    assert state.cost.sent.sum() == expected
    assert 40 * d < expected < 40 * 2 * d, "both kinds of rounds took place"
    assert state.cost.rounds == 40


def test_paillier() -> None:
    """The aggregator is party 1, its farthest, the key's holder, party 2.

    The public key goes 2 → 3 → 1, ciphertexts 2 → 3 → 1, their product 1 → 2, the sum 2 → 3 → 1.
    """
    pytest.importorskip("phe", reason="Paillier is an optional extra: peers")
    state = after("paillier", tiny(), TRIANGLE, 7, key_bits=256)
    assert state.cost.rounds == state.rounds_needed == 2 + 2 + 1 + 2
    assert state.cost.sent.tolist() == [5, 1 + 5 + 5, 1 + 5 + 5]


def test_asleep_parties_send_nothing() -> None:
    state = after("async-projection", tiny(consistent=True), TRIANGLE, 400, wake=0.25)
    sent = state.cost.sent - 2  # of the first round
    assert np.all((sent > 2 * 399 * 0.15) & (sent < 2 * 399 * 0.35))
