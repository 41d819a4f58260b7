"""Consensus + innovations (Kar, Moura, Ramanan 2012).

    x_i ← x_i − β_t Σ_j (x_i − x_j) + α_t A_iᵀ(b_i − A_i x_i)
    α_t = a/(t+1)^τ₁,    β_t = b/(t+1)^τ₂,    0 < τ₂ < τ₁ ≤ 1

Both weights decay, the innovations' faster, so that agreement wins in the end: the error falls as
a power of t, not exponentially. b = 1/(1 + the largest degree); the step size is a.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class ConsensusInnovations(Method):
    about = About(
        name="consensus-innovations",
        title="Consensus + innovations",
        reference="Kar, Moura, Ramanan, Distributed parameter estimation in sensor networks, "
        "IEEE Trans. Information Theory 58(6), 2012",
        requires=Requires(undirected=True, knows="the largest degree, a step size"),
        finite=False,
        private="its neighbours' iterates, and their gradients from them",
        accuracy="sublinear",
    )
    choices: ClassVar[dict[str, Any]] = {"tau1": 0.75, "tau2": 0.1}

    @classmethod
    def default_step(cls, case: Case) -> float:
        """2/L: the first innovations overshoot for nobody."""
        return 2 / case.smoothness

    def init(self) -> None:
        network = self.case.network
        self.x = np.zeros((self.case.m, self.case.n))
        degree = network.in_degree
        self.laplacian = np.diag(degree + 1.0) - self.case.adjacency
        self.b = 1 / (1 + int(degree.max()))
        self.cost.hold(self.case.n)

    def step(self) -> None:
        """n numbers to each neighbour."""
        t = self.cost.rounds + 1
        alpha, beta = self.alpha / t ** self.choice["tau1"], self.b / t ** self.choice["tau2"]
        gradient = self.case.gradient(self.x)
        self.x = self.x - beta * (self.laplacian @ self.x) - alpha * gradient
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n)
        self.cost.work(self.case.mixing_flops(self.case.n) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
