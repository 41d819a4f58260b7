"""In which order to put parties on a circle, so that a picture of their links can be read.

On a circle no link runs through a third party. What is left is to keep links short: the cost of an
order is the sum of all links' lengths, in steps along the circle. A ring has the least cost there
can be exactly where it is drawn as a ring.

Start: the order given, and a walk along links that always goes on to the party with the fewest
unvisited neighbours (Warnsdorff's rule, which finds a ring at once). Then parties change places,
and stretches are turned round, as long as that makes the cost smaller; but not where everybody's
links go equally far already, which the eye takes in at once.
"""

# Rule: the same links give the same order; nothing is drawn at random.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from titan.network.links import Links

_IMPROVED_UP_TO = 40  # parties; beyond, the better of the two starts is taken as it is
_MOST_PASSES = 30

Order = list[int]
Neighbours = list[set[int]]
Ends = list[tuple[int, int]]
"""Of each link, from whom to whom."""


def circle_order(links: Links) -> Order:
    """Parties' numbers clockwise, the first at the top."""
    ends = list(zip(links.senders.tolist(), links.receivers.tolist(), strict=True))
    starts = [list(range(links.parties)), _walk(links, _neighbours(links.parties, ends))]
    ranked = [(not _alike_all_round(each, ends), _cost(each, ends), each) for each in starts]
    irregular, _, found = min(ranked)
    if irregular and links.parties <= _IMPROVED_UP_TO:
        found = _improved(found, ends)
    return _turned(found, ends)


def _neighbours(parties: int, ends: Ends) -> Neighbours:
    around: Neighbours = [set() for _ in range(parties)]
    for a, b in ends:
        around[a].add(b)
        around[b].add(a)
    return around


def _cost(order: Order, ends: Ends) -> int:
    """Two parties that send to each other have two links."""
    m, at = len(order), [0] * len(order)
    for place, party in enumerate(order):
        at[party] = place
    steps = (abs(at[a] - at[b]) for a, b in ends)
    return sum(min(step, m - step) for step in steps)


def _steps(order: Order, ends: Ends) -> list[int]:
    """Of each link, how far ahead it goes."""
    at = {party: place for place, party in enumerate(order)}
    return [(at[b] - at[a]) % len(order) for a, b in ends]


def _alike_all_round(order: Order, ends: Ends) -> bool:
    """Whether a turn by one place is the same picture."""
    return all(count == len(order) for count in Counter(_steps(order, ends)).values())


def _walk(links: Links, around: Neighbours) -> Order:
    order, left = [0], set(range(1, links.parties))
    while left:
        here = order[-1]
        near = around[here] & left or left
        ahead = set(links.out_neighbours(here)) & near
        best = min(ahead or near, key=lambda party: (len(around[party] & left), party))
        order.append(best)
        left.remove(best)
    return order


def _improved(order: Order, ends: Ends) -> Order:
    cost = _cost(order, ends)
    for _ in range(_MOST_PASSES):
        before = cost
        for other in _changes(order):
            changed = _cost(other, ends)
            if changed < cost:
                order[:], cost = other, changed
        if cost == before:
            break
    return order


def _changes(order: Order) -> Iterator[Order]:
    """Two parties change places; a stretch is turned round. `order` may change meanwhile."""
    for i, j in combinations(range(len(order)), 2):
        swapped = order.copy()
        swapped[i], swapped[j] = swapped[j], swapped[i]
        yield swapped
        yield order[:i] + order[i : j + 1][::-1] + order[j + 1 :]


def _turned(order: Order, ends: Ends) -> Order:
    """The first party first, and in the direction in which more links go one step ahead."""
    m, start, steps = len(order), order.index(0), _steps(order, ends)
    way = -1 if steps.count(m - 1) > steps.count(1) else 1
    return [order[(start + way * step) % m] for step in range(m)]
