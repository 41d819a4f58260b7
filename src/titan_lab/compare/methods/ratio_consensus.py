"""Ratio consensus, or push-sum (Kempe, Dobra, Gehrke 2003; Domínguez-García, Hadjicostis 2011).

    z ← C z,    w ← C w,    w(0) = 1,    estimate z_i / w_i

C_ji = 1 / (1 + d_out(i)) is column stochastic: the sums of z and of w are kept while both tend to
the same multiple of them, on directed networks too. A party must know its out-degree.
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class RatioConsensus(Averaging):
    about = About(
        name="ratio-consensus",
        title="Ratio consensus (push-sum)",
        reference="Kempe, Dobra, Gehrke, Gossip-based computation of aggregate information, "
        "FOCS 2003; Domínguez-García, Hadjicostis, CDC 2011",
        requires=Requires(knows="its own out-degree"),
        finite=False,
        private="its in-neighbours' inputs, from the first z and w",
    )

    def init(self) -> None:
        self.z = summands(self.case)
        self.w = np.ones((self.case.m, 1))
        self.cost.hold(self.z.shape[1] + 1)

    def step(self) -> None:
        """z and w, d + 1 numbers, to each out-neighbour."""
        C, numbers = self.case.column_stochastic, self.z.shape[1] + 1
        self.z, self.w = C @ self.z, C @ self.w
        self.cost.rounds += 1
        self.cost.broadcast(numbers)
        self.cost.work(self.case.mixing_flops(numbers))

    @property
    def means(self) -> Floats:
        return self.z / self.w
