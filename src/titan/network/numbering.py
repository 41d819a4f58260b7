"""From edges as callers write them to sender and receiver numbers, and what is refused there."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from titan.errors import NetworkError
from titan.network.links import Indices
from titan.network.names import Names, party_name


class Interner:
    """Numbers names in the order in which they first appear."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: object) -> int:
        # Names seen before are exact keys already; True == 1 must not pass for a name.
        known = self.numbers.get(name) if isinstance(name, str) else None
        if known is None:
            known = self.numbers.setdefault(party_name(name), len(self.numbers))
        return known


def numbered(edges: Iterable[object], number: Callable[[object], int]) -> tuple[Indices, Indices]:
    """The senders' and the receivers' numbers of (sender, receiver) pairs."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise NetworkError(
            f"{edges!r} is not a list of edges", hint='edges are pairs: [("a", "b"), ("b", "a")]'
        )
    senders, receivers = array("q"), array("q")
    for edge in edges:
        sender, receiver = _pair(edge)
        senders.append(number(sender))
        receivers.append(number(receiver))
    return np.array(senders, np.intp), np.array(receivers, np.intp)


def _pair(edge: object) -> tuple[object, object]:
    unordered = isinstance(edge, str | bytes | set | frozenset)
    ends = tuple(edge) if isinstance(edge, Iterable) and not unordered else ()
    if len(ends) != 2:
        raise NetworkError(
            f"{edge!r} is not an edge", hint="an edge is a pair of names: (sender, receiver)"
        )
    return ends


def party_numbers(numbers: npt.ArrayLike, parties: int) -> Indices:
    """An array of party numbers 0..parties-1, checked."""
    given = np.asarray(numbers)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise NetworkError(
            f"senders or receivers have shape {given.shape} and type {given.dtype}",
            hint="give one whole number for each link, counted from 0",
        )
    wrong = np.flatnonzero((given < 0) | (given >= parties))
    if wrong.size:
        raise NetworkError(
            f"link {wrong[0]} names party number {given[wrong[0]]}",
            hint=f"numbers go from 0 to {parties - 1}",
        )
    return given.astype(np.intp)


def refuse_loop_or_repeat(names: Names, senders: Indices, receivers: Indices) -> None:
    """Raise the error for the first self-loop, or else for a link that is given twice."""
    loops = np.flatnonzero(senders == receivers)
    if loops.size:
        raise NetworkError(
            f'party "{names[int(senders[loops[0]])]}" is linked with itself',
            hint="remove the link: a party needs no link to keep what it has",
        )
    key = senders * len(names) + receivers
    kinds, times = np.unique(key, return_counts=True)
    sender, receiver = divmod(int(kinds[times > 1][0]), len(names))
    raise NetworkError(
        f'the link from "{names[sender]}" to "{names[receiver]}" is given twice',
        hint="give each link once",
    )
