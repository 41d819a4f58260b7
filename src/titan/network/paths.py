"""Who can reach whom, and in how many steps.

One source: SciPy's breadth-first search gives each party's predecessor; depths follow by pointer
doubling, in O(m log depth) whatever the shape. The diameter: sets of sources travel as bits, 64 to
a word, along all links at once, one pass for each step; or one search per source where the graph is
so long that passes would be many. Where links are few they are walked one by one: to load SciPy
takes longer than anything that is asked about such a network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from titan.network.links import Distances, Indices, Links

_LONG = 512  # above this diameter one search per source beats passing bits
_PASS_WORDS = 1 << 22  # that one pass may touch: 32 MiB
_FEW_LINKS = 1 << 10


def distances_from(links: Links, source: int) -> Distances:
    """The number of steps from `source` to each party; -1 where there is no way."""
    if len(links) <= _FEW_LINKS:
        if source not in links.steps:
            links.steps[source] = _walked(links, source)
        return links.steps[source]
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(links.matrix, source)
    ahead = np.arange(links.parties, dtype=np.int32)
    depth = np.zeros(links.parties, np.int32)
    ahead[order[1:]] = before[order[1:]]
    depth[order[1:]] = 1
    while (more := depth[ahead]).any():
        depth += more
        ahead = ahead[ahead]
    reached = np.zeros(links.parties, np.bool_)
    reached[order] = True
    depth[~reached] = -1
    return depth


def _walked(links: Links, source: int) -> Distances:
    depth = np.full(links.parties, -1, np.int32)
    steps, found = {source: 0}, [source]
    for party in found:  # which grows
        new = [other for other in links.out_neighbours(party) if other not in steps]
        steps.update(dict.fromkeys(new, steps[party] + 1))
        found += new
    depth[found] = list(steps.values())
    depth.flags.writeable = False
    return depth


def diameter_bound(links: Links) -> int:
    """At least the diameter, at most twice it: to party 0 and on; -1 if not strongly connected."""
    there, back = distances_from(links.reversed, 0), distances_from(links, 0)
    return -1 if min(there.min(), back.min()) < 0 else int(there.max() + back.max())


def diameter(links: Links) -> int:
    """The largest distance of a strongly connected graph."""
    if len(links) == links.parties:  # a cycle
        return links.parties - 1
    if diameter_bound(links) > _LONG:
        return max(int(distances_from(links, i).max()) for i in range(links.parties))
    block = 64 * max(1, _PASS_WORDS // len(links))
    return max(
        _steps(links, np.arange(first, min(first + block, links.parties)))
        for first in range(0, links.parties, block)
    )


def _steps(links: Links, sources: Indices) -> int:
    """How many steps the sources need to reach all parties that they reach.

    Bit j % 64 of word [v, j // 64] says that source j reaches v. Every in-degree is positive.
    """
    j = np.arange(sources.size)
    reach = np.zeros((links.parties, -(-sources.size // 64)), np.uint64)
    reach[sources, j // 64] = np.uint64(1) << (j % 64).astype(np.uint64)
    senders, begin = links.reversed.receivers, links.reversed.out_starts[:-1]
    steps = 0
    while True:
        grown = np.bitwise_or.reduceat(reach[senders], begin, axis=0)
        grown |= reach
        if np.array_equal(grown, reach):
            return steps
        reach, steps = grown, steps + 1


# -- where strong connectivity fails -----------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """No party of `stuck` can reach any party of `missed`; `links` more links are needed."""

    stuck: tuple[int, ...]
    missed: tuple[int, ...]
    links: int


def find_gap(links: Links) -> Gap | None:
    """A strong component that nothing leaves and another that nothing enters, or None.

    The components form a graph without cycles. If one that nothing leaves were also the only one
    that nothing enters, all others could be reached from it: so, with two or more, another such
    component exists. Each component without a way out or in needs one, hence `links`.
    """
    if len(links) <= _FEW_LINKS and diameter_bound(links) >= 0:
        return None
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(links.matrix, directed=True, connection="strong")
    if count == 1:
        return None
    crossing = label[links.senders] != label[links.receivers]
    closed, unfed = np.ones(count, np.bool_), np.ones(count, np.bool_)
    closed[label[links.senders[crossing]]] = False
    unfed[label[links.receivers[crossing]]] = False
    stuck = label[np.flatnonzero(closed[label])[0]]
    missed = label[np.flatnonzero(unfed[label] & (label != stuck))[0]]
    ends = [tuple(np.flatnonzero(label == each).tolist()) for each in (stuck, missed)]
    return Gap(ends[0], ends[1], links=int(max(closed.sum(), unfed.sum())))


def weak_components(links: Links, keep: npt.NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """The components of the undirected version restricted to the parties in `keep`."""
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(links.matrix[keep][:, keep], connection="weak")
    order = np.argsort(label, kind="stable")
    groups = np.split(np.flatnonzero(keep)[order], np.cumsum(np.bincount(label))[:-1])
    return sorted(tuple(group.tolist()) for group in groups)
