"""Sums under one party's key: what homomorphic encryption gives, whichever the scheme.

Everybody encrypts under the public key of one party, the holder; another adds the ciphertexts; the
holder decrypts the sum and tells it to all. If the holder and the one who adds collude, they read
every input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.inputs import Floats, error, exact_sum
from benchmarks.peers.report import Measured

TRUST = "the key's holder and whoever adds must not collude; all parties' work in one process"


@dataclass(frozen=True)
class Sealed:
    """The sums found, and how many bytes of ciphertext each party, and the one who adds, sent."""

    found: Sequence[float]
    by_party: Sequence[int]
    added: int

    def measured(self, seconds: float, values: Floats) -> Measured:
        told = (len(values) - 1) * np.asarray(self.found, np.float64).nbytes
        return Measured(
            seconds,
            max([*self.by_party, self.added, told]),
            error(self.found, exact_sum(values)),
            f"{max(self.by_party):,} bytes of ciphertext per party",
        )
