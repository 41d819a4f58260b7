"""Push-DIGing (Nedić, Olshevsky, Shi 2017): gradient tracking on directed networks by push-sum.

    u⁺ = C(u − α y),    v⁺ = C v,    x⁺ = u⁺/v⁺,    y⁺ = C y + ∇f(x⁺) − ∇f(x)
    v⁰ = 1,  x⁰ = u⁰,  y⁰ = ∇f(x⁰)

C is column stochastic; dividing by v takes out the imbalance of a directed network.
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class PushDiging(Method):
    about = About(
        name="push-diging",
        title="Push-DIGing",
        reference="Nedić, Olshevsky, Shi, Achieving geometric convergence for distributed "
        "optimization over time-varying graphs, SIAM J. Optimization 27(4), 2017",
        requires=Requires(knows="its own out-degree, a step size"),
        finite=False,
        private="its in-neighbours' iterates and tracked gradients, their own gradients at first",
    )

    @classmethod
    def default_step(cls, case: Case) -> float:
        """1/(8L), and less where the network mixes slowly."""
        return min(1 / 8, case.gap(case.column_stochastic) / 2) / case.smoothness

    def init(self) -> None:
        self.u = np.zeros((self.case.m, self.case.n))
        self.v = np.ones((self.case.m, 1))
        self.x = self.u
        self.gradient = self.case.gradient(self.x)
        self.y = self.gradient.copy()
        self.cost.hold(3 * self.case.n + 1)

    def step(self) -> None:
        """u − α y, v and y, 2n + 1 numbers, to each out-neighbour."""
        C = self.case.column_stochastic
        self.u = C @ (self.u - self.alpha * self.y)
        self.v = C @ self.v
        self.x = self.u / self.v
        gradient = self.case.gradient(self.x)
        self.y = C @ self.y + gradient - self.gradient
        self.gradient = gradient
        self.cost.rounds += 1
        self.cost.broadcast(2 * self.case.n + 1)
        self.cost.work(self.case.mixing_flops(2 * self.case.n + 1) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
