"""Paillier sums (as in Alexandru, Gatsis, Pappas 2017, and Zhang, Ahmad, Wang 2019), by `phe`.

One party makes a key pair and publishes its public key. Everybody encrypts each entry of its
summand; ciphertexts are multiplied, so that the numbers under them add, along the shortest paths to
an aggregator; the product goes to the key's holder, who decrypts it and floods the sum:

    E(x_1) · E(x_2) ⋯ E(x_m) = E(x_1 + … + x_m)

The holder is the party farthest from the aggregator, and so passes nothing on before the end: what
it could decrypt is the sum alone. A ciphertext counts as one number, of `cost.bits` bits.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.flooding import flood
from titan_lab.compare.method import About, Requires
from titan_lab.compare.problem import Floats
from titan_lab.compare.summands import Averaging, summands


class PaillierSums(Averaging):
    about = About(
        name="paillier",
        title="Paillier sums",
        reference="Alexandru, Gatsis, Pappas, Privacy preserving cloud-based quadratic "
        "optimization, Allerton 2017; Zhang, Ahmad, Wang, ADMM based privacy-preserving "
        "decentralized optimization, IEEE Trans. Information Forensics and Security 14(3), 2019",
        requires=Requires(package="phe", knows="a public key, and the way to the aggregator"),
        finite=True,
        private="the sum; the key's holder everything, together with whoever forwards to it",
        accuracy="exact",
    )
    choices: ClassVar[dict[str, Any]] = {"key_bits": 2048}

    def init(self) -> None:
        network = self.case.network
        self.values = summands(self.case)
        self.mean: Floats | None = None
        self.to_aggregator = network.distances_to(0)
        self.holder = int(np.argmax(self.to_aggregator))
        self.cost.hold(2 * self.values.shape[1])

    @property
    def rounds_needed(self) -> int:
        """The public key flooded, ciphertexts up, their product to the holder, the sum flooded."""
        network = self.case.network
        told = int(network.distances_from(self.holder).max())
        there = int(network.distances_from(0)[self.holder])
        return told + int(self.to_aggregator.max()) + there + told

    def step(self) -> None:
        """The whole protocol."""
        paillier = import_module("phe.paillier")
        network, d = self.case.network, self.values.shape[1]
        public, secret = paillier.generate_paillier_keypair(n_length=self.choice["key_bits"])
        flood(self.cost, network, self.holder, 1)
        start = time.process_time()
        held: list[list[Any]] = [[public.encrypt(x) for x in row] for row in self.values.tolist()]
        each = (time.process_time() - start) / self.values.size
        self.note = (
            f"{1e3 * each:.0f} ms to encrypt an entry, key of {self.choice['key_bits']} bits"
        )
        for i in np.argsort(-self.to_aggregator, kind="stable").tolist():
            if i != 0:
                near = self.to_aggregator[i] - 1
                j = next(j for j in network.out_neighbours(i) if self.to_aggregator[j] == near)
                held[j] = [a + b for a, b in zip(held[j], held[i], strict=True)]
                self.cost.sent[i] += d
        self.cost.rounds += int(self.to_aggregator.max())
        self._forward(d)
        total = np.array([secret.decrypt(c) for c in held[0]])
        self.mean = total / self.case.m
        flood(self.cost, network, self.holder, d)
        self.cost.bits, self.cost.flops = 2 * self.choice["key_bits"], None
        self.finished = True

    def _forward(self, numbers: int) -> None:
        """From the aggregator to the holder, along a shortest path."""
        network, at = self.case.network, 0
        left = network.distances_to(self.holder)
        while at != self.holder:
            self.cost.sent[at] += numbers
            self.cost.rounds += 1
            at = next(j for j in network.out_neighbours(at) if left[j] == left[at] - 1)

    @property
    def means(self) -> Floats:
        """Before the end a party has only its own input."""
        if self.mean is None:
            return self.values
        return np.tile(self.mean, (self.case.m, 1))
