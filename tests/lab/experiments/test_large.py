"""The second experiment, small: counts against formulas, one answer whatever the recovery.

The same function at the paper's size is `titan reproduce large`; what it found is in docs/paper.md.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import titan
from titan.engines import vectorised
from titan.errors import RecoveryError
from titan_lab.experiments import large
from titan_lab.experiments.large import AGENTS, ARRAYS, PAPER, Result, Size
from titan_lab.experiments.large_report import draw, lines, report

SMALL = Size(m=12, rows_each=12, n=6, k=5)
D = 6 * 7 // 2 + 6 + 1


@pytest.fixture(scope="module")
def result() -> Result:
    return large.run(size=SMALL)


def test_at_full_size_it_is_the_papers_experiment() -> None:
    """Section V: m = 100, p = 10000, n = 100, k = 10."""
    assert (PAPER.m, PAPER.m * PAPER.rows_each, PAPER.n, PAPER.k) == (100, 10000, 100, 10)


def test_rounds_are_counted_by_real_agents(result: Result) -> None:
    """T⌈m/k⌉ with T = m on the cycle, T the diameter on the designed network."""
    cycle, designed = result.counted
    assert cycle.recovery_rounds == result.run("cycle", "topk").recovery_rounds == 12 * 3
    T = result.networks["designed"].diameter
    assert designed.recovery_rounds == result.run("designed", "topk").recovery_rounds == T * 3
    assert cycle.envelopes == 12 * (12 * 3 + 1)
    assert result.expected


def test_what_agents_count_for_an_entry_is_what_the_plan_says_for_all(result: Result) -> None:
    assert result.d == D
    for counted in result.counted:
        assert counted.sent * D == result.run(counted.network, "topk").sent
    assert result.counted[0].sent == 2 * 5 * 12 * 3 + 1
    assert result.run("cycle", "topk").held == (2 * 5 + 12) * D


def test_flood_and_tree_send_what_they_must(result: Result) -> None:
    """On a cycle: a mask and m - 1 vectors of others and one's own; a mask and two vectors."""
    flood, tree = result.run("cycle", "flood"), result.run("cycle", "tree")
    assert (flood.rounds, flood.sent, flood.masks) == (12, 12 * D, D)
    assert (tree.sent, tree.masks) == (3 * D, D)
    assert tree.held == D
    assert {run.engine for run in result.runs if run.recovery != "topk"} == {AGENTS}
    assert {run.engine for run in result.runs if run.recovery == "topk"} == {ARRAYS}


def test_masks_are_counted_for_every_out_neighbour_of_the_busiest(result: Result) -> None:
    """`titan.solve` masks two sums: the diagonal, Aᵀb and the rows; the rest; each with a 1."""
    degree = int(result.networks["designed"].out_degree.max())
    assert degree > 1
    assert result.run("designed", "flood").masks == degree * D
    n = SMALL.n
    two = (2 * n + 1 + 1) + (n * (n - 1) // 2 + 1)
    assert result.run("designed", "titan.solve").masks == degree * two


def test_an_answer_that_is_not_exact_is_not_what_the_paper_claims(result: Result) -> None:
    wrong = replace(result, errors=replace(result.errors, exact=1e-20))
    assert not wrong.expected


def test_the_answer_is_exact(result: Result) -> None:
    assert result.errors.exact < 1e-30
    assert result.errors.float64 < 2**-53
    assert result.solve_errors.float64 < 2**-53
    assert result.errors.lstsq < 1e-13
    assert result.proven < 1e-15


def test_networks_tolerate_the_same(result: Result) -> None:
    assert min(network.weak_connectivity for network in result.networks.values()) == 2
    assert result.networks["designed"].diameter < result.networks["cycle"].diameter


def test_time_and_memory_are_measured(result: Result) -> None:
    assert all(run.seconds > 0 and run.cpu_seconds > 0 for run in result.runs)
    assert all(run.peak_bytes > 16 * SMALL.m * D for run in result.runs if run.recovery != "tree")


def test_recoveries_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one total, and there is no table."""
    honest = vectorised.run

    def wrong(*arguments: Any) -> Any:
        outcome = honest(*arguments)
        outcome.total[0, 0] ^= np.uint64(1)
        return outcome

    monkeypatch.setattr(vectorised, "run", wrong)
    with pytest.raises(RecoveryError, match="different bits"):
        large.run(size=SMALL)


def test_the_picture_shows_what_was_counted(result: Result) -> None:
    sent, rounds = draw(result).axes
    widths = [bar.get_width() for bar in sent.patches]  # type: ignore[attr-defined]
    expected = [
        result.run(network, recovery).sent
        for network in ("cycle", "designed")
        for recovery in ("topk", "flood", "tree")
    ]
    assert widths == expected
    assert [axis.get_title() for axis in (sent, rounds)] == ["numbers sent per node", "rounds"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: Result) -> None:
    monkeypatch.setattr(large, "run", lambda seed, progress: result)
    done = titan("reproduce", "large", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["recovery_rounds"] == 36
    assert len(out["runs"]) == 7
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".md", ".png", ".svg"]
    assert len(lines(result)) == 7
    assert "T⌈m/k⌉ = 36" in report(result).page


def test_a_claim_that_fails_ends_in_status_1(
    monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    short = replace(result.counted[0], recovery_rounds=35)
    failed = replace(result, counted=(short, *result.counted[1:]))
    monkeypatch.setattr(large, "run", lambda seed, progress: failed)
    done = titan("reproduce", "large")
    assert done.returncode == 1
    assert "claims did not hold: 35 rounds of recovery" in done.stderr
