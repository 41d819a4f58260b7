"""Networks in which some parties have no link with one another: those that can only dial out.

Of two neighbours one must be dialled. So parties that can only dial out form an independent set,
and each needs k = τ + 1 neighbours among the l others. That is all it needs: if l ≥ k, then all
links but those between them give a network of weak connectivity at least k, since fewer than k
parties leave one of the l, who is linked with everybody. Two ways to few links:

1. Take a design for all, and put them where no two are linked: nothing is lost.
2. Where a design has not so many such places, take one for the l others, and link each with k of
   them in turn. A party with k neighbours in a network of connectivity k leaves it at k. (For
   l = k, who have no design, every two are linked.) Ways become longer by two steps at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from titan.errors import NetworkError
from titan.network import families
from titan.network.links import Indices, Links

Design = Callable[[int, int], Links]
"""From the number of parties, and by how much their ways may become longer still."""


def apart(m: int, tau: int, only_dial: Sequence[int], design: Design) -> list[Callable[[], Links]]:
    """Ways to links that τ parties do not tear, none of them between two of `only_dial`."""
    others = m - len(only_dial)
    if others < tau + 1:
        raise NetworkError(
            f"{len(only_dial)} of {m} parties can only dial out, and are not linked with one "
            f"another; each needs {tau + 1} neighbours for τ = {tau}, and there are {others}",
            hint=f"let {tau + 1 - others} more be dialled, or choose a smaller τ",
        )
    return [
        lambda: _placed(design(m, 0), only_dial),
        lambda: _attached(m, tau + 1, only_dial, design),
    ]


def _placed(links: Links, only_dial: Sequence[int]) -> Links:
    """The same network, with these parties where no two are linked."""
    places = _unlinked(links.undirected)[: len(only_dial)]
    if len(places) < len(only_dial):
        raise NetworkError(f"there are no {len(only_dial)} places without links between them")
    party = _numbering(links.parties, sorted(places), only_dial)
    return Links.tidy(links.parties, party[links.senders], party[links.receivers])


def _unlinked(graph: Links) -> list[int]:
    """Places no two of which are linked: always one with the fewest neighbours left."""
    degree = graph.out_degree.tolist()
    queue, gone = [(count, place) for place, count in enumerate(degree)], set[int]()
    heapify(queue)
    found = []
    while queue:
        count, place = heappop(queue)
        if place in gone or count != degree[place]:
            continue
        found.append(place)
        around = [v for v in graph.out_neighbours(place) if v not in gone]
        gone.update((place, *around))
        for v in around:
            for u in graph.out_neighbours(v):
                if u not in gone:
                    degree[u] -= 1
                    heappush(queue, (degree[u], u))
    return found


def _numbering(m: int, places: Sequence[int], only_dial: Sequence[int]) -> Indices:
    """Who is in which place; the others keep their order."""
    party = np.empty(m, np.intp)
    party[places] = sorted(only_dial)
    party[np.setdiff1d(np.arange(m), places)] = np.setdiff1d(np.arange(m), only_dial)
    return party


def _attached(m: int, k: int, only_dial: Sequence[int], design: Design) -> Links:
    """A network of the others, and k of these linked with each party in turn."""
    count, others = len(only_dial), m - len(only_dial)
    core = design(others, 2) if others > k else _all_linked(others)
    party = _numbering(m, range(others, m), only_dial)
    outer = np.repeat(np.arange(others, m), k)
    inner = np.arange(count * k) % others
    out = np.arange(count * k) % k % 2 == 0
    senders = [core.senders, np.where(out, outer, inner)]
    receivers = [core.receivers, np.where(out, inner, outer)]
    if k == 1:  # the one neighbour must hear and be heard
        senders, receivers = [*senders, inner], [*receivers, outer]
    ends = party[np.concatenate(senders)], party[np.concatenate(receivers)]
    return Links.tidy(m, *ends)


def _all_linked(m: int) -> Links:
    return families.circulant(m, range(1, m // 2 + 1)) if m > 1 else Links.tidy(m, [], [])
