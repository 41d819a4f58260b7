"""Invariant: on a circle a ring is a ring, whatever the parties' order; links are no longer than in
the order given; and the parties that are marked as a cut are one, of κ parties."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from titan import Network


def ring(order: list[int], *, both: bool) -> Network:
    edges = [*pairwise(order), (order[-1], order[0])]
    edges += [(b, a) for a, b in edges] if both else []
    return Network(
        [(str(a), str(b)) for a, b in edges], parties=[str(i) for i in range(len(order))]
    )


def length(net: Network, order: tuple[str, ...]) -> int:
    """Of all links together, in steps along the circle."""
    steps = [abs(order.index(a) - order.index(b)) for a, b in net.edges]
    return sum(min(step, len(net) - step) for step in steps)


@settings(max_examples=40)
@given(st.integers(3, 60).flatmap(lambda m: st.permutations(range(m))), st.booleans())
def test_a_ring_is_drawn_as_a_ring(order: list[int], both: bool) -> None:
    net = ring(order, both=both)
    found = net.circle_order()
    assert found[0] == "0"
    assert sorted(found) == sorted(net.parties)
    assert {*zip(found, (*found[1:], found[0]), strict=True)} <= {*net.edges}, "clockwise"


@settings(max_examples=40)
@example(6, 3, 3)  # where two send to each other
@given(st.integers(2, 14), st.integers(1, 3), st.integers(0, 9))
def test_no_links_are_longer_than_in_the_order_given(m: int, degree: int, seed: int) -> None:
    net = Network.random(m, min(degree, m - 1), seed=seed)
    found = net.circle_order()
    assert sorted(found) == sorted(net.parties)
    assert length(net, found) <= length(net, net.parties)
    assert found == net.circle_order()


def test_a_picture_that_is_the_same_all_round_stays() -> None:
    for net in (Network.circulant(12, [1, 4]), Network.complete(7), Network.design(10, 2)):
        assert net.circle_order() == net.parties
    star = Network.circulant(7, [3])  # a ring in disguise
    found = star.circle_order()
    assert {*zip(found, (*found[1:], found[0]), strict=True)} == {*star.edges}


@settings(max_examples=40)
@given(st.integers(3, 8), st.integers(1, 3), st.integers(0, 99))
def test_the_smallest_cut_separates_and_no_smaller_one_does(m: int, degree: int, seed: int) -> None:
    net = Network.random(m, min(degree, m - 1), seed=seed)
    cut, kappa = net.smallest_cut, net.weak_connectivity
    if not cut:
        assert kappa == m - 1
        return
    assert len(cut) == kappa
    assert len(net.honest_components(cut)) > 1
    smaller = (few for size in range(1, kappa) for few in combinations(net.parties, size))
    assert all(len(net.honest_components(few)) == 1 for few in smaller)
