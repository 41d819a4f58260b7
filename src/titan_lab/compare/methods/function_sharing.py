"""Obfuscated gradients by function sharing (Gade, Vaidya 2018).

Each party sends every neighbour a random function s_ij(x) = ½ xᵀQ_ij x + r_ijᵀ x and optimises

    f̃_i = f_i + Σ_j s_ji − Σ_j s_ij,    Σ f̃_i = Σ f_i

by consensus gradient, x_i ← Σ_j W_ij x_j − α_t ∇f̃_i(x_i), α_t = α/(t+1)^¾. The f̃_i need not be
convex; their sum is. Q and r have Gaussian entries of `share` times the size of the moments. The
step size is α.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.case import Case, times
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class FunctionSharing(Method):
    about = About(
        name="function-sharing",
        title="Function sharing (obfuscated gradients)",
        reference="Gade, Vaidya, Private optimization on networks, ACC 2018; "
        "Privacy-preserving distributed learning via obfuscated stochastic gradients, CDC 2018",
        requires=Requires(undirected=True, knows="the neighbours' degrees, a step size"),
        finite=False,
        private="iterates of an obfuscated function, if its neighbours have others",
        accuracy="sublinear",
    )
    choices: ClassVar[dict[str, Any]] = {"share": 0.1, "decay": 0.75}

    @classmethod
    def default_step(cls, case: Case) -> float:
        """1/L."""
        return 1 / case.smoothness

    def init(self) -> None:
        case, n = self.case, self.case.n
        self.x = np.zeros((case.m, n))
        self.gram, self.moment = self._obfuscated()
        numbers = n * (n + 1) // 2 + n
        self.cost.rounds = 1
        self.cost.broadcast(numbers)
        self.cost.hold(n + numbers)

    def _obfuscated(self) -> tuple[Floats, Floats]:
        case, links = self.case, len(self.case.network.senders)
        scale = self.choice["share"] * float(np.abs(case.gram).max())
        Q = self.rng.normal(0, scale, (links, case.n, case.n))
        Q = (Q + Q.transpose(0, 2, 1)) / 2
        r = self.rng.normal(0, self.choice["share"] * np.abs(case.moment).max(), (links, case.n))
        gram, moment = case.gram.copy(), case.moment.copy()
        senders, receivers = case.network.senders, case.network.receivers
        for array, shared in ((gram, Q), (moment, -r)):
            np.add.at(array, receivers, shared)
            np.subtract.at(array, senders, shared)
        return gram, moment

    def step(self) -> None:
        """n numbers to each neighbour."""
        case = self.case
        alpha = self.alpha / self.cost.rounds ** self.choice["decay"]
        gradient = times(self.gram, self.x) - self.moment
        self.x = case.metropolis @ self.x - alpha * gradient
        self.cost.rounds += 1
        self.cost.broadcast(case.n)
        self.cost.work(case.mixing_flops(case.n) + case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
