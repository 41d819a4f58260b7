"""What makes columns orthonormal, so that a row's image is as long as its leverage.

Up to a hundred columns that is exact. Of more, elimination in long integers takes minutes, and a
party must not keep the others waiting: then it is by float64, with what that leaves open refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import randbits

import numpy as np
import numpy.typing as npt

from titan.errors import ReleaseError
from titan.leastsquares.pooled import PooledMoments
from titan.leastsquares.whitening import Whitening, whiten

Floats = npt.NDArray[np.float64]

MOST_EXACT = 100
_TRUSTED = 2.0**12
"""An eigenvalue so many times larger than its error."""


@dataclass(frozen=True, eq=False)
class Approximate:
    """W by float64: the leverage of any row is within 2^-12 of its own size."""

    scales: tuple[int, ...]
    floats: Floats = field(repr=False)


def orthonormal(moments: PooledMoments) -> Whitening | Approximate:
    """ReleaseError where so many columns almost exactly depend on each other."""
    if len(moments.names) <= MOST_EXACT:
        return whiten(moments, full_rank=False)
    gram = (moments.gram / moments.denominator).astype(np.float64)
    size = np.sqrt(np.diagonal(gram))
    there = np.flatnonzero(size)
    inverse = 1 / size[there]
    values, vectors = np.linalg.eigh(gram[np.ix_(there, there)] * np.outer(inverse, inverse))
    trusted = values > values[-1] * len(there) * 2.0**-51 * _TRUSTED
    if trusted.sum() != _rank(moments):
        raise ReleaseError(
            f"some of {len(moments.names)} columns almost exactly depend on each other",
            hint=f"this cannot be checked for more than {MOST_EXACT} columns: leave some out",
            rule="leverage",
        )
    whole = np.zeros((int(trusted.sum()), len(gram)))
    whole[:, there] = (vectors[:, trusted] / np.sqrt(values[trusted])).T * inverse
    return Approximate(moments.scales, whole)


def _rank(moments: PooledMoments) -> int:
    """Modulo a random prime: too low once in about 2^50 times."""
    import flint

    n, prime = len(moments.names), randbits(62) | 1 << 61 | 1
    while not flint.fmpz(prime).is_prime():
        prime += 2
    return int(flint.nmod_mat(n, n, [int(x) % prime for x in moments.gram.ravel()], prime).rank())
