"""Who can reach whom, and in how many steps.

One source: SciPy's breadth-first search gives each party's predecessor; depths follow by pointer
doubling, in O(m log depth) whatever the shape. All sources: sets of sources travel as bits, 64 to a
word, along all links at once, one pass for each step; or one search per source where the graph is
so long that passes would be many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from titan.network.links import Distances, Indices, Links

Words = npt.NDArray[np.uint64]

_LONG = 512
"""Above this diameter one search per source beats passing bits."""
_PASS_WORDS = 1 << 22
"""Words that one pass may touch: 32 MiB."""


def distances_from(links: Links, source: int) -> Distances:
    """The number of steps from `source` to each party; -1 where there is no way."""
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


def all_distances(links: Links, block: int) -> Iterator[Distances]:
    """Distances from parties 0, 1, 2, …: matrices of at most `block` rows, -1 for no way."""
    bits = np.all(links.in_degree > 0) and 0 <= diameter_bound(links) <= _LONG
    for first in range(0, links.parties, block):
        sources = np.arange(first, min(first + block, links.parties))
        if bits:
            yield _by_bits(links, sources)
        else:
            yield np.stack([distances_from(links, int(i)) for i in sources])


def _by_bits(links: Links, sources: Indices) -> Distances:
    """distance(u, v) = the number of t ≥ 0 for which v is not reached within t steps."""
    distance = np.zeros((links.parties, sources.size), np.int32)
    for reach in _spread(links, sources):
        flags = np.unpackbits(reach.view(np.uint8), axis=1, bitorder="little", count=sources.size)
        distance += flags == 0
    return np.ascontiguousarray(distance.T)


def _spread(links: Links, sources: Indices) -> Iterator[Words]:
    """Who is reached by which sources within 0, 1, 2, … steps, until nothing changes.

    Bit j % 64 of word [v, j // 64] says that source j reaches v. Every in-degree is positive.
    """
    j = np.arange(sources.size)
    reach = np.zeros((links.parties, -(-sources.size // 64)), "<u8")
    reach[sources, j // 64] = np.uint64(1) << (j % 64).astype(np.uint64)
    senders, begin = links.senders[links.by_receiver], links.in_starts[:-1]
    while True:
        yield reach
        grown = np.bitwise_or.reduceat(reach[senders], begin, axis=0)
        grown |= reach
        if np.array_equal(grown, reach):
            return
        reach = grown


def diameter_bound(links: Links) -> int:
    """At least the diameter, at most twice it: to party 0 and on; -1 if not strongly connected."""
    there, back = distances_from(links.reversed, 0), distances_from(links, 0)
    if there.min() < 0 or back.min() < 0:
        return -1
    return int(there.max()) + int(back.max())


def diameter(links: Links) -> int:
    """The largest distance of a strongly connected graph."""
    if links.offsets is not None:  # every party sees the same picture
        return int(distances_from(links, 0).max())
    if diameter_bound(links) > _LONG:
        return max(int(distances_from(links, i).max()) for i in range(links.parties))
    block = 64 * max(1, _PASS_WORDS // max(len(links), 1))
    longest = 0
    for first in range(0, links.parties, block):
        sources = np.arange(first, min(first + block, links.parties))
        longest = max(longest, sum(1 for _ in _spread(links, sources)) - 1)
    return longest


# -- where strong connectivity fails -----------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """No party of `stuck` can reach any party of `missed`; `links` more links are needed."""

    stuck: tuple[int, ...]
    missed: tuple[int, ...]
    links: int


def strongly_connected(links: Links) -> bool:
    return _strong_components(links)[0] == 1


def _strong_components(links: Links) -> tuple[int, npt.NDArray[np.int32]]:
    from scipy.sparse.csgraph import connected_components

    return connected_components(links.matrix, directed=True, connection="strong")


def find_gap(links: Links) -> Gap | None:
    """A strong component that nothing leaves and another that nothing enters, or None.

    The components form a graph without cycles. If one that nothing leaves were also the only one
    that nothing enters, all others could be reached from it: so, with two or more, another such
    component exists. Each component without a way out or in needs one, hence `links`.
    """
    count, label = _strong_components(links)
    if count == 1:
        return None
    crossing = label[links.senders] != label[links.receivers]
    closed, unfed = np.ones(count, np.bool_), np.ones(count, np.bool_)
    closed[label[links.senders[crossing]]] = False
    unfed[label[links.receivers[crossing]]] = False
    stuck = label[np.flatnonzero(closed[label])[0]]
    missed = label[np.flatnonzero(unfed[label] & (label != stuck))[0]]
    return Gap(_members(label, stuck), _members(label, missed), int(max(closed.sum(), unfed.sum())))


def weak_components(links: Links, keep: npt.NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """The components of the undirected version restricted to the parties in `keep`."""
    from scipy.sparse.csgraph import connected_components

    matrix = links.matrix[keep][:, keep]
    count, label = connected_components(matrix, directed=True, connection="weak")
    kept = np.flatnonzero(keep)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))[:-1]
    groups = [tuple(group.tolist()) for group in np.split(kept[order], ends)]
    return sorted(groups)


def _members(label: npt.NDArray[np.int32], component: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(label == component).tolist())
