"""What a study says of its lines: how it is written, what it decides, what time it predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.party.trips import Trips, regression
from tests.study.parties import NOW
from tests.study.studies import study
from titan import Network
from titan.errors import FileError, InputError
from titan.protocol import RecoveryName
from titan.study import Link, Study, check

FAST = {"bandwidth_mbit": 1_000_000}


def test_lines_are_written_and_read_back() -> None:
    links = (replace(study().links[0], latency_ms=3, bandwidth_mbit=7), *study().links[1:])
    it = study(latency_ms=100, bandwidth_mbit=50, links=links)
    assert Study.parse(it.to_toml()) == it
    assert Study.parse(it.to_toml()).digest == it.digest
    assert it.lines.latency.tolist().count(100_000_000) == 3
    first = it.network.edges.index((links[0].sender, links[0].receiver))
    assert it.lines.latency[first] == 3_000_000
    assert it.lines.speed[first] == 7 * 125
    assert "network" not in study().to_toml(), "nothing is said where nothing was"
    told = {study(links=links).digest, study().digest, study(latency_ms=3).digest}
    assert len(told) == 3


@pytest.mark.parametrize("key", ["latency_ms", "bandwidth_mbit"])
def test_nonsense_is_refused(key: str) -> None:
    wrongs: tuple[Any, ...] = (-1, 1 << 40, True, "ten")
    for wrong in wrongs:
        with pytest.raises(InputError, match=f"^{key} is not a number that is allowed"):
            replace(study(), **{key: wrong})
        link = replace(study().links[0], **{key: wrong})
        with pytest.raises(InputError, match=rf"^links\.{key} is not"):
            study(links=(link, *study().links[1:]))
    five: dict[str, Any] = {key: 5}
    text = replace(study(), **five).to_toml().replace(f"{key} = 5", f"{key} = 5.5")
    with pytest.raises(FileError, match=rf"network\.{key} is a number, where a whole"):
        Study.parse(text)


def test_far_away_a_study_floods_and_near_by_it_folds() -> None:
    """The same question, with one choice for all parties: it follows from the study alone."""

    def recoveries(**line: Any) -> set[str]:
        return {plan.scheme.name for plan in regression(20, **line).plans}

    assert recoveries(latency_ms=100, bandwidth_mbit=50) == {"flood"}
    assert recoveries(latency_ms=0, bandwidth_mbit=1, relays="trusted") == {"tree"}


@pytest.mark.parametrize(
    ("network", "recovery"),
    [
        (Network.design(20, 1), "flood"),
        (Network.design(20, 1), "tree"),
        (Network.cycle(4), "flood"),
    ],
)
def test_the_predicted_time_is_that_of_the_trips(network: Network, recovery: RecoveryName) -> None:
    """Where bytes cost nothing, it is the trips that a run on links of one delay takes."""
    asked = regression(network, recovery=recovery, latency_ms=1000, **FAST)
    trips = Trips.of(asked).run().reached["agreement"]
    assert check(asked, NOW).facts["predicted_seconds"] == pytest.approx(trips, abs=0.01)


def test_the_prediction_counts_bytes_and_the_answer_of_one_who_solves() -> None:
    def seconds(**changes: Any) -> float:
        found = check(study(latency_ms=10, **changes), NOW).facts["predicted_seconds"]
        assert isinstance(found, float)
        return found

    assert seconds(bandwidth_mbit=1) > seconds(bandwidth_mbit=1000)
    assert seconds(solver="north", **FAST) - seconds(**FAST) == pytest.approx(0.03, abs=0.001)
    others = (link for link in study().links if link.sender != "north")
    slow = (Link("north", "east", latency_ms=50), *others)
    assert seconds(links=slow, **FAST) > seconds(**FAST)
