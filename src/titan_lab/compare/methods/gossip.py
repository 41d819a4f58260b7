"""Private gossip, PPSC (Liu, Wu, Manchester, Shi 2018), and the rounds that pairs gossip in.

While scrambling, party i draws γ and hands what is left to a neighbour j,

    x_j ← x_j + x_i − γ,    x_i ← γ,

which keeps the sum; afterwards pairs of neighbours average, x_i, x_j ← (x_i + x_j)/2. One round is
a random maximal matching of the network: disjoint pairs act at the same time. Scrambling lasts
until everybody has handed something on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from titan.network import Network
from titan_lab.compare.method import About, Requires, Tally
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands

Pairs = npt.NDArray[np.intp]


def matching(network: Network, rng: np.random.Generator) -> Pairs:
    """Disjoint neighbours, shape (2, pairs): links in random order, each taken if both are free."""
    free = np.ones(len(network), bool)
    senders, receivers = network.senders, network.receivers
    chosen = []
    for link in rng.permutation(len(senders)):
        if free[senders[link]] and free[receivers[link]]:
            free[senders[link]] = free[receivers[link]] = False
            chosen.append(link)
    return np.stack([senders[chosen], receivers[chosen]])


class Gossip:
    """One private average of one vector per party, round by round."""

    def __init__(
        self, values: Floats, network: Network, rng: np.random.Generator, cost: Tally
    ) -> None:
        self.x = values.copy()
        self._network, self._rng, self._cost = network, rng, cost
        self._clear = np.ones(len(network), bool)  # who has not handed anything on yet
        self._spread = 10 * (float(np.abs(values).max()) or 1.0)
        cost.hold(values.shape[1])

    @property
    def scrambling(self) -> bool:
        return bool(self._clear.any())

    def step(self) -> None:
        """d numbers from the one to the other while scrambling, then d numbers both ways."""
        first, second = matching(self._network, self._rng)
        d = self.x.shape[1]
        if self.scrambling:
            kept = self._rng.normal(0, self._spread, (len(first), d))
            self.x[second] += self.x[first] - kept
            self.x[first] = kept
            self._clear[first] = False
        else:
            self.x[first] = self.x[second] = (self.x[first] + self.x[second]) / 2
            self._cost.sent[second] += d
        self._cost.sent[first] += d
        self._cost.rounds += 1
        busy = np.zeros(len(self._network))
        busy[first] = busy[second] = 2.0 * d
        self._cost.work(busy)


class PrivateGossip(Averaging):
    about = About(
        name="private-gossip",
        title="Private gossip (PPSC)",
        reference="Liu, Wu, Manchester, Shi, Gossip algorithms that preserve privacy for "
        "distributed computation, parts I and II, CDC 2018",
        requires=Requires(undirected=True),
        finite=False,
        private="scrambled values; inputs stay hidden from one party if its neighbours have others",
        accuracy="linear in the mean",
    )

    def init(self) -> None:
        self.gossip = Gossip(summands(self.case), self.case.network, self.rng, self.cost)

    def step(self) -> None:
        self.gossip.step()

    @property
    def means(self) -> Floats:
        return self.gossip.x
