"""What k costs: rounds, memory and messages for k = 1 … m, counted, beside the paper's formulas.

Section III-A, for one sum of d entries among m nodes:

    rounds of recovery     T⌈m/k⌉
    numbers held per node  (2k + m)d
    numbers sent by i      |N_i^out| (2kT⌈m/k⌉ + 1)d

Real agents run every k on a directed cycle (T = m, as in the paper's experiments) and on a designed
network with several out-neighbours (T its diameter). Rounds and numbers sent are counted envelope
by envelope, memory is the size of the agents' arrays; all must equal the formulas at every node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from titan.engines import local
from titan.network import Network
from titan.protocol import Cost
from titan_lab.compare.problems import gaussian
from titan_lab.experiments.single_sum import SingleSum

PARTIES, ROWS_EACH, UNKNOWNS = 20, 3, 5
BOUND = 64
"""Above every entry of the parties' moments; what is sent does not depend on values."""
DESIGNED_TAU = 2


@dataclass(frozen=True)
class Count:
    """One run. The predictions are the paper's, for a node with `out_degree` out-neighbours."""

    network: str
    T: int
    k: int
    rounds: int
    rounds_predicted: int
    held: int
    held_predicted: int
    sent: int
    sent_predicted: int
    out_degree: int
    """Of the node that sends most, to which `sent` belongs."""
    equal: bool
    """Whether measured equals predicted, at every node."""


@dataclass(frozen=True)
class Result:
    """All counts; d counts the carried 1."""

    counts: tuple[Count, ...]
    m: int
    d: int
    seed: int

    @property
    def unequal(self) -> tuple[Count, ...]:
        return tuple(count for count in self.counts if not count.equal)

    def of(self, network: str) -> list[Count]:
        return [count for count in self.counts if count.network == network]

    @property
    def networks(self) -> list[str]:
        return list(dict.fromkeys(count.network for count in self.counts))


def run(
    seed: int = 1, m: int = PARTIES, progress: Callable[[int, int], None] | None = None
) -> Result:
    """Every k on both networks."""
    problem = gaussian("tradeoff", seed, m, ROWS_EACH, UNKNOWNS)
    sums = SingleSum.of(problem, BOUND)
    designed = Network.design(problem.parties, tau=DESIGNED_TAU)
    networks = {
        "cycle": (Network.cycle(problem.parties), m),
        f"designed, τ = {DESIGNED_TAU}": (designed, designed.diameter),
    }
    counts: list[Count] = []
    for name, (network, T) in networks.items():
        for k in range(1, m + 1):
            plan = sums.plan(network, "topk", k, T)
            outcome = local.run(plan, sums.secrets)
            counts.append(compared(name, network, plan.entries, T, k, outcome.cost))
            if progress is not None:
                progress(len(counts), len(networks) * m)
    return Result(tuple(counts), m, len(sums.pairs) + 1, seed)


def compared(name: str, network: Network, d: int, T: int, k: int, cost: Cost) -> Count:
    """What was counted beside the paper's formulas, node by node."""
    m = len(network)
    runs = -(-m // k)
    rounds, held = T * runs, (2 * k + m) * d
    sent = [degree * (2 * k * T * runs + 1) * d for degree in network.out_degree.tolist()]
    equal = (
        cost.recovery_rounds == rounds
        and cost.numbers_held.array.tolist() == [held] * m
        and cost.numbers_sent.array.tolist() == sent
    )
    most = int(cost.numbers_sent.array.argmax())
    return Count(
        name,
        T,
        k,
        cost.recovery_rounds,
        rounds,
        cost.numbers_held.largest,
        held,
        cost.numbers_sent.largest,
        sent[most],
        int(network.out_degree[most]),
        equal,
    )
