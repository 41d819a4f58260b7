"""Rounds, memory and messages equal the paper's formulas for every k; a difference is found."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import titan
from tests.sums import random_inputs, run_local
from titan import Network
from titan.protocol import PerParty
from titan.ring import Ring
from titan_lab.experiments import tradeoff
from titan_lab.experiments.tradeoff_report import draw, report

M = 7


@pytest.fixture(scope="module")
def result() -> tradeoff.Result:
    return tradeoff.run(m=M)


def test_every_k_equals_the_formulas(result: tradeoff.Result) -> None:
    """Section III-A, written out once more here."""
    assert result.d == 5 * 6 // 2 + 5 + 1
    assert [count.k for count in result.of("cycle")] == list(range(1, M + 1))
    assert len(result.networks) == 2
    assert {count.T for count in result.of("cycle")} == {M}
    for count in result.counts:
        runs = ceil(M / count.k)
        assert count.rounds == count.T * runs
        assert count.held == (2 * count.k + M) * result.d
        assert count.sent == count.out_degree * (2 * count.k * count.T * runs + 1) * result.d
        assert count.equal
    assert result.unequal == ()


def test_what_is_sent_is_not_quite_independent_of_k(result: tradeoff.Result) -> None:
    """The paper says largely; where k does not divide m the last run sends empty slots."""
    sent = {count.k: count.sent for count in result.of("cycle")}
    assert sent[1] == sent[M] == min(sent.values())
    assert sent[M - 1] / sent[1] > 1.6


@pytest.mark.parametrize("what", ["recovery_rounds", "numbers_held", "numbers_sent"])
@pytest.mark.parametrize("off", [1, -1])
def test_one_number_too_many_or_too_few_at_one_node_is_a_difference(what: str, off: int) -> None:
    network, ring = Network([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]), Ring(64)
    plan, outcome = run_local(
        network, ring, random_inputs(ring, 3, 2, 0), recovery="topk", k=2, rounds=2
    )
    assert tradeoff.compared("net", network, plan.entries, 2, 2, outcome.cost).equal
    right = getattr(outcome.cost, what)
    more = np.array([0, off, 0])
    wrong: Any = right + off if isinstance(right, int) else PerParty(network, right.array + more)
    cost = replace(outcome.cost, **{what: wrong})
    assert not tradeoff.compared("net", network, plan.entries, 2, 2, cost).equal


def test_the_picture_shows_what_was_counted(result: tradeoff.Result) -> None:
    axes = draw(result).axes
    titles = [axis.get_title() for axis in axes]
    assert titles == ["rounds of recovery", "numbers held per node", "numbers sent per node"]
    counted = np.asarray(axes[2].lines[1].get_ydata())
    assert counted.tolist() == [count.sent for count in result.of("cycle")]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: tradeoff.Result
) -> None:
    monkeypatch.setattr(tradeoff, "run", lambda seed, progress: result)
    done = titan("reproduce", "tradeoff", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["equal"] is True
    assert len(out["counts"]) == 2 * M
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".md", ".png", ".svg"]


def test_a_difference_ends_in_status_1(
    monkeypatch: pytest.MonkeyPatch, result: tradeoff.Result
) -> None:
    first, *others = result.counts
    wrong = replace(first, sent=first.sent + 1, equal=False)
    differing = replace(result, counts=(wrong, *others))
    monkeypatch.setattr(tradeoff, "run", lambda seed, progress: differing)
    done = titan("reproduce", "tradeoff")
    assert done.returncode == 1
    assert "differ from the paper's formulas: k = 1 (cycle)" in done.stderr
    assert f"{first.sent + 1:,} ({first.sent:,})" in done.stdout
    assert "| ≠ |" in report(differing).page
