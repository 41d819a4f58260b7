"""Weak vertex-connectivity κ: how many parties must go before the others fall apart.

Theory. Take the undirected version of the graph and ask whether κ ≥ k. Call a set X of parties
*inseparable* if no set S of fewer than k parties separates two members of X outside S. Then

1. k parties are inseparable if each two of them are linked, or joined by k disjoint paths;
2. if X is inseparable, |X| ≥ k, and w has k paths to k different members of X that share only w
   (a *fan*), then X with w is inseparable: fewer than k parties cannot block all of the fan;
3. if w has no such fan, Menger's theorem gives fewer than k parties that cut w off from the rest
   of X, so κ < k and they are the cut set;
4. κ ≥ k exactly when X can grow to be everybody.

This is Even's algorithm with a set that grows: a party with k neighbours in X needs no search at
all, and other fans are short because X is near. Paths are found by augmentation in the graph whose
vertices are split in two (in and out) with capacity one between the halves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from titan.network import paths
from titan.network.links import Links

Neighbours = list[list[int]]


def weak_connectivity(links: Links) -> int:
    """κ of the undirected version, exactly; m - 1 where everybody is linked with everybody."""
    k = int(links.undirected.out_degree.min())
    while k and (cut := cut_below(links, k)) is not None:
        k = len(cut)
    return k


def cut_below(links: Links, k: int) -> tuple[int, ...] | None:
    """Fewer than k parties that separate two others, or None if κ ≥ k; for 1 ≤ k < m."""
    graph = links.undirected
    weakest = int(graph.out_degree.argmin())
    if graph.out_degree[weakest] < k:
        return graph.out_neighbours(weakest)
    if k == links.parties - 1 or _has_backbone(graph, k):
        return None
    if paths.distances_from(graph, 0).min() < 0:
        return ()
    return None if k == 1 else _Growth(graph, k).cut()


def _has_backbone(graph: Links, k: int) -> bool:
    """Whether party i is linked with i + 1, …, i + h (mod m) for all i, where 2h ≥ k.

    That is Harary's circulant graph, of connectivity 2h if m > 2h; more links do no harm.
    """
    m, h = graph.parties, -(-k // 2)
    if m <= 2 * h:
        return False
    ahead = (graph.receivers - graph.senders) % m
    return bool(np.all(np.bincount(ahead[ahead <= h], minlength=h + 1)[1:] == m))


class _Growth:
    """The inseparable set X, grown until it is everybody or a fan is missing."""

    def __init__(self, graph: Links, k: int) -> None:
        to, starts = graph.receivers.tolist(), graph.out_starts.tolist()
        self.neighbours: Neighbours = [to[first:last] for first, last in pairwise(starts)]
        self.k = k
        self.inside: set[int] = set()
        self.links_inside = [0] * len(self.neighbours)
        self.near: list[tuple[int, int]] = []  # a heap of (-links inside, party), some outdated

    def cut(self) -> tuple[int, ...] | None:
        """A cut set of fewer than k parties, or None."""
        first = max(range(len(self.neighbours)), key=lambda v: len(self.neighbours[v]))
        base = [first, *self.neighbours[first]][: self.k]  # the best linked; all have k neighbours
        cut = self._cut_within(base)
        for v in base:
            self._add(v)
        while cut is None and len(self.inside) < len(self.neighbours):
            cut = self._grow()
        return cut

    def _cut_within(self, base: list[int]) -> tuple[int, ...] | None:
        """Each two of the base must be linked or joined by k disjoint paths.

        Disjoint paths from v to w are a fan from v to the neighbours of w that avoids w.
        """
        for at, w in enumerate(base):
            around = set(self.neighbours[w])
            for v in base[:at]:
                if v not in around:
                    fan = _Fan(self.neighbours, v, around, avoid=w)
                    if not fan.reaches(self.k):
                        return fan.cut
        return None

    def _grow(self) -> tuple[int, ...] | None:
        """Take one more party in, that with most neighbours inside; or find a cut."""
        links, v = heappop(self.near)
        if v in self.inside:
            return None
        if -links < self.k:
            fan = _Fan(self.neighbours, v, self.inside)
            if not fan.reaches(self.k):
                return fan.cut
            if self.k == 2:  # both arms of the fan serve every party on them just as well
                for u in fan.between:
                    self._add(u)
        self._add(v)
        return None

    def _add(self, v: int) -> None:
        self.inside.add(v)
        for u in self.neighbours[v]:
            self.links_inside[u] += 1
            if self.links_inside[u] <= self.k and u not in self.inside:
                heappush(self.near, (-self.links_inside[u], u))


class _Fan:
    """Paths from `start` to different targets, disjoint but for `start`, none through `avoid`.

    `before[v]` and `after[v]` are v's neighbours on its path. In a search, `entered[v] = u` says
    that v's in-half was reached from u's out-half, or from v's own out-half if u = v; `left[v] = x`
    that v's out-half was reached by taking back the step v -> x, or from v's in-half if x = v.
    """

    def __init__(
        self, neighbours: Neighbours, start: int, targets: Collection[int], avoid: int = -1
    ) -> None:
        self.neighbours, self.start, self.targets, self.avoid = neighbours, start, targets, avoid
        self.before: dict[int, int] = {}
        self.after: dict[int, int] = {}
        self.entered: dict[int, int] = {}
        self.left: dict[int, int] = {}

    def reaches(self, k: int) -> bool:
        """Whether there is a fan of k paths; they are then found."""
        near = [v for v in self.neighbours[self.start] if v in self.targets and v != self.avoid]
        self.before.update(dict.fromkeys(near[:k], self.start))
        return all(self._augment() for _ in range(k - len(self.before)))

    @property
    def between(self) -> list[int]:
        """The parties on the paths, without start and targets."""
        return list(self.after)

    @property
    def cut(self) -> tuple[int, ...]:
        """After a search that failed: the parties entered but not passed, as many as paths."""
        return tuple(sorted(v for v in self.entered if v not in self.left))

    def _augment(self) -> bool:
        """One path more, by breadth-first search in the residual graph; False if there is none."""
        self.entered.clear()
        self.left.clear()
        queue = deque([self.start])
        while queue:
            u = queue.popleft()
            if u in self.before and u not in self.entered:
                self.entered[u] = u
                self._step_back(u, queue)
            for v in self.neighbours[u]:
                if v in self.entered or v == self.start or v == self.avoid:
                    continue
                self.entered[v] = u
                if v in self.before:
                    self._step_back(v, queue)
                elif v in self.targets:
                    self._take(v)
                    return True
                else:
                    self.left[v] = v
                    queue.append(v)
        return False

    def _step_back(self, v: int, queue: deque[int]) -> None:
        """A party in use can only be entered to take back the step that led to it."""
        u = self.before[v]
        if u != self.start and u not in self.left:
            self.left[u] = v
            queue.append(u)

    def _take(self, v: int) -> None:
        """Follow the search back from target v and change the paths accordingly."""
        added: list[tuple[int, int]] = []
        while True:
            u = self.entered[v]
            if u != v:
                added.append((u, v))
                if u == self.start:
                    break
            v = self.left[u]
            if v != u:
                del self.after[u], self.before[v]
        for u, v in added:
            self.before[v] = u
            if u != self.start:
                self.after[u] = v
