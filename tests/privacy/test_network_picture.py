"""Invariant: titan privacy --plot draws a ring as a ring, whoever is in the coalition."""

from __future__ import annotations

import math

from titan import Network
from titan_lab.pictures.network import _places


def test_neighbours_of_a_ring_stand_side_by_side() -> None:
    order = ["d", "a", "f", "b", "e", "c"]
    edges = [(order[i], order[(i + 1) % 6]) for i in range(6)]
    places = _places(Network(edges, parties=sorted(order)))
    side = 2 * math.sin(math.pi / 6)
    for one, other in edges:
        assert math.dist(places[one], places[other]) < side * 1.001
    assert {round(math.hypot(*place), 9) for place in places.values()} == {1.0}
