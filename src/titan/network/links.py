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


@dataclass(frozen=True, eq=False)
class Links:
    """i -> j, "i can send to j", for numbers 0..parties-1; without self-loops and repetitions."""

    parties: int
    senders: Indices
    receivers: Indices
    _out: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False)
    steps: dict[int, Distances] = field(default_factory=dict, repr=False)
    """Source → steps to each party, as far as they were asked for and links are few."""

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
        """Where the links of each sender 0..parties-1 begin; one more for the end."""
        return frozen(np.searchsorted(self.senders, np.arange(self.parties + 1)))

    @cached_property
    def out_degree(self) -> Indices:
        return frozen(np.diff(self.out_starts))

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

    @cached_property
    def reversed(self) -> Links:
        order = np.argsort(self.receivers, kind="stable")
        return Links(self.parties, frozen(self.receivers[order]), frozen(self.senders[order]))

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
