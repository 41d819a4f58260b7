"""A plan refuses what cannot work and says what would; `auto` takes the cheaper recovery."""

from __future__ import annotations

from typing import Any

import pytest

from titan import Network
from titan.engines import local, vectorised
from titan.errors import NotPrivateError, NotStronglyConnectedError, PlanError
from titan.protocol import Plan
from titan.ring import Ring

CYCLE = Network.cycle(5)


@pytest.mark.parametrize(
    ("choices", "complaint", "hint"),
    [
        ({"rounds": 3}, "rounds=3 is below the network's diameter", "at least 4"),
        ({"recovery": "topk", "k": 0}, "k=0 is outside 1..5", "from 1 to 5"),
        ({"recovery": "topk", "k": 6}, "k=6 is outside 1..5", "from 1 to 5"),
        ({"recovery": "tree", "k": 2}, "k=2 has no meaning for tree", "topk"),
        ({"recovery": "gossip"}, "recovery='gossip' is unknown", "auto, topk, flood, tree"),
        ({"masks": "none"}, "masks='none' is unknown", "sent, seeded"),
    ],
)
def test_refusals(choices: dict[str, Any], complaint: str, hint: str) -> None:
    with pytest.raises(PlanError, match=complaint) as error:
        Plan.make(CYCLE, Ring(64), 1, **choices)
    assert hint in error.value.hint


def test_networks_that_cannot_work() -> None:
    with pytest.raises(NotStronglyConnectedError) as unreachable:
        Plan.make(Network([("a", "b"), ("b", "c"), ("c", "b")]), Ring(64), 1)
    assert unreachable.value.target == "a"
    path = Network([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
    with pytest.raises(NotPrivateError) as leak:
        Plan.make(path, Ring(64), 1, tau=1)
    assert leak.value.cut == {"b"}


def test_k_alone_asks_for_topk() -> None:
    assert Plan.make(CYCLE, Ring(64), 1, k=2).scheme.name == "topk"


def test_auto_takes_flood_for_short_vectors_and_tree_for_long_ones() -> None:
    dense = Network.complete(8)
    assert Plan.make(dense, Ring(128), 10).scheme.name == "flood"
    assert Plan.make(Network.cycle(30), Ring(128), 100_000).scheme.name == "tree"


@pytest.mark.parametrize(("masks", "vectors"), [("sent", 3.2), ("seeded", 2.2)])
def test_tree_on_a_cycle_is_near_the_all_reduce_bound(masks: Any, vectors: float) -> None:
    """m = 100, d = 5150: the non-private bound is 2(m-1)/m = 1.98 vectors."""
    for bits in (64, 128):
        plan = Plan.make(Network.cycle(100), Ring(bits), 5150, recovery="tree", masks=masks)
        assert plan.cost.bytes_sent.largest <= vectors * 5150 * bits // 8


def test_tree_rounds_are_depths_and_chunks() -> None:
    """In-depth + out-depth + chunks - 1, with the chunks spread evenly."""
    plan = Plan.make(Network.cycle(6), Ring(64), 200_000, recovery="tree")
    tree = plan.scheme
    chunks = tree.chunks  # type: ignore[attr-defined]
    assert chunks > 1
    assert plan.cost.recovery_rounds == 5 + 5 + chunks - 1


def test_a_tree_takes_few_chunks_that_are_as_quick_as_many() -> None:
    """Within a twentieth of the quickest number, and none fewer is."""
    tree = Plan.make(Network.cycle(5), Ring(128), 501_500, recovery="tree").scheme
    times = [(7 + n) * (100_000 + 16 * 501_501 / n) for n in range(1, 100)]
    fewest = next(n for n, time in enumerate(times, 1) if time <= 1.05 * min(times))
    assert (tree.chunks, 1 + times.index(min(times))) == (fewest, 24)  # type: ignore[attr-defined]


def test_seeds_count_as_the_numbers_they_replace() -> None:
    plan = Plan.make(CYCLE, Ring(64), 9, recovery="flood", masks="seeded")
    assert plan.mask_numbers == 4
    assert plan.cost.numbers_sent["1"] == 4 + 4 * 10


def test_large_networks_get_a_tree_and_topk_refuses_them() -> None:
    net = Network.cycle(70_000)
    with pytest.raises(PlanError, match="at most 65535 parties"):
        Plan.make(net, Ring(64), 1, recovery="topk", k=3)
    assert Plan.make(net, Ring(64), 1).scheme.name == "tree"


def test_inputs_of_another_shape_are_refused_by_both_engines() -> None:
    plan = Plan.make(CYCLE, Ring(64), 3)
    for engine in (local, vectorised):
        with pytest.raises(PlanError, match="shape"):
            engine.run(plan, Ring(64).zeros(5, 1))
    with pytest.raises(PlanError, match="-1 entries"):
        Plan.make(CYCLE, Ring(64), -1)
