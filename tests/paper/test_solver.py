"""Algorithm 3: what it computes, and what it opens besides the solution that Definition 1 names."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from titan import Network
from titan.engines import local
from titan.privacy.view import PlannedSum, Record, RecordedSum
from titan.protocol import Kind
from titan_lab.compare.problem import Floats, Problem
from titan_lab.compare.problems import gaussian
from titan_lab.experiments.single_sum import SingleSum, errors, exact_solution

ADVERSARY = "1"


@pytest.mark.parametrize("seed", range(3))
def test_the_solution_is_that_of_all_rows_together(seed: int) -> None:
    """Eq. (Solution): x* = (Σ A_iᵀA_i)⁻¹ Σ A_iᵀb_i, and the proven bound holds."""
    problem = gaussian("any", seed, 4, 3, 3)
    sums = SingleSum.of(problem, bound=64)
    outcome = local.run(sums.plan(Network.cycle(problem.parties), "topk", 2), sums.secrets)
    solution, truth = sums.solution(outcome.total), exact_solution(problem)
    assert all(x in ball for x, ball in zip(truth, solution.enclosures, strict=True))
    assert errors(problem, solution, truth).exact < 1e-30


def test_the_bound_holds_where_all_parties_round_the_same_way() -> None:
    """The worst case: a unit is 2^-11, and all four parties are half of it too low in AᵀA and half
    too high in Aᵀb. A bound for one party's rounding would not hold."""
    A, b = np.array([[1 + 2**-6], [1.0]]), np.array([0.0, 1 + 3 * 2**-12])
    problem = Problem.of("halves", [(A, b)] * 4)
    sums = SingleSum.of(problem, bound=4, bits=17)
    assert sums.scale.fraction == 11
    outcome = local.run(sums.plan(Network.cycle(problem.parties), "flood"), sums.secrets)
    off = [Fraction(4, 2**12), Fraction(-4, 2**12)]
    exact = [4 * Fraction(x) for x in (float((A.T @ A)[0, 0]), float((A.T @ b)[0]))]
    assert [e - u for e, u in zip(exact, sums.units(outcome.total), strict=True)] == off
    [ball], [truth] = sums.solution(outcome.total).enclosures, exact_solution(problem)
    assert truth in ball
    assert abs(ball.mid - truth) > ball.rad / 2, "nor is it much too wide"


def pooled_by_adversary(problem: Problem) -> list[Fraction]:
    """What one party adds up from the lists that it received, and from nothing else."""
    network, sums = Network.cycle(problem.parties), SingleSum.of(problem, bound=1024)
    plan = sums.plan(network, "topk", problem.m, problem.m)
    outcome = local.run(plan, sums.secrets, record=True)
    kept = RecordedSum(
        PlannedSum("one", plan, Fraction(2) ** -sums.scale.fraction),
        sums.secrets,
        outcome.envelopes,
    )
    view = Record(network, (kept,)).view([ADVERSARY])
    last = max(
        (m for m in view.received_by(ADVERSARY) if m.kind is Kind.LIST), key=lambda m: m.round
    )
    ring = plan.ring
    total = [sum(column) % ring.modulus for column in last.numbers.T.tolist()][:-1]
    return sums.units(ring.from_ints(total))


def test_definition_1_promises_more_than_algorithm_3_keeps() -> None:
    """Same solution, same rows at the adversary, and yet it can tell the two systems apart.

    Another party multiplies its equations, which hold exactly, by 2: x* stays, AᵀA does not. What
    Theorem 3 does promise, views that depend on the pooled sums alone, is shown by enumeration.
    """
    rng = np.random.default_rng(5)
    x = np.array([3.0, -1.0])
    A = [rng.integers(-4, 5, (3, 2)).astype(float) for _ in range(3)]
    again = [A[0], 2 * A[1], A[2]]

    def system(matrices: list[Floats]) -> Problem:
        return Problem.of("system", [(matrix, matrix @ x) for matrix in matrices])

    one, other = system(A), system(again)
    assert exact_solution(one) == exact_solution(other) == [3, -1]
    assert np.array_equal(one.A[0], other.A[0])
    assert np.array_equal(one.b[0], other.b[0])
    seen, seen_again = pooled_by_adversary(one), pooled_by_adversary(other)
    assert seen != seen_again
    G = sum(matrix.T @ matrix for matrix in A)
    assert seen == [G[0, 0], G[0, 1], G[1, 1], *(G @ x)]
