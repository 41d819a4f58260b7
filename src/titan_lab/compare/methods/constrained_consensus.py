"""Constrained consensus (Nedić, Ozdaglar, Parrilo 2010), the sets being {x : A_i x = b_i}.

    x_i ← Π_i(Σ_j W_ij x_j)

with Π_i the projection onto party i's solutions and W doubly stochastic (Metropolis). With
weights="equal", 1/|N_i| each, it coincides with projection consensus: the x_i are feasible, so
Π_i(z) = x_i − P_i(x_i − z).
"""

from __future__ import annotations

from typing import Any, ClassVar

from titan.errors import PlanError
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class ConstrainedConsensus(Method):
    about = About(
        name="constrained-consensus",
        title="Constrained consensus",
        reference="Nedić, Ozdaglar, Parrilo, Constrained consensus and optimization in multi-agent "
        "networks, IEEE Trans. Automatic Control 55(4), 2010",
        requires=Requires(undirected=True, consistent=True, knows="the neighbours' degrees"),
        finite=False,
        private="a solution of each neighbour's own equations",
    )
    choices: ClassVar[dict[str, Any]] = {"weights": "metropolis"}

    def init(self) -> None:
        known = {"metropolis": self.case.metropolis, "equal": self.case.row_stochastic}
        if self.choice["weights"] not in known:
            raise PlanError(f"weights={self.choice['weights']!r}", hint="metropolis or equal")
        self.W = known[self.choice["weights"]]
        self.x = self.case.particular.copy()
        self.cost.hold(self.case.n)

    def step(self) -> None:
        """n numbers to each neighbour."""
        self.x = self.case.project(self.W @ self.x)
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n)
        self.cost.work(self.case.mixing_flops(self.case.n) + self.case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
