"""Private projection (Liu, Wu, Manchester, Shi 2018).

    x ← (1/m) Σ_i Π_i(x)

Each mean is taken by private gossip: scrambling, then pairs averaging until all agree to
`agreement` times the size of the values. Nobody in the network could see that they agree, so
stopping there favours the method. A step is one round of gossip, and every one is counted.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.methods.gossip import Gossip
from titan_lab.compare.problem import Floats


class PrivateProjection(Method):
    about = About(
        name="private-projection",
        title="Private projection (PPSC)",
        reference="Liu, Wu, Manchester, Shi, Gossip algorithms that preserve privacy for "
        "distributed computation, parts I and II, CDC 2018",
        requires=Requires(undirected=True, consistent=True),
        finite=False,
        private="scrambled projections, and every average of them",
        accuracy="linear in the outer rounds",
    )
    choices: ClassVar[dict[str, Any]] = {"agreement": 1e-12}

    def init(self) -> None:
        self.x = np.zeros((self.case.m, self.case.n))
        self.outer = 0
        self._begin()

    def _begin(self) -> None:
        projected = self.case.project(self.x)
        self.scale = float(np.abs(projected).max()) or 1.0
        self.gossip = Gossip(projected, self.case.network, self.rng, self.cost)
        self.cost.hold(2 * self.case.n)
        self.cost.work(self.case.matrix_flops)

    def step(self) -> None:
        """n numbers, or n both ways, between each pair of the round."""
        self.gossip.step()
        spread = float(np.ptp(self.gossip.x, axis=0).max())
        if not self.gossip.scrambling and spread <= self.choice["agreement"] * self.scale:
            self.x = self.gossip.x
            self.outer += 1
            self._begin()

    @property
    def estimates(self) -> Floats:
        """What was agreed on last."""
        return self.x
