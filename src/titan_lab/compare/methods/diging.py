"""DIGing (Nedić, Olshevsky, Shi 2017): gradient tracking on undirected networks.

    x⁺ = W x − α y,    y⁺ = W y + ∇f(x⁺) − ∇f(x),    y⁰ = ∇f(x⁰)

The y_i add up to the sum of all gradients and tend to agree, so everybody descends along the mean
gradient. Linear for constant α small enough.
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class Diging(Method):
    about = About(
        name="diging",
        title="DIGing",
        reference="Nedić, Olshevsky, Shi, Achieving geometric convergence for distributed "
        "optimization over time-varying graphs, SIAM J. Optimization 27(4), 2017",
        requires=Requires(undirected=True, knows="the neighbours' degrees, a step size"),
        finite=False,
        private="its neighbours' iterates and tracked gradients, their own gradients at first",
    )

    @classmethod
    def default_step(cls, case: Case) -> float:
        """1/(8L), and less where the network mixes slowly."""
        return min(1 / 8, case.gap(case.metropolis) / 2) / case.smoothness

    def init(self) -> None:
        self.x = np.zeros((self.case.m, self.case.n))
        self.gradient = self.case.gradient(self.x)
        self.y = self.gradient.copy()
        self.cost.hold(3 * self.case.n)

    def step(self) -> None:
        """x and y, 2n numbers, to each neighbour; the last gradient is kept beside them."""
        W = self.case.metropolis
        self.x = W @ self.x - self.alpha * self.y
        gradient = self.case.gradient(self.x)
        self.y = W @ self.y + gradient - self.gradient
        self.gradient = gradient
        self.cost.rounds += 1
        self.cost.broadcast(2 * self.case.n)
        self.cost.work(self.case.mixing_flops(2 * self.case.n) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
