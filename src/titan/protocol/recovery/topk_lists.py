"""Every party's Top-k list in every round, as sets of bits.

For one entry the m masked pairs (value, id) are distinct and fixed, so a party's sorted list of at
most k of them is the same thing as a set of ranks, and that is an m-bit number: merging lists is
OR, and keeping the k largest is clearing the lowest bits until k are left. Algorithm 2 then needs
a few machine instructions per party, entry and round, whatever the ring.

Entries do not influence each other, so a block of them runs through all its rounds while it sits
in the cache. Arrays are (words, m, block): word w of a set holds ranks 64w … 64w+63.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from titan.errors import RecoveryError
from titan.network import Network
from titan.protocol.recovery.interface import Progress
from titan.ring import Residues

if TYPE_CHECKING:
    from titan.protocol.recovery.topk import TopK

Sets = npt.NDArray[np.uint64]
Runs = list[tuple[slice, slice]]
Observer = Callable[[int, int, Sets], None]
"""Called with (first entry of the block, round, all parties' sets after it)."""

_CACHE_WORDS = 1 << 15  # of one array of sets; a handful of them are in use at a time
_TOP_BIT = np.uint64(63)


def recover_all(
    scheme: TopK,
    masked: Residues,
    progress: Progress | None = None,
    observe: Observer | None = None,
) -> None:
    """Run Top-k on masked inputs (limbs, d, m); raises unless every party recovers all of them."""
    m = masked.shape[-1]
    words = -(-m // 64)
    block = max(1, _CACHE_WORDS // (m * words))
    neighbours = _in_neighbours(scheme.network)
    everyone = np.frombuffer(((1 << m) - 1).to_bytes(8 * words, "little"), "<u8")

    def recover(start: int) -> int:
        own = _own_pairs(masked[:, start : start + block], words)
        recovered = _recover_block(scheme, own, neighbours, start, observe)
        if np.any(recovered != everyone[:, None]):
            raise RecoveryError(f"Top-k did not recover {m} masked values for every entry")
        return start + int(own.shape[-1])

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # NumPy works outside the interpreter's lock
        for done in pool.map(recover, range(0, scheme.entries, block)):
            if progress is not None:
                progress(done, scheme.entries)


def _recover_block(
    scheme: TopK, own: Sets, neighbours: list[Runs], start: int, observe: Observer | None
) -> Sets:
    """⌈m/k⌉ runs of T rounds; what all parties agree on is recovered and left out afterwards."""
    recovered = np.zeros_like(own[:, 0])
    lists, spare, merge = np.empty_like(own), np.empty_like(own), _Merge(own, scheme.k)
    for run in range(scheme.runs):
        np.bitwise_and(own, ~recovered[:, None], out=lists)
        for round_ in range(1, scheme.rounds_each + 1):
            merge(lists, neighbours, spare)
            lists, spare = spare, lists
            if observe is not None:
                observe(start, run * scheme.rounds_each + round_, lists)
        if np.any(lists != lists[:, :1]):
            raise RecoveryError("the parties did not agree on the largest masked values")
        recovered |= lists[:, 0]
    return recovered


class _Merge:
    """One round for all parties and a block of entries, with its scratch memory.

    Every pass over the block counts here: operands of one type, and nothing allocated.
    """

    def __init__(self, like: Sets, k: int) -> None:
        self._k = k
        parties = like.shape[1]
        self._bits_set = np.empty(like.shape, np.uint8)
        self._size = np.empty(like.shape[1:], np.uint8 if parties < 256 else np.uint16)
        self._over = np.empty(like.shape[1:], bool)
        self._surplus, self._lower, self._kept = np.empty((3, *like.shape[1:]), np.uint64)

    def __call__(self, lists: Sets, neighbours: list[Runs], out: Sets) -> None:
        mine = lists
        for nth in neighbours:
            for here, there in nth:
                np.bitwise_or(mine[:, here], lists[:, there], out=out[:, here])
            mine = out
        self._keep_largest(out)

    def _keep_largest(self, lists: Sets) -> None:
        """Clear the lowest bit wherever more than k are set, until none has more."""
        np.bitwise_count(lists, out=self._bits_set)
        np.add.reduce(self._bits_set, axis=0, dtype=self._size.dtype, out=self._size)
        for _ in range(int(self._size.max()) - self._k):
            np.greater(self._size, self._k, out=self._over)
            np.subtract(self._size, self._over.view(np.uint8), out=self._size)
            np.copyto(self._surplus, self._over)
            self._clear_lowest(lists)

    def _clear_lowest(self, lists: Sets) -> None:
        """x &= x - surplus clears the lowest bit of x; a word that is 0 borrows from the next."""
        surplus, lower, kept = self._surplus, self._lower, self._kept
        for bits in lists[:-1]:
            np.subtract(bits, surplus, out=lower)
            np.bitwise_and(bits, lower, out=kept)
            np.bitwise_xor(lower, kept, out=surplus)
            np.right_shift(surplus, _TOP_BIT, out=surplus)  # 1 exactly where 0 - 1 wrapped
            np.copyto(bits, kept)
        np.subtract(lists[-1], surplus, out=lower)
        np.bitwise_and(lists[-1], lower, out=lists[-1])


def _own_pairs(masked: Residues, words: int) -> Sets:
    """Each party's own pair as a set of one rank, ties in value to the larger id."""
    m = masked.shape[-1]
    order = np.lexsort(tuple(masked), axis=-1)  # stable: equal values stay in order of id
    rank = np.empty(order.shape, np.int64)
    np.put_along_axis(rank, order, np.arange(m)[None, :], axis=-1)
    bit = np.uint64(1) << (rank % 64).astype(np.uint64)
    return np.stack([np.where(rank // 64 == word, bit, np.uint64(0)).T for word in range(words)])


def _in_neighbours(network: Network) -> list[Runs]:
    """Every party's first in-neighbour, then every party's second, …; itself where it has fewer."""
    lists = [network.in_neighbours(party) for party in range(len(network))]
    return [
        _runs([n[nth] if nth < len(n) else party for party, n in enumerate(lists)])
        for nth in range(max(map(len, lists)))
    ]


def _runs(sources: list[int]) -> Runs:
    """Stretches of parties whose sources are neighbours too: on a cycle there are two."""
    breaks = np.flatnonzero(np.diff(sources) != 1) + 1
    starts, stops = [0, *breaks.tolist()], [*breaks.tolist(), len(sources)]
    return [
        (slice(a, b), slice(sources[a], sources[a] + b - a))
        for a, b in zip(starts, stops, strict=True)
    ]
