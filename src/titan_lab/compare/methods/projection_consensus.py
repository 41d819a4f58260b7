"""Projection consensus (Mou, Liu, Morse 2015; rate: Liu, Morse, Nedić, Başar 2017).

    A_i x_i(0) = b_i,    x_i ← x_i − (1/|N_i|) P_i (|N_i| x_i − Σ_{j∈N_i} x_j)

with P_i the projector onto ker A_i and N_i the in-neighbours of i and i itself. Every iterate
solves the party's own equations; on a strongly connected network all tend to one solution of all.
"""

from __future__ import annotations

from titan_lab.compare.case import times
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class ProjectionConsensus(Method):
    about = About(
        name="projection-consensus",
        title="Projection consensus",
        reference="Mou, Liu, Morse, A distributed algorithm for solving a linear algebraic "
        "equation, IEEE Trans. Automatic Control 60(11), 2015",
        requires=Requires(consistent=True),
        finite=False,
        private="a solution of each in-neighbour's own equations",
    )

    def init(self) -> None:
        self.x = self.case.particular.copy()
        self.cost.hold(self.case.n)

    def step(self) -> None:
        """n numbers to each out-neighbour."""
        away = self.x - self.case.row_stochastic @ self.x
        self.x = self.x - times(self.case.kernels, away)
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n)
        self.cost.work(self.case.mixing_flops(self.case.n) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
