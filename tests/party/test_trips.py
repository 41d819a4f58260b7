"""Invariant: from all connected to answered nobody waits longer than the diameter makes it.

What is told to all takes D trips, a mask one: no phase has more, and none waits for another that it
does not follow from.
"""

from __future__ import annotations

import pytest

from tests.party.trips import Trips, regression
from titan import Network

MOST_TRIPS = 40


def test_twenty_parties_find_a_regression_in_few_trips() -> None:
    """Of ten coefficients, on a designed network: nonces, three sums, and the agreement."""
    asked = regression(20)
    found = Trips.of(asked).run()
    diameter = asked.network.diameter
    assert found.phases == {
        "nonces": diameter,
        "masks of sum 1": 1,
        "recovery of sum 1": diameter,
        "masks of sum 2": 1,
        "recovery of sum 2": diameter,
        "masks of sum 3": 1,
        "recovery of sum 3": diameter,
        "agreement": diameter,
        "end": 1,
    }
    assert found.reached["agreement"] == 5 * diameter + 3 <= MOST_TRIPS
    answers = {str(each.sums.answer()) for each in found.sessions}
    assert len(answers) == 1


@pytest.mark.parametrize("network", [Network.cycle(4), Network.complete(4), Network.design(9, 2)])
def test_on_any_network_floods_take_the_diameter(network: Network) -> None:
    asked = regression(network, recovery="flood")
    found = Trips.of(asked).run()
    assert found.reached["agreement"] == 5 * network.diameter + 3


@pytest.mark.parametrize("seed", range(2))
def test_who_is_late_is_not_left_behind(seed: int) -> None:
    """However slow a link is: who ends has told its neighbours all they need."""
    found = Trips.of(regression(20, recovery="flood")).run_in_any_order(seed)
    assert [each.stopped for each in found.sessions] == [None] * 20
    assert all(each.complete for each in found.sessions)


def test_an_answer_that_one_tells_takes_the_diameter_more() -> None:
    asked = regression(Network.cycle(4), recovery="flood")
    alone, told = Trips.of(asked).run(), Trips.of(asked, solver=0).run()
    furthest = max(asked.network.distances_from(0))
    more = told.reached["agreement"] - alone.reached["agreement"]
    assert 0 < more <= furthest
