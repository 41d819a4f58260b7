"""The paper's second experiment, and the same sum by other recoveries and on another network.

m = 100 nodes on a directed cycle, p = 10,000 equations in n = 100 unknowns, T = 100, k = 10: Top-k
entry by entry, the paper's single sum over the upper triangle of A_iᵀA_i and A_iᵀb_i. Then `flood`
and `tree`, all three on a designed network that tolerates as many adversaries, and `titan.solve`.

Flood and tree run by real agents, and every envelope is counted. So many lists of Top-k (93 GB on
the cycle) are computed as whole-network arrays, every party's list in every round; what they would
have cost is known from the plan. Beside that real agents run Top-k on one entry, envelope by
envelope: rounds do not depend on the number of entries, and numbers sent are proportional to it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

from titan import solve
from titan.engines import local, vectorised
from titan.engines.local import Outcome
from titan.errors import RecoveryError
from titan.leastsquares import Solution
from titan.network import Network
from titan.protocol import Cost, Plan
from titan.ring import Residues
from titan_lab.compare.problem import Problem
from titan_lab.compare.problems import gaussian
from titan_lab.experiments.single_sum import TAU, Errors, SingleSum, errors, exact_solution

BOUND = 512
"""The paper does not say which a it took here; the largest entry is about 330."""

AGENTS, ARRAYS = "agents", "arrays"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Size:
    """Of the experiment; T = m on the cycle."""

    m: int
    rows_each: int
    n: int
    k: int


PAPER = Size(m=100, rows_each=100, n=100, k=10)


@dataclass(frozen=True)
class Run:
    """One sum. Numbers, bytes and memory are those of the node with the most."""

    network: str
    recovery: str
    engine: str
    recovery_rounds: int
    rounds: int
    sent: int
    masks: int
    """Of these numbers, those of the obfuscation."""
    bytes_sent: int
    held: int
    cpu_seconds: float
    """Of all threads; unlike `seconds` it hardly depends on what else the machine does."""
    seconds: float
    peak_bytes: int
    """Of this process, for all nodes together."""


@dataclass(frozen=True)
class Counted:
    """Top-k by real agents on the first entry and the carried 1."""

    network: str
    recovery_rounds: int
    envelopes: int
    sent: int
    """Per node and entry."""
    cpu_seconds: float


@dataclass(frozen=True, eq=False)
class Result:
    size: Size
    seed: int
    d: int
    """Entries of the sum, the carried 1 among them."""
    networks: dict[str, Network]
    runs: tuple[Run, ...]
    counted: tuple[Counted, ...]
    errors: Errors
    proven: float
    """The largest proven bound on a coefficient's error, that of float64 included."""
    solve_errors: Errors

    def run(self, network: str, recovery: str) -> Run:
        return next(r for r in self.runs if (r.network, r.recovery) == (network, recovery))

    @property
    def expected(self) -> bool:
        """Whether the paper's claims held: T⌈m/k⌉ rounds, counted, and the exact solution."""
        rounds = self.size.m * -(-self.size.m // self.size.k)
        found = {self.run("cycle", "topk").recovery_rounds, self.counted[0].recovery_rounds}
        return found == {rounds} and self.errors.exact < 1e-25


def run(seed: int = 1, size: Size = PAPER, progress: Progress | None = None) -> Result:
    """Everything; at the paper's size most of a minute."""
    problem = gaussian("large", seed, size.m, size.rows_each, size.n)
    sums = SingleSum.of(problem, BOUND)
    designed = Network.design(problem.parties, tau=TAU)
    networks = {"cycle": Network.cycle(problem.parties), "designed": designed}
    steps = _steps(sums, networks, size)
    runs: list[Run] = []
    counted: list[Counted] = []
    totals: list[Residues] = []
    for done, (found, total) in enumerate(steps, 1):
        totals.append(total)
        if isinstance(found, Run):
            runs.append(found)
        else:
            counted.append(found)
        if progress is not None:
            progress(done, 4 * len(networks) + 1)
    _refuse_differences(totals)
    answer, truth = sums.solution(totals[0]), exact_solution(problem)
    solved, own = _solve(problem, designed)
    return Result(
        size,
        seed,
        len(sums.pairs) + 1,
        networks,
        (*runs, solved),
        tuple(counted),
        errors(problem, answer, truth),
        float(np.max(answer.error_bound)),
        errors(problem, own, truth),
    )


def _steps(
    sums: SingleSum, networks: dict[str, Network], size: Size
) -> Iterator[tuple[Run | Counted, Residues]]:
    """Each run with its total; Top-k by real agents has the first entry of it."""
    for name, network in networks.items():
        T = size.m if name == "cycle" else network.diameter
        yield _measured(name, ARRAYS, sums.plan(network, "topk", size.k, T), sums.secrets)
        yield _counted(name, network, size.k, T, sums)
        yield _measured(name, AGENTS, sums.plan(network, "flood"), sums.secrets)
        yield _measured(name, AGENTS, sums.plan(network, "tree"), sums.secrets)


def _measured(network: str, engine: str, plan: Plan, secrets: Residues) -> tuple[Run, Residues]:
    engines: dict[str, Callable[..., Outcome]] = {AGENTS: local.run, ARRAYS: vectorised.run}
    with _Meter() as meter:
        outcome = engines[engine](plan, secrets)
    label = network, plan.scheme.name, engine
    return _run(label, plan.network, plan.mask_numbers, outcome.cost, meter), outcome.total


def _counted(
    name: str, network: Network, k: int, T: int, sums: SingleSum
) -> tuple[Counted, Residues]:
    plan = Plan.make(network, sums.scale.ring, 1, recovery="topk", k=k, rounds=T, tau=TAU)
    start = process_time()
    outcome = local.run(plan, sums.secrets[..., :1])
    cpu_seconds = process_time() - start
    cost = outcome.cost
    sent = cost.numbers_sent.largest // plan.entries
    found = Counted(name, cost.recovery_rounds, cost.messages, sent, cpu_seconds)
    return found, outcome.total


def _solve(problem: Problem, network: Network) -> tuple[Run, Solution]:
    """TITAN's own way: two sums, nothing guessed, the recovery its own choice."""
    parts = list(zip(problem.A, problem.b, strict=True))
    with _Meter() as meter:
        solution = solve(parts, network, tau=TAU)
    entries = (2 * problem.n + 1 + 1) + (problem.n * (problem.n - 1) // 2 + 1)
    label = "designed", "titan.solve", AGENTS
    return _run(label, network, entries, solution.cost, meter), solution


def _run(
    label: tuple[str, str, str], network: Network, mask_numbers: int, cost: Cost, meter: _Meter
) -> Run:
    busiest = int(cost.numbers_sent.array.argmax())
    return Run(
        *label,
        cost.recovery_rounds,
        cost.rounds,
        cost.numbers_sent.largest,
        int(network.out_degree[busiest]) * mask_numbers,
        cost.bytes_sent.largest,
        cost.numbers_held.largest,
        meter.cpu_seconds,
        meter.seconds,
        meter.peak_bytes,
    )


class _Meter:
    """Seconds, and the most memory that was allocated meanwhile."""

    cpu_seconds = seconds = 0.0
    peak_bytes = 0

    def __enter__(self) -> _Meter:
        tracemalloc.start()
        self._start = perf_counter(), process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = perf_counter() - self._start[0]
        self.cpu_seconds = process_time() - self._start[1]
        self.peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def _refuse_differences(totals: list[Residues]) -> None:
    """All recoveries, on both networks, end with the same bits."""
    for total in totals[1:]:
        if not np.array_equal(total, totals[0][:, : total.shape[1]]):
            raise RecoveryError("two recoveries of the same sum ended with different bits")
