"""64 sums over random subsets of a vector's entries: equal vectors have equal ones, others do not.

A subset that is drawn after two vectors are fixed tells them apart with probability 1/2 or more:
take an entry in which they differ, and settle all others first; with it or without it, one of the
two sums differs. That holds modulo 2^bits for any bits, and for a difference in the top bit alone,
where a random linear combination with few bits would do no better. 64 subsets miss a difference
with probability 2^-64. The sums of a sum of vectors are the sums of theirs. A vector of 64 entries
or fewer is told itself instead.
"""

from __future__ import annotations

import numpy as np

from titan.protocol.masking import KeyStream
from titan.ring import Residues, Ring

SUBSETS = 64
_AT_ONCE = 1 << 18  # products; of more BLAS makes threads, which wait for each other
_LOW_HALF, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def sums_of(entries: int) -> int:
    """How many sums there are."""
    return min(SUBSETS, entries)


def subset_sums(ring: Ring, vector: Residues, challenge: bytes) -> Residues:
    """(limbs, 64) of a vector (limbs, d), if that has more entries.

    Entry e is in subset s if bit s of the key stream's word e is set. Limbs are summed in halves of
    32 bits, some entries at a time: a product of floats is exact then.
    """
    if vector.shape[1] <= SUBSETS:
        return vector
    words = KeyStream(challenge).words(vector.shape[1])
    sums = np.zeros((2 * ring.limbs, SUBSETS), np.uint64)
    size = max(1, _AT_ONCE // sums.size)
    for at in range(0, len(words), size):
        bits = np.unpackbits(words[at : at + size].view(np.uint8), bitorder="little")
        some = vector[:, at : at + size]
        halves = np.concatenate([some & _LOW_HALF, some >> _HALF]).astype(np.float64)
        sums += (halves @ bits.reshape(-1, SUBSETS).astype(np.float64)).astype(np.uint64)
    return ring.from_halves(sums[: ring.limbs], sums[ring.limbs :])
