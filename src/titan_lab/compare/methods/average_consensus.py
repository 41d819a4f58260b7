"""Average consensus (Xiao, Boyd, Lall 2005).

    x ← W x,    W_ij = 1 / (1 + max(d_i, d_j))        (Metropolis weights)

W is doubly stochastic, so the average is kept, and every x_i tends to it at the rate of W's second
largest eigenvalue. For least squares x_i is the summand of the moments.
"""

from __future__ import annotations

from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class AverageConsensus(Averaging):
    about = About(
        name="average-consensus",
        title="Average consensus",
        reference="Xiao, Boyd, Lall, A scheme for robust distributed sensor fusion based on "
        "average consensus, IPSN 2005",
        requires=Requires(undirected=True, knows="the neighbours' degrees"),
        finite=False,
        private="its neighbours' inputs, in the first round",
    )

    def init(self) -> None:
        self.x = summands(self.case)
        self.cost.hold(self.x.shape[1])

    def step(self) -> None:
        """d numbers to each neighbour."""
        d = self.x.shape[1]
        self.x = self.case.metropolis @ self.x
        self.cost.rounds += 1
        self.cost.broadcast(d)
        self.cost.work(self.case.mixing_flops(d))

    @property
    def means(self) -> Floats:
        return self.x
