"""Coalitions that separate honest parties: all minimal ones of a given size, without trying all.

Theory. In the undirected version of the graph a *cut* is a set S of parties whose absence leaves
two others unconnected; it is minimal if no proper subset is a cut. Put the parties in any order
v₁, v₂, …. A cut S of at most k parties misses one of v₁ … v_{k+1}. Either it separates two of
these, or all of them outside S lie in one component A; then the first v_j outside S and A has
j > k+1, and S separates v_j from X = {v₁ … v_{j-1}}, of which it cannot hold all (Even's argument).

    all cuts of at most k parties  =  ∪ separators of two of v₁ … v_{k+1}, and of v_j and X_j.

The separators of w and X with at most k parties: take a shortest path from w to X. S must hold one
of its parties: the first, or not the first but the second, … A party that is ruled out is from then
on a *source* as w is. Each choice shortens the budget by one. A choice is followed only while a
flow shows that some separator exists, so no branch is in vain and nothing is found twice. (S
separates w from one party v exactly when, without v, it separates w from v's neighbours.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from titan.network import Network

Neighbours = list[tuple[int, ...]]
Cut = tuple[int, ...]
Step = tuple[int, int]


def neighbours(network: Network) -> Neighbours:
    """Whom each party is linked with, in either direction."""
    return [
        tuple(sorted({*network.out_neighbours(i), *network.in_neighbours(i)}))
        for i in range(len(network))
    ]


def minimal_cuts(graph: Neighbours, size: int) -> Iterator[Cut]:
    """Every minimal cut of exactly `size` parties, each once."""
    found: set[Cut] = set()
    for cut in _cuts(graph, size):
        if len(cut) == size and cut not in found:
            found.add(cut)
            if all(connected(graph, {*cut} - {v}) for v in cut):
                yield cut


def connected(graph: Neighbours, without: Collection[int] = ()) -> bool:
    """Whether the parties outside `without` are joined by links among themselves."""
    start = next(v for v in range(len(graph)) if v not in without)
    reached, stack = {start, *without}, [start]
    while stack:
        for v in graph[stack.pop()]:
            if v not in reached:
                reached.add(v)
                stack.append(v)
    return len(reached) == len(graph)


def _cuts(graph: Neighbours, k: int) -> Iterator[Cut]:
    """All cuts that separators of at most k parties make; some several times."""
    order = _order(graph)
    base, rest = order[: k + 1], order[k + 1 :]
    for j, w in enumerate(base):
        for v in base[:j]:
            if v not in graph[w]:
                yield from _Separators(graph, graph[v], avoid=v).found(frozenset([w]), k)
    inside = set(base)
    for w in rest:
        if sum(v in inside for v in graph[w]) <= k:  # or each of them would have to be in S
            yield from _Separators(graph, inside).found(frozenset([w]), k)
        inside.add(w)


def _order(graph: Neighbours) -> list[int]:
    """Always next a party with most links to those before: then X is near, and paths short."""
    links, order = [0] * len(graph), dict[int, None]()
    heap = sorted((0, -len(around), v) for v, around in enumerate(graph))
    while heap:
        _, _, v = heappop(heap)  # the first that comes of v counts all its links
        for u in graph[v] if v not in order else ():
            links[u] += 1
            heappush(heap, (-links[u], -len(graph[u]), u))
        order[v] = None
    return list(order)


@dataclass(frozen=True)
class _Separators:
    """Sets of parties that block all ways to the ends, none of them through `avoid`."""

    graph: Neighbours
    ends: Collection[int]
    avoid: int = -1

    def found(
        self, sources: frozenset[int], k: int, gone: frozenset[int] = frozenset()
    ) -> Iterator[Cut]:
        """`gone` with at most k more parties, none a source: all that block the sources."""
        used: set[Step] = set()
        path = self._augment(sources, gone, used)
        if path is None:
            yield tuple(sorted(gone))
            return
        if all(self._augment(sources, gone, used) for _ in range(k)):
            return  # k + 1 disjoint paths: no k parties block them
        for v in path:
            yield from self.found(sources, k - 1, gone | {v})
            sources = sources | {v}

    def _augment(
        self, sources: frozenset[int], gone: frozenset[int], used: set[Step]
    ) -> list[int] | None:
        """One path more beside those in use, as the parties after its source; None: there is none.

        Every party v is split into 2v (in) and 2v + 1 (out); `used` holds the steps of the paths.
        """
        before = {2 * w + 1: -1 for w in sources}
        queue = deque(before)
        while queue:
            half = queue.popleft()
            v = half >> 1
            if half & 1:
                if v in self.ends:
                    return _taken(before, half, used)
                steps = [2 * u for u in self.graph[v] if u not in gone and u != self.avoid]
                if (2 * v, half) in used:
                    steps.append(2 * v)
            else:
                steps = [2 * u + 1 for u in self.graph[v] if (2 * u + 1, half) in used]
                if (half, half + 1) not in used:
                    steps.append(half + 1)
            for step in steps:
                if step not in before:
                    before[step] = half
                    queue.append(step)
        return None


def _taken(before: dict[int, int], half: int, used: set[Step]) -> list[int]:
    """Take the path that the search found; a step against one in use takes that one back."""
    path = []
    while (previous := before[half]) >= 0:
        if (half, previous) in used:
            used.remove((half, previous))
        else:
            used.add((previous, half))
        if half & 1:
            path.append(half >> 1)
        half = previous
    return path[::-1]
