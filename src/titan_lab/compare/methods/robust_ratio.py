"""Robust ratio consensus by running sums (Hadjicostis, Vaidya, Domínguez-García 2015).

Each party i splits y_i = (z_i, w_i) into 1 + d_out(i) equal shares s_i, keeps one, and broadcasts
the running sum σ_i of all shares it ever gave to a neighbour. A link that works tells the receiver

    y_j ← s_j + Σ_i (σ_i − ρ_ji),    ρ_ji ← σ_i

with ρ_ji the last running sum that arrived, and a link that loses its packet tells nothing: what
was lost is made up by the next packet that arrives. The estimate is z_i / w_i.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan.errors import PlanError
from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class RobustRatioConsensus(Averaging):
    about = About(
        name="robust-ratio",
        title="Robust ratio consensus by running sums",
        reference="Hadjicostis, Vaidya, Domínguez-García, Robust distributed average consensus via "
        "exchange of running sums, IEEE Trans. Automatic Control 61(6), 2016",
        requires=Requires(knows="its own out-degree"),
        finite=False,
        private="its in-neighbours' inputs, from the first running sums",
        accuracy="linear in the mean, under packet loss",
    )
    choices: ClassVar[dict[str, Any]] = {"loss": 0.2}
    """The probability that a packet is lost."""

    def init(self) -> None:
        loss = self.choice["loss"]
        if not 0 <= loss < 1:
            raise PlanError(f"a loss of {loss}", hint="a probability, 0 or more and below 1")
        self.note = f"{loss:.0%} of packets lost"
        network = self.case.network
        self.y = np.append(summands(self.case), np.ones((self.case.m, 1)), axis=1)
        self.sigma = np.zeros_like(self.y)
        self.rho = np.zeros((len(network.senders), self.y.shape[1]))
        self.cost.hold(self.y.shape[1] * (2 + network.in_degree.astype(np.int64)))

    def step(self) -> None:
        """The running sums, d + 1 numbers, to each out-neighbour, arrived or not."""
        network, numbers = self.case.network, self.y.shape[1]
        share = self.y / (1 + network.out_degree[:, None])
        self.sigma += share
        arrived = self.rng.random(len(self.rho)) >= self.choice["loss"]
        told = self.sigma[network.senders[arrived]]
        self.y = share
        np.add.at(self.y, network.receivers[arrived], told - self.rho[arrived])
        self.rho[arrived] = told
        self.cost.rounds += 1
        self.cost.broadcast(numbers)
        self.cost.work(numbers * (2.0 + 2 * network.in_degree))

    @property
    def means(self) -> Floats:
        return self.y[:, :-1] / self.y[:, -1:]
