"""Coalitions that separate honest parties: all minimal ones of a given size, without trying all.

Theory. In the undirected version of the graph a *cut* is a set S of parties whose absence leaves
two others unconnected; it is minimal if no proper subset is a cut. Put the parties in any order
v₁, v₂, …. A cut S of at most k parties misses one of v₁ … v_{k+1}. Either it separates two of
these, or all of them outside S lie in one component A; then the first v_j outside S and A has
j > k+1, and S separates v_j from X = {v₁ … v_{j-1}}, of which it cannot hold all (Even's argument).

    all cuts of at most k parties  =  ∪ separators of two of v₁ … v_{k+1}, and of v_j and X_j.

The separators of w and X with at most k parties: take a shortest path from w to X. S must hold one
of its parties: the first, or not the first but the second, … (a party that is ruled out is *kept*).
Each choice shortens the budget by one. A choice is followed only while a flow shows that some
separator exists, so no branch is in vain and nothing is found twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from heapq import heappop, heappush

from titan.network import Network

Neighbours = list[tuple[int, ...]]
Cut = tuple[int, ...]
_NOBODY: frozenset[int] = frozenset()


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
                yield from _separators(graph, w, frozenset([v]), k, kept=frozenset([v]))
    inside = set(base)
    for w in rest:
        if sum(v in inside for v in graph[w]) <= k:  # or each of them would have to be in S
            yield from _separators(graph, w, inside, k)
        inside.add(w)


def _order(graph: Neighbours) -> list[int]:
    """Always next a party with most links to those before: then X is near, and paths short."""
    links, order, placed = [0] * len(graph), [], [False] * len(graph)
    heap = [(0, -len(around), v) for v, around in enumerate(graph)]
    heap.sort()
    while heap:
        count, _, v = heappop(heap)
        if placed[v] or -count != links[v]:
            continue
        placed[v] = True
        order.append(v)
        for u in graph[v]:
            if not placed[u]:
                links[u] += 1
                heappush(heap, (-links[u], -len(graph[u]), u))
    return order


def _separators(
    graph: Neighbours,
    w: int,
    ends: Collection[int],
    k: int,
    *,
    gone: frozenset[int] = _NOBODY,
    kept: frozenset[int] = _NOBODY,
) -> Iterator[Cut]:
    """Sets of at most k more parties, none of them kept, that block all ways from w to the ends."""
    path = _path(graph, w, ends, gone)
    if path is None:
        yield tuple(sorted(gone))
        return
    if not _flow_at_most(graph, w, ends, k, gone, kept):
        return
    for v in path:
        if v not in kept:
            yield from _separators(graph, w, ends, k - 1, gone=gone | {v}, kept=kept)
            kept = kept | {v}


def _path(
    graph: Neighbours, w: int, ends: Collection[int], gone: frozenset[int]
) -> list[int] | None:
    """The parties after w on a shortest way to the ends."""
    before, queue = {w: w}, deque([w])
    while queue:
        u = queue.popleft()
        for v in graph[u]:
            if v in before or v in gone:
                continue
            before[v] = u
            if v in ends:
                path = [v]
                while before[path[-1]] != w:
                    path.append(before[path[-1]])
                return path[::-1]
            queue.append(v)
    return None


def _flow_at_most(
    graph: Neighbours,
    w: int,
    ends: Collection[int],
    k: int,
    gone: frozenset[int],
    kept: frozenset[int],
) -> bool:
    """Whether at most k parties can block w from the ends: no k + 1 paths, disjoint but for `kept`.

    Halves of a split party v are 2v (in) and 2v + 1 (out); `used` counts paths along each step.
    """
    used: dict[tuple[int, int], int] = {}
    return not all(_augment(graph, w, ends, gone, kept, used) for _ in range(k + 1))


def _augment(
    graph: Neighbours,
    w: int,
    ends: Collection[int],
    gone: frozenset[int],
    kept: frozenset[int],
    used: dict[tuple[int, int], int],
) -> bool:
    """One path more in the residual graph; False if there is none."""
    start = 2 * w + 1
    before, queue = {start: start}, deque([start])
    while queue:
        half = queue.popleft()
        v = half >> 1
        if half & 1:
            if v in ends:
                _take(before, half, start, used)
                return True
            steps = [2 * u for u in graph[v] if u not in gone and u != w]
            if v != w and used.get((2 * v, half), 0):
                steps.append(2 * v)
        else:
            steps = [2 * u + 1 for u in graph[v] if used.get((2 * u + 1, half), 0)]
            if v in kept or not used.get((half, half + 1), 0):
                steps.append(half + 1)
        for step in steps:
            if step not in before:
                before[step] = half
                queue.append(step)
    return False


def _take(before: dict[int, int], half: int, start: int, used: dict[tuple[int, int], int]) -> None:
    """Count the path that the search found; a step against one in use takes that one back."""
    while half != start:
        previous = before[half]
        if used.get((half, previous), 0):
            used[half, previous] -= 1
        else:
            used[previous, half] = used.get((previous, half), 0) + 1
        half = previous
