"""Distributed fixed point, DFIX (Jakovetić, Krejić, Krklec Jerinkić, Malaspina, Micheletti 2020).

A square system A x = b with a dominant diagonal D is y = M y + d, M = I − D⁻¹A, d = D⁻¹b, with
‖M‖∞ < 1; party i holds equation i. Each replaces its own component and all mix:

    x̂_i = x_i but for (x̂_i)_i = M_i x_i + d_i,    x_i ← Σ_j w_ij x̂_j

with w row stochastic on a strongly connected directed network (here 1/|N_i| each).
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class DistributedFixedPoint(Method):
    about = About(
        name="fixed-point",
        title="Distributed fixed point (DFIX)",
        reference="Jakovetić, Krejić, Krklec Jerinkić, Malaspina, Micheletti, Distributed fixed "
        "point method for solving systems of linear algebraic equations, arXiv:2001.03968, 2020",
        requires=Requires(contraction=True),
        finite=False,
        private="its in-neighbours' iterates, from which their equations can be found",
    )

    def init(self) -> None:
        A, b = self.case.problem.stacked
        diagonal = np.diagonal(A)
        self.M = np.eye(self.case.n) - A / diagonal[:, None]
        self.d = b / diagonal
        self.x = np.zeros((self.case.m, self.case.n))
        self.cost.hold(self.case.n)

    def step(self) -> None:
        """n numbers to each out-neighbour."""
        own = np.einsum("ij,ij->i", self.M, self.x) + self.d
        hat = self.x.copy()
        np.fill_diagonal(hat, own)
        self.x = self.case.row_stochastic @ hat
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n)
        self.cost.work(self.case.mixing_flops(self.case.n) + 2.0 * self.case.n)

    @property
    def estimates(self) -> Floats:
        return self.x
