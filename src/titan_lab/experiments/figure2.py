"""The paper's first experiment and its Figure 2: five private inputs, and what node 1 received.

m = 5 nodes on a directed cycle, p = 15 equations in n = 5 unknowns, Gaussian entries of variance 2,
T = k = 5, a = 20. The paper's own single sum, with all n² entries of A_iᵀA_i, through real agents;
what node 1 received is read from its view of the run. Masks are the operating system's, so the
lower half of the figure is another one every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from titan import solve
from titan.engines import local
from titan.network import Network
from titan.privacy.view import PlannedSum, Record, RecordedSum, View
from titan.protocol import Cost, Kind, Plan
from titan_lab.compare.problem import Floats, Problem
from titan_lab.compare.problems import problem as problem_named
from titan_lab.experiments.single_sum import Errors, SingleSum, errors, exact_solution

ADVERSARY = "1"
T = K = 5
BOUND = 20
"""The paper's a."""
ROUNDS = 6
"""The paper's count: one round of obfuscation and T of recovery."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """`private` and `received` are (m, n, n + 1): A_iᵀA_i and, as the last column, A_iᵀb_i.

    What was received is in the same units, from 0 to `span`, around which the ring closes.
    """

    problem: Problem
    private: Floats
    received: Floats
    span: float
    plan: Plan
    cost: Cost
    errors: Errors
    proven: float
    """The largest proven bound on a coefficient's error, that of float64 included."""
    two_sums: Cost
    """What `titan.solve` costs with the same T and k."""
    two_sums_errors: Errors

    @property
    def network(self) -> Network:
        return self.plan.network

    @property
    def expected(self) -> bool:
        """Whether the paper's claims held: 6 rounds, and the exact solution."""
        return self.cost.rounds == ROUNDS and self.errors.exact < 1e-30


def run(seed: int = 1) -> Result:
    """The experiment, once."""
    problem = problem_named("small", seed)
    network = Network.cycle(problem.parties)
    sums = SingleSum.of(problem, BOUND, whole=True)
    plan = sums.plan(network, "topk", K, T)
    outcome = local.run(plan, sums.secrets, record=True)
    kept = RecordedSum(
        PlannedSum("paper", plan, Fraction(2) ** -sums.scale.fraction),
        sums.secrets,
        outcome.envelopes,
    )
    view = Record(network, (kept,)).view([ADVERSARY])
    span = 2.0 ** (sums.scale.ring.bits - sums.scale.fraction)
    truth = exact_solution(problem)
    answer = sums.solution(outcome.total)
    parts = list(zip(problem.A, problem.b, strict=True))
    # Three rows each are fewer than a data steward would let go; these are made up.
    ours = solve(parts, network, recovery="topk", k=K, rounds=T, tau=1, allow_small=True)
    return Result(
        problem,
        np.stack([_as_blocks(sums, sums.secrets[:, i]) for i in range(problem.m)]),
        received(view, problem, span),
        span,
        plan,
        outcome.cost,
        errors(problem, answer, truth),
        float(np.max(answer.error_bound)),
        ours.cost,
        errors(problem, ours, truth),
    )


def received(view: View, problem: Problem, span: float) -> Floats:
    """Everyone's masked input as it stood in the last list that reached the adversary."""
    lists = [m for m in view.received_by(ADVERSARY) if m.kind is Kind.LIST]
    last = max(lists, key=lambda message: message.round)
    unit = span / view.sums[0].ring.modulus
    n, entries = problem.n, np.arange(last.numbers.shape[1] - 1)  # the last is the carried 1
    found = []
    for party in problem.parties:
        slot = np.argmax(last.origins == party, axis=0)[entries]
        values = last.numbers[slot, entries]
        found.append(_blocks(np.array([float(value * unit) for value in values]), n))
    return np.stack(found)


def _as_blocks(sums: SingleSum, secret: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> Floats:
    return _blocks(np.array([float(x) for x in sums.units(secret)]), sums.problem.n)


def _blocks(flat: Floats, n: int) -> Floats:
    """n² entries, then n: as n rows with the last n to the right."""
    return np.concatenate([flat[: n * n].reshape(n, n), flat[n * n :, None]], axis=1)
