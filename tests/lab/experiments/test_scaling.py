"""Invariant: every figure of the scaling study says how it was found, and formulas are the plan's.

What ran is compared with its plan; what did not run follows from what did.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.test_commands import titan
from titan import Network
from titan.engines import local
from titan.errors import RecoveryError
from titan.protocol import Plan, RecoveryName
from titan_lab.experiments import scaling
from titan_lab.experiments.scaling_report import amount, draw, duration, report

NETWORKS = [Network.cycle(12), Network.design(30, 1), Network.circulant(20, [1, 3])]


@pytest.fixture(scope="module")
def result() -> scaling.Result:
    return scaling.run(10, 10, 12)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("d", [1, 9])
def test_the_formula_of_topk_is_the_plan(network: Network, d: int) -> None:
    plan = Plan.make(network, scaling.RING, d, recovery="topk", k=scaling.K)
    found = scaling.formula(network, network.diameter, d, "topk")
    sent = plan.cost.bytes_sent
    assert found == (plan.recovery_rounds, sent.largest, sent.total, plan.cost.messages)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_formula_of_flood_is_the_most(network: Network) -> None:
    """Exact on a cycle, where every link has something to say in every round."""
    plan = Plan.make(network, scaling.RING, 4, recovery="flood")
    rounds, busiest, total, messages = scaling.formula(network, network.diameter, 4, "flood")
    assert rounds == plan.recovery_rounds
    assert plan.cost.messages <= messages
    assert plan.cost.bytes_sent.total <= total < 1.1 * plan.cost.bytes_sent.total
    if len(network.senders) == len(network):
        sent = plan.cost.bytes_sent
        assert (sent.largest, sent.total, plan.cost.messages) == (busiest, total, messages)


def test_every_figure_says_how_it_was_found(result: scaling.Result) -> None:
    assert {point.sweep for point in result.points} == {"parties", "entries", "diameter"}
    for point in result.points:
        assert point.measured == (point.seconds is not None), "all of these are small"
        assert point.costs == "counted"
        assert point.engine == "agents"
    assert {point.diameter for point in result.of("diameter")} >= {1, 3, 6, 11}


@pytest.mark.parametrize(
    ("recovery", "costs", "engine"), [("flood", "formula", ""), ("tree", "planned", "arrays")]
)
def test_what_does_not_run_is_not_called_measured(
    recovery: RecoveryName, costs: str, engine: str
) -> None:
    point = scaling.measure("parties", "cycle", Network.cycle(3000), 1, recovery)
    assert (point.costs, point.engine, point.measured) == (costs, engine, bool(engine))


def test_a_time_that_was_not_taken_follows_from_one_that_was(result: scaling.Result) -> None:
    ran = result.of("parties")[0]
    far = replace(ran, m=100, bytes_total=10 * ran.bytes_total, seconds=None, measured=False)
    _, found = scaling._with_times([ran, far])
    assert found.seconds == pytest.approx(10 * (ran.seconds or 0))
    assert (found.measured, found.engine) == (False, "agents")


def test_a_cost_that_is_not_the_plans_ends_it() -> None:
    honest = local.run

    def other(plan: Plan, secrets: Any) -> local.Outcome:
        outcome = honest(plan, secrets)
        return replace(outcome, cost=outcome.cost + outcome.cost)

    with patch.object(local, "run", other), pytest.raises(RecoveryError, match="planned"):
        scaling.measure("parties", "cycle", Network.cycle(10), 1, "tree")


def test_what_is_written(result: scaling.Result, tmp_path: Path) -> None:
    made = report(result)
    assert set(made.pictures) == {"scaling-parties", "scaling-entries", "scaling-diameter"}
    assert made.page.count("counted") > 3 * 7
    figure = draw(result, "diameter", "diameter", "diameter D")
    assert len(figure.axes) == 3
    with patch.object(scaling, "run", lambda largest, progress: result):
        done = titan("reproduce", "scaling", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["points"]) == len(result.points)


def test_words_for_numbers() -> None:
    assert (amount(272, "B"), amount(5.8e6, "B")) == ("272 B", "5.8 MB")
    assert [duration(x) for x in (0.002, 0.77, 3.4, 62, 7300, 4e5)] == [
        "2 ms", "770 ms", "3.4 s", "62 s", "2 h", "4.6 days",
    ]  # fmt: skip
