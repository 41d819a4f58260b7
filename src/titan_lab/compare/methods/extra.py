"""EXTRA (Shi, Ling, Wu, Yin 2015).

    x¹ = W x⁰ − α∇f(x⁰)
    x^{k+2} = (I + W) x^{k+1} − ½(I + W) x^k − α(∇f(x^{k+1}) − ∇f(x^k))

A gradient step with a correction that cancels the bias of plain consensus gradient, so that a
constant α < 2λ_min(½(I + W))/L gives linear convergence to x* itself.
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class Extra(Method):
    about = About(
        name="extra",
        title="EXTRA",
        reference="Shi, Ling, Wu, Yin, EXTRA: an exact first-order algorithm for decentralized "
        "consensus optimization, SIAM J. Optimization 25(2), 2015",
        requires=Requires(undirected=True, knows="the neighbours' degrees, a step size"),
        finite=False,
        private="its neighbours' iterates, and their gradients from them",
    )

    @classmethod
    def default_step(cls, case: Case) -> float:
        """Half of what the theory allows: λ_min(½(I + W))/L."""
        return float((1 + np.linalg.eigvalsh(case.metropolis)[0]) / 2 / case.smoothness)

    def init(self) -> None:
        self.x = np.zeros((self.case.m, self.case.n))
        self.before: tuple[Floats, Floats] | None = None  # W x and the gradient, a round ago
        self.older = self.x
        self.cost.hold(4 * self.case.n)

    def step(self) -> None:
        """n numbers to each neighbour; x, and of the round before x, W x and the gradient."""
        mixed, gradient = self.case.metropolis @ self.x, self.case.gradient(self.x)
        if self.before is None:
            new = mixed - self.alpha * gradient
        else:
            mixed_before, gradient_before = self.before
            new = self.x + mixed - (self.older + mixed_before) / 2
            new -= self.alpha * (gradient - gradient_before)
        self.older, self.x, self.before = self.x, new, (mixed, gradient)
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n)
        self.cost.work(self.case.mixing_flops(self.case.n) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
