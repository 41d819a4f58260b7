"""The first experiment: 6 rounds, the exact solution, and a figure of what really arrived."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_commands import titan
from titan.errors import NumberError
from titan_lab.experiments import figure2
from titan_lab.experiments.figure2_report import draw, report


@pytest.fixture(scope="module")
def result() -> figure2.Result:
    return figure2.run()


def test_the_papers_counts(result: figure2.Result) -> None:
    """Section V: six iterations; d = n² + n and the carried 1."""
    d = 5 * 5 + 5 + 1
    assert result.plan.entries == d
    assert (result.cost.rounds, result.cost.recovery_rounds) == (6, 5)
    assert set(result.cost.numbers_sent.values()) == {(2 * 5 * 5 + 1) * d}
    assert set(result.cost.numbers_held.values()) == {(2 * 5 + 5) * d}
    assert (result.network.diameter, result.network.weak_connectivity) == (4, 2)
    assert result.expected


def test_the_solution_is_exact_and_better_than_lstsq(result: figure2.Result) -> None:
    assert result.errors.exact < 1e-30
    assert result.errors.float64 < 2**-53
    assert result.errors.lstsq < 1e-13
    assert result.proven < 1e-15


def test_what_is_private_is_the_moments_of_the_rows(result: figure2.Result) -> None:
    for A, b, block in zip(result.problem.A, result.problem.b, result.private, strict=True):
        assert np.allclose(block[:, :5], A.T @ A, rtol=1e-13, atol=1e-13)
        assert np.allclose(block[:, 5], A.T @ b, rtol=1e-13, atol=1e-13)


def test_what_was_received_adds_up_to_the_pooled_moments(result: figure2.Result) -> None:
    """Modulo the span: what arrived is everybody's masked input, and nothing was left out."""
    difference = (result.received.sum(axis=0) - result.private.sum(axis=0)) / result.span
    assert np.allclose(difference, np.round(difference), atol=1e-9)


def test_what_was_received_fills_the_ring_and_is_new_each_time(result: figure2.Result) -> None:
    """150 uniform numbers: all in one half of the ring once in 2^149 runs."""
    assert 0 <= result.received.min() < result.span / 2 < result.received.max() < result.span
    again = figure2.run()
    assert np.array_equal(again.private, result.private)
    assert not np.any(again.received == result.received)


def test_the_real_solve_takes_two_sums_and_no_bound(result: figure2.Result) -> None:
    assert result.two_sums.rounds == 2 * 6
    first, second = 2 * 5 + 1 + 1, 5 * 4 // 2 + 1
    assert set(result.two_sums.numbers_sent.values()) == {(2 * 5 * 5 + 1) * (first + second)}
    assert result.two_sums_errors.exact < 1e-30


def test_a_bound_that_does_not_hold_is_refused() -> None:
    with pytest.raises(NumberError, match="exceeds the paper's bound a = 20"):
        figure2.run(seed=3)


def test_the_picture_has_a_heat_map_for_each_node_twice(result: figure2.Result) -> None:
    axes = draw(result).axes
    titles = [axis.get_title() for axis in axes]
    assert titles[:5] == ["node 1\n(adversary)", "node 2", "node 3", "node 4", "node 5"]
    shown = [np.asarray(axis.collections[0].get_array()) for axis in axes[5:10]]
    for block, drawn in zip(result.received, shown, strict=True):
        assert np.array_equal(np.ravel(drawn), block[:, :5].ravel())


def test_the_table_holds_every_entry(result: figure2.Result) -> None:
    table = report(result).tables["figure2"]
    assert len(table.rows) == 5 * (25 + 5)
    node, matrix, row, column, private, received = table.rows[-1]
    assert (node, matrix, row, column) == ("5", "Atb", 5, 1)
    assert Fraction(str(private)) == Fraction(str(result.private[4, 4, 5]))
    assert received == result.received[4, 4, 5]


def test_the_command(tmp_path: Path) -> None:
    done = titan("reproduce", "figure2", "--out", tmp_path / "f", "--json")
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert (out["rounds"], out["seed"], out["missing"]) == (6, 1, None)
    names = ["figure2.csv", "figure2.md", "figure2.svg", "figure2.png"]
    assert [Path(file).name for file in out["files"]] == names
    with (tmp_path / "f" / "figure2.csv").open(encoding="utf-8", newline="") as file:
        assert {row["seed"] for row in csv.DictReader(file)} == {"1"}
    text = (tmp_path / "f" / "figure2.md").read_text(encoding="utf-8")
    assert "| rounds | 6 | 6 (1 obfuscation, 5 recovery) |" in text
    assert f"python-flint {out['versions']['python-flint']}" in text


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_a_note_and_the_tables(tmp_path: Path) -> None:
    done = titan("reproduce", "figure2", "--out", tmp_path)
    assert done.returncode == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["figure2.csv", "figure2.md"]
    assert "titan: note: matplotlib is not installed" in done.stderr
    assert "'titan-consensus[plot]'" in done.stderr


def test_a_seed_beyond_the_bound_is_an_error_in_two_lines() -> None:
    done = titan("reproduce", "figure2", "--seed", "3")
    assert done.returncode == 1
    assert "titan: error: an entry of '1' exceeds the paper's bound a = 20" in done.stderr
    assert "titan: hint: take another seed" in done.stderr
