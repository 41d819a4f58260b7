"""FAIM: finite-time average consensus by iterated max-consensus (Oliva, Setola, Hadjicostis 2016).

For every entry, m times: T rounds in which each party keeps the largest pair (value, id) that it or
an in-neighbour holds, after which all hold the winner; the winner joins the sum and leaves the
contest. Exact in m·T rounds for T ≥ the diameter. It is TITAN's Top-k with k = 1 and no masks.
"""

from __future__ import annotations

import numpy as np

from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class Faim(Averaging):
    about = About(
        name="faim",
        title="FAIM (iterated max-consensus)",
        reference="Oliva, Setola, Hadjicostis, Distributed finite-time average-consensus with "
        "limited computational and storage capability, IEEE Trans. Control of Network Systems 2016",
        requires=Requires(knows="bounds on the number of parties and on the diameter"),
        finite=True,
        private="everybody's inputs",
        accuracy="exact",
    )

    def init(self) -> None:
        self.values = summands(self.case)
        self.pending = np.ones(self.values.shape, bool)
        self.recovered: list[Floats] = []
        self.held = self.values, self._ids()
        self.cost.hold((2 + self.case.m) * self.values.shape[1])

    def _ids(self) -> Floats:
        return np.broadcast_to(np.arange(self.case.m, dtype=float)[:, None], self.values.shape)

    @property
    def rounds_needed(self) -> int:
        return self.case.m * self.case.network.diameter

    def step(self) -> None:
        """A value and an id for each entry to each out-neighbour."""
        d = self.values.shape[1]
        self.held = self._largest(*self.held)
        self.cost.rounds += 1
        self.cost.broadcast(2 * d)
        self.cost.work(2.0 * d * self.case.network.in_degree)
        if self.cost.rounds % self.case.network.diameter == 0:
            self._end_run()

    def _largest(self, values: Floats, ids: Floats) -> tuple[Floats, Floats]:
        """The largest pair of oneself and one's in-neighbours, ties to the larger id."""
        network = self.case.network
        best, owner = values.copy(), ids.copy()
        np.maximum.at(best, network.receivers, values[network.senders])
        owner[values < best] = -1
        told = np.where(
            values[network.senders] == best[network.receivers], ids[network.senders], -1
        )
        np.maximum.at(owner, network.receivers, told)
        return best, owner

    def _end_run(self) -> None:
        values, owners = self.held
        self.recovered.append(values[0])
        self.pending &= owners != self._ids()
        self.held = (
            np.where(self.pending, self.values, -np.inf),
            np.where(self.pending, self._ids(), -1),
        )
        self.finished = len(self.recovered) == self.case.m

    @property
    def means(self) -> Floats:
        """Before the end a party has only its own input."""
        if not self.finished:
            return self.values
        mean = np.sum(self.recovered, axis=0) / self.case.m
        return np.broadcast_to(mean, self.values.shape)
