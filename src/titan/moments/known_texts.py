"""Digests of numbers by their value, where they are written in the shortest way.

A column of 250,000 cells with two decimals may have 25,000 different texts. Their digests are made
once, for all numbers of a range, and each cell looks up its own. That its text is the shortest for
its number need not be looked at cell by cell: of all texts with a digit before the point

    -12.5      and not  -012.5, -12.50, 12.500 or -0

the shortest is shorter than any other, so that all are the shortest if together they have as many
characters as the shortest have.
"""

# Rule 1: the digest is that of the text, as if it had been looked at.
# Rule 2: what is kept is bounded, however many blocks there are.
# Rule 3: nobody waits: while one thread makes digests for a range, others do without.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column, WideColumn

Digests = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Texts = tuple[npt.NDArray[np.uint8], Ints, Ints]
"""Some bytes, with eight more than all texts in them, where each text begins, and its length."""

_MOST_DECIMALS = 12
_ZERO, _POINT, _MINUS = b"0.-"


@dataclass(frozen=True)
class _Known:
    """All numbers from `start` on: the digests of their shortest texts."""

    start: int
    digests: Digests = field(repr=False)
    lengths: npt.NDArray[np.uint8] = field(repr=False)

    def __contains__(self, ends: tuple[int, int]) -> bool:
        return self.start <= ends[0] and ends[1] < self.start + len(self.digests)

    def of(self, numbers: Ints, characters: int) -> Digests | None:
        """None where some number is not written in the shortest way."""
        at = numbers - self.start
        if int(self.lengths.take(at).sum(dtype=np.int64)) != characters:
            return None
        return self.digests.take(at, axis=0)


class KnownTexts:
    """Digests of texts that were made before. (What is made elsewhere is made anew there.)"""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}  # by their decimals
        self._making = Lock()

    def __reduce__(self) -> tuple[type[KnownTexts], tuple[()]]:
        return KnownTexts, ()

    def find(
        self, column: Column, characters: int, make: Callable[[Texts], Digests]
    ) -> Digests | None:
        """Of cells with so many characters, all of which have a digit before the point.

        None where their texts have to be looked at: they are longer than need be, or few of them
        are alike.
        """
        decimals = -column.two
        if isinstance(column, WideColumn) or column.numbers.dtype != np.int64 or not len(column):
            return None
        if column.five != column.two or not 0 <= decimals <= _MOST_DECIMALS:
            return None
        ends = int(column.numbers.min()), int(column.numbers.max())
        known = self._known.get(decimals)
        if known is None or ends not in known:
            known = self._make(decimals, ends, 2 * len(column), make)
        return None if known is None else known.of(column.numbers, characters)

    def _make(
        self, decimals: int, ends: tuple[int, int], most: int, make: Callable[[Texts], Digests]
    ) -> _Known | None:
        """For these and those that are known. None where somebody else is at it, or that would be
        more work than it saves."""
        before, spare = self._known.get(decimals), (ends[1] - ends[0]) // 8 + 1
        low, stop = ends[0] - spare, ends[1] + spare + 1  # others go a little further
        if before is not None:
            low, stop = min(low, before.start), max(stop, before.start + len(before.digests))
        if stop - low > most or not self._making.acquire(blocking=False):
            return None
        try:
            texts = shortest(range(low, stop), decimals)
            found = _Known(low, make(texts), texts[2].astype(np.uint8))
            self._known[decimals] = found
            return found
        finally:
            self._making.release()


def shortest(numbers: range, decimals: int) -> Texts:
    """The texts of whole numbers over 10^decimals, with a digit before the point."""
    each = np.arange(numbers.start, numbers.stop)
    whole, rest = np.divmod(np.abs(each), 10**decimals)
    places = len(str(whole.max()))
    point = 1 + places  # after room for a sign
    text = np.full((len(each), point + 1 + decimals), _POINT, np.uint8)
    _write(text[:, 1:point], whole)
    _write(text[:, point + 1 :], rest)
    digits = 1 + np.searchsorted(10 ** np.arange(1, places), whole, side="right")
    first, last = point - digits, np.full(len(each), text.shape[1])
    for n in range(1, decimals):
        last -= rest % 10**n == 0
    last[rest == 0] = point
    negative = np.flatnonzero(each < 0)
    first[negative] -= 1
    text[negative, first[negative]] = _MINUS
    starts = np.arange(len(each)) * text.shape[1]
    data = np.concatenate([text.ravel(), np.zeros(8, np.uint8)])
    return data, starts + first, last - first


def _write(text: npt.NDArray[np.uint8], numbers: Ints) -> None:
    """With zeros before them."""
    for place in reversed(range(text.shape[1])):
        numbers, digit = np.divmod(numbers, 10)
        text[:, place] = digit + _ZERO
