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
_AT_ONCE = 1 << 20  # entries: sums of 2^20 numbers below 2^32 are exact in float64
_LOW_HALF, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BYTES = np.arange(256)
_HAS_BIT = (_BYTES >> np.arange(8)[:, np.newaxis] & 1).astype(np.uint64)  # (bit, byte)


def sums_of(entries: int) -> int:
    """How many sums there are."""
    return min(SUBSETS, entries)


def subset_sums(ring: Ring, vector: Residues, challenge: bytes) -> Residues:
    """(limbs, 64) of a vector (limbs, d), if that has more entries.

    Entry e is in subset s if bit s of the key stream's word e is set.
    """
    if vector.shape[1] <= SUBSETS:
        return vector
    words = KeyStream(challenge).words(vector.shape[1])
    total = ring.zeros(SUBSETS)
    for at in range(0, len(words), _AT_ONCE):
        some = slice(at, at + _AT_ONCE)
        ring.add_into(total, _summed(ring, vector[:, some], words[some]))
    return total


def _summed(ring: Ring, vector: Residues, words: Residues) -> Residues:
    """Entries with the same byte are in the same 8 subsets: they are added up first."""
    halves = [(limb & _LOW_HALF, limb >> _HALF) for limb in vector]
    low, high = ring.zeros(SUBSETS), ring.zeros(SUBSETS)
    for eighth, byte in enumerate(words.view(np.uint8).reshape(-1, 8).T):
        which = byte.astype(np.intp)
        here = slice(8 * eighth, 8 * eighth + 8)
        for limb, (below, above) in enumerate(halves):
            low[limb, here] = _HAS_BIT @ _by_byte(which, below)
            high[limb, here] = _HAS_BIT @ _by_byte(which, above)
    return ring.from_halves(low, high)


def _by_byte(which: np.ndarray[tuple[int], np.dtype[np.intp]], half: Residues) -> Residues:
    return np.bincount(which, weights=half, minlength=256).astype(np.uint64)
