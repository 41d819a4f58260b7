"""Differentially private optimisation (Huang, Mitra, Vaidya 2015).

    z_i = Σ_j W_ij (x_j + w_j(t)),    x_i ← Π_X(z_i − γ_t ∇f_i(Π_X z_i)),    γ_t = c q^t

with every message hidden by Laplace noise w_j(t) of scale M_t = M₀ p^t, q < p < 1. If no gradient
on X is longer than G, changing one party's f moves x_i(t+1) by at most 2Gγ_t, in the 1-norm by √n
times that, so that

    M₀ = 2 G √n c / (ε (p − q))    spends    Σ_t 2 G √n γ_t / M_{t+1} = ε    in all.

(The paper takes the gradient at z_i itself and assumes it bounded everywhere, which no square is.)

X is the ball of `radius` times ‖x*‖, a bound tighter than anybody would know. Because Σγ_t is
finite the iterates stop short of x* even without noise (epsilon=inf): a plateau. With noise the
error grows as 1/ε. The step size is c.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan.errors import PlanError
from titan_lab.compare.case import Case
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats

_SPENT = 1e-17  # of the first step and noise: what follows would change nothing


class PrivateOptimisation(Method):
    about = About(
        name="dp-optimisation",
        title="Differentially private optimisation",
        reference="Huang, Mitra, Vaidya, Differentially private distributed optimization, "
        "ICDCN 2015",
        requires=Requires(
            undirected=True, knows="the neighbours' degrees, bounds on x and on all gradients"
        ),
        finite=False,
        private="noisy iterates: epsilon-differential privacy of each party's function",
        accuracy="a plateau, higher the smaller epsilon",
    )
    choices: ClassVar[dict[str, Any]] = {"epsilon": 1.0, "q": 0.95, "p": 0.975, "radius": 2.0}

    @classmethod
    def default_step(cls, case: Case) -> float:
        """1/L."""
        return 1 / case.smoothness

    def init(self) -> None:
        case, q, p = self.case, self.choice["q"], self.choice["p"]
        if not (0 < q < p < 1 and self.choice["epsilon"] > 0):
            raise PlanError(f"q={q}, p={p}", hint="0 < q < p < 1, and epsilon above 0")
        self.x = np.zeros((case.m, case.n))
        self.radius = self.choice["radius"] * float(np.linalg.norm(case.problem.solution))
        steepest = case.smoothness * self.radius + np.linalg.norm(case.moment, axis=1).max()
        first = np.sqrt(case.n) * self.alpha
        self.noise = float(2 * steepest * first / (self.choice["epsilon"] * (p - q)))
        self.note = f"epsilon = {self.choice['epsilon']:g}"
        self.cost.hold(case.n)

    def step(self) -> None:
        """n noisy numbers to each neighbour."""
        case, t = self.case, self.cost.rounds
        noise = self.rng.laplace(0, 1, self.x.shape) * (self.noise * self.choice["p"] ** t)
        z = case.metropolis @ (self.x + noise)
        gradient = case.gradient(self._in_ball(z))
        self.x = self._in_ball(z - self.alpha * self.choice["q"] ** t * gradient)
        self.finished = self.choice["p"] ** t < _SPENT
        self.cost.rounds += 1
        self.cost.broadcast(case.n)
        self.cost.work(case.mixing_flops(case.n) + case.matrix_flops + 4.0 * case.n)

    def _in_ball(self, x: Floats) -> Floats:
        """Π_X."""
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return np.asarray(x * (self.radius / np.maximum(length, self.radius)))

    @property
    def estimates(self) -> Floats:
        return self.x
