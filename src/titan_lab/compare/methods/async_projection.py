"""Asynchronous projection consensus (Liu, Mou, Morse 2017).

Projection consensus without a common clock. In every tick each party wakes with probability `wake`,
applies

    x_i ← x_i − P_i (x_i − mean of its own and what last arrived from each in-neighbour)

and sends the result, which arrives after 1 to `delay` ticks; an older message that is overtaken is
dropped. A tick is counted as a round, and only those who woke have sent.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.case import times
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class AsynchronousProjection(Method):
    about = About(
        name="async-projection",
        title="Asynchronous projection consensus",
        reference="Liu, Mou, Morse, Asynchronous distributed algorithms for solving linear "
        "algebraic equations, IEEE Trans. Automatic Control 63(2), 2018",
        requires=Requires(consistent=True),
        finite=False,
        private="solutions of each in-neighbour's own equations",
        accuracy="linear in the mean",
    )
    choices: ClassVar[dict[str, Any]] = {"wake": 0.5, "delay": 3}

    def init(self) -> None:
        """One round in which everybody tells its first x, so that nobody waits for a neighbour."""
        network = self.case.network
        self.x = self.case.particular.copy()
        self.heard = self.x[network.senders]
        self.age = np.zeros(len(network.senders), np.int64)
        self.coming: list[tuple[int, int, int, Floats]] = []  # (arrives, sent, link, value)
        self.cost.rounds = 1
        self.cost.broadcast(self.case.n)
        self.cost.hold(self.case.n * (1 + network.in_degree.astype(np.int64)))

    def step(self) -> None:
        """n numbers to each out-neighbour from those who wake."""
        network, now = self.case.network, self.cost.rounds
        awake = self.rng.random(self.case.m) < self.choice["wake"]
        self._deliver(now)
        total = self.x.copy()
        np.add.at(total, network.receivers, self.heard)
        away = self.x - total / (1 + network.in_degree[:, None])
        moved = self.x - times(self.case.kernels, away)
        self.x = np.where(awake[:, None], moved, self.x)
        self._send(now, np.flatnonzero(awake[network.senders]))
        self.cost.rounds += 1
        self.cost.broadcast(self.case.n, awake)
        self.cost.work((self.case.mixing_flops(self.case.n) + self.case.matrix_flops) * awake)

    def _send(self, now: int, links: np.ndarray[tuple[int], np.dtype[np.intp]]) -> None:
        late = self.rng.integers(1, self.choice["delay"] + 1, len(links))
        for link, wait in zip(links.tolist(), late.tolist(), strict=True):
            value = self.x[self.case.network.senders[link]].copy()
            self.coming.append((now + wait, now, link, value))

    def _deliver(self, now: int) -> None:
        for arrives, sent, link, value in self.coming:
            if arrives <= now and sent >= self.age[link]:
                self.heard[link], self.age[link] = value, sent
        self.coming = [message for message in self.coming if message[0] > now]

    @property
    def estimates(self) -> Floats:
        return self.x
