"""The links of a network by the parties' numbers: plain sorted arrays, with no names.

Links are held once each, sorted by (sender, receiver): the canonical order. Everything the
algorithms want besides (neighbours, degrees, sparse matrices) is derived when first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from titan.errors import NetworkError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices = npt.NDArray[np.intp]
Distances = npt.NDArray[np.int32]


def frozen(array: Indices) -> Indices:
    array.flags.writeable = False
    return array


def starts(sorted_numbers: Indices, parties: int) -> Indices:
    """Where the run of each number 0..parties-1 begins in a sorted array; one more for the end."""
    ends = np.zeros(parties + 1, np.intp)
    np.cumsum(np.bincount(sorted_numbers, minlength=parties), out=ends[1:])
    return frozen(ends)


@dataclass(frozen=True, eq=False)
class Links:
    """i -> j, "i can send to j", for numbers 0..parties-1; without self-loops and repetitions."""

    parties: int
    senders: Indices
    receivers: Indices
    _out: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False)
    _in: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def tidy(cls, parties: int, senders: npt.ArrayLike, receivers: npt.ArrayLike) -> Links:
        """In canonical order, self-loops and repetitions dropped."""
        s, r = np.asarray(senders, np.int64), np.asarray(receivers, np.int64)
        key = np.sort((s * parties + r)[s != r])  # np.unique would hash: ten times slower
        key = key[np.diff(key, prepend=-1) > 0]
        return cls(parties, frozen(key // parties), frozen(key % parties))

    def __len__(self) -> int:
        return self.senders.size

    @cached_property
    def out_starts(self) -> Indices:
        return starts(self.senders, self.parties)

    @cached_property
    def in_starts(self) -> Indices:
        return starts(self.receivers[self.by_receiver], self.parties)

    @cached_property
    def by_receiver(self) -> Indices:
        """The order that sorts the links by (receiver, sender)."""
        return frozen(np.argsort(self.receivers, kind="stable"))

    @cached_property
    def out_degree(self) -> Indices:
        return frozen(np.diff(self.out_starts))

    @cached_property
    def in_degree(self) -> Indices:
        return frozen(np.diff(self.in_starts))

    @cached_property
    def _senders_by_receiver(self) -> Indices:
        return frozen(self.senders[self.by_receiver])

    def check(self, i: int) -> int:
        """i, if it is the number of a party."""
        if not 0 <= i < self.parties:
            raise NetworkError(
                f"there is no party number {i}", hint=f"numbers go from 0 to {self.parties - 1}"
            )
        return i

    def out_neighbours(self, i: int) -> tuple[int, ...]:
        found = self._out.get(i)
        if found is None:
            self.check(i)
            first, last = self.out_starts[i], self.out_starts[i + 1]
            found = self._out[i] = tuple(self.receivers[first:last].tolist())
        return found

    def in_neighbours(self, i: int) -> tuple[int, ...]:
        found = self._in.get(i)
        if found is None:
            self.check(i)
            first, last = self.in_starts[i], self.in_starts[i + 1]
            found = self._in[i] = tuple(self._senders_by_receiver[first:last].tolist())
        return found

    @cached_property
    def reversed(self) -> Links:
        order = self.by_receiver
        return Links(self.parties, frozen(self.receivers[order]), self._senders_by_receiver)

    @cached_property
    def undirected(self) -> Links:
        """Every link both ways: the graph that weak connectivity speaks of."""
        both = np.concatenate([self.senders, self.receivers])
        return Links.tidy(self.parties, both, np.concatenate([self.receivers, self.senders]))

    @cached_property
    def matrix(self) -> csr_array:
        """The adjacency matrix, in the types that scipy.sparse.csgraph takes without copying."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self), np.float64)
        at, to = self.out_starts.astype(np.int32), self.receivers.astype(np.int32)
        return csr_array((ones, to, at), shape=(self.parties, self.parties))

    @cached_property
    def offsets(self) -> tuple[int, ...] | None:
        """The offsets of a circulant graph (i -> i + o for all i, o), or None for any other."""
        each, rest = divmod(len(self), self.parties)
        if rest or not each or np.any(self.out_degree != each):
            return None
        ahead = (self.receivers - self.senders) % self.parties
        table = np.sort(ahead.reshape(self.parties, each), axis=1)
        return tuple(table[0].tolist()) if np.all(table == table[0]) else None
