"""Private average consensus (Gupta, Katz, Chopra 2017, 2019).

On an undirected network each pair of neighbours exchanges masks, uniform in [0, M):

    x̃_i = x_i + Σ_j r_ji − Σ_j r_ij   (mod M),    then  x̃ ← W x̃,    total_i = m·x̃_i  (mod M)

with M = m·a for inputs in [0, a), and 2·m·a, the result taken in [−m·a, m·a), where inputs may be
negative, as entries of A_iᵀA_i may. As TITAN's paper warns, the iterate is never exact, and the
modulo of an inexact value near a multiple of M is off by a whole M.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan.errors import PlanError
from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class PrivateAverageConsensus(Averaging):
    about = About(
        name="private-average",
        title="Private average consensus",
        reference="Gupta, Katz, Chopra, Privacy in distributed average consensus, IFAC 2017; "
        "Statistical privacy in distributed average consensus on bounded real inputs, ACC 2019",
        requires=Requires(
            undirected=True, knows="the neighbours' degrees, the number of parties, a bound a"
        ),
        finite=False,
        private="the sum over the honest parties it separates, and no more",
        accuracy="linear, but for a modulo that may miss by m·a",
    )

    choices: ClassVar[dict[str, Any]] = {"bound": None}
    """The public a; without it the next power of two above every input."""

    def init(self) -> None:
        values = summands(self.case)
        self.signed = bool((values < 0).any())
        bound = self.choice["bound"] or _bound(values)
        if not bound > np.abs(values).max():
            raise PlanError(f"bound={bound} is not above every input", hint="raise it")
        self.modulus = self.case.m * bound * (2 if self.signed else 1)
        self.x = self._masked(values)
        d = values.shape[1]
        self.cost.rounds = 1
        self.cost.broadcast(d)
        self.cost.hold(d)

    def _masked(self, values: Floats) -> Floats:
        network = self.case.network
        masks = self.rng.uniform(0, self.modulus, (len(network.senders), values.shape[1]))
        masked = values.copy()
        np.add.at(masked, network.receivers, masks)
        np.subtract.at(masked, network.senders, masks)
        return np.asarray(np.mod(masked, self.modulus))

    def step(self) -> None:
        """d numbers to each neighbour."""
        d = self.x.shape[1]
        self.x = self.case.metropolis @ self.x
        self.cost.rounds += 1
        self.cost.broadcast(d)
        self.cost.work(self.case.mixing_flops(d))

    @property
    def means(self) -> Floats:
        total = np.mod(self.case.m * self.x, self.modulus)
        if self.signed:
            total = np.where(total >= self.modulus / 2, total - self.modulus, total)
        return np.asarray(total / self.case.m)


def _bound(values: Floats) -> float:
    return float(2.0 ** (np.floor(np.log2(np.abs(values).max() or 1.0)) + 1))
