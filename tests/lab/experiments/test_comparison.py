"""The comparison's own arithmetic: which run is shown, bytes, what was counted and not run."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import answer, titan
from titan import Network, solve
from titan_lab import compare
from titan_lab.compare import Case, Record
from titan_lab.compare.records import Point
from titan_lab.experiments import comparison
from titan_lab.experiments.comparison_cases import SETTINGS, Setting, settings
from titan_lab.experiments.comparison_costs import bytes_sent, extrapolated_rounds, planned
from titan_lab.experiments.comparison_methods import FAMILIES, PaperSum, entries, left_out
from titan_lab.experiments.comparison_plot import pictures
from titan_lab.experiments.comparison_table import page, rounds, table, traces

SMALL, LARGE, AREAS, BUSES = SETTINGS


def one(name: str, setting: Setting, seeds: int = 1, budget: int | None = None) -> comparison.Row:
    [row] = comparison.run([setting.name], [name], budget=budget, seeds=seeds).rows
    return row


# -- what is compared ---------------------------------------------------------------


def test_every_method_of_the_bench_has_its_row() -> None:
    assert left_out() == set()
    names = [entry.name for entry in entries()]
    assert len(names) == len(set(names)) == len(compare.METHODS) + 2
    assert {entry.family for entry in entries()} == set(FAMILIES)


def test_the_papers_single_sum_takes_six_rounds_and_the_papers_numbers() -> None:
    """Rounds 1 + T, numbers |N_out|(2kT⌈m/k⌉ + 1)d, d with the carried 1; T = k = m = 5."""
    row, two = one("titan-paper", SMALL), one("titan-topk", SMALL)
    d = 15 + 5 + 1
    assert (row.record.rounds, row.record.sent_most) == (6, (2 * 5 * 5 + 1) * d)
    assert row.record.error == two.record.error
    assert two.record.rounds == 10, "titan.solve: two sums, T the diameter, 4"
    assert row.record.status == two.record.status == "reached"


def test_the_large_problem_is_counted_as_the_issue_says() -> None:
    """About 100 million numbers by Top-k, half a million by flood, ten thousand by a tree."""
    problem = LARGE.problem(101)
    case = Case(problem, LARGE.network(problem.parties))
    plans = {
        entry.name: entry.method(case).plans()  # type: ignore[attr-defined]
        for entry in entries(FAMILIES["TITAN"])
    }
    sent = {
        name: sum(plan.cost.numbers_sent.largest for plan in made) for name, made in plans.items()
    }
    assert plans["titan-paper"][0].cost.rounds == 1001
    assert sent["titan-paper"] == (2 * 10 * 100 * 10 + 1) * 5151
    assert 0.9e8 < sent["titan-topk"] < 1.1e8
    assert 5.0e5 < sent["titan-flood"] < 5.3e5
    assert sent["titan-tree"] == 3 * 5153, "a vector of masks, one up, one down"


def test_a_consistent_version_has_the_same_answer() -> None:
    for setting in (SMALL, AREAS):
        given = setting.problem(101)
        method = compare.named("projection-consensus")
        version, what = setting.version_for(method, 101)
        assert (what, version.consistent, given.consistent) == ("consistent", True, False)
        assert version.solution == pytest.approx(given.solution, rel=1e-12)


def test_no_single_bus_can_unmask_another() -> None:
    """Along the lines alone bus 8 hangs on bus 7; with the further link it does not."""
    network = BUSES.network(BUSES.problem(1).parties)
    assert network.weak_connectivity == 2
    lines = [edge for edge in network.edges if set(edge) != {"8", "9"}]
    assert len(lines) == 40
    assert Network(lines, network.parties).weak_connectivity == 1


# -- which run is shown ---------------------------------------------------------------


def test_the_row_is_the_run_in_the_middle() -> None:
    row = one("projection-consensus", SMALL, seeds=3)
    lone = []
    for seed in SMALL.seeds[:3]:
        problem, _ = SMALL.version_for(row.entry.method, seed)
        net = Network.cycle(problem.parties)
        lone.append(compare.run(problem, net, ["projection-consensus"], seed=seed).records[0])
    ordered = sorted(record.rounds for record in lone)
    assert (row.fewest, row.record.rounds, row.most) == tuple(ordered)
    assert rounds(row) == f"{ordered[1]} [{ordered[0]}, {ordered[2]}]"


def test_runs_that_did_not_get_there_come_last_and_are_counted() -> None:
    """A budget between the rounds of the three seeds: the middle is the middle of all three."""
    every = one("projection-consensus", SMALL, seeds=3)
    row = one("projection-consensus", SMALL, seeds=3, budget=every.record.rounds)
    assert every.fewest < every.record.rounds < every.most
    assert (row.record.status, row.reached, row.runs) == ("reached", 2, 3)
    assert row.record.rounds == every.record.rounds
    assert rounds(row) == f"{every.record.rounds} (2 of 3 runs)"


def test_a_plateau_is_never_there() -> None:
    row = one("dp-no-noise", SMALL)
    assert row.record.status == "finished"
    assert rounds(row) == "never"


def test_a_run_that_stops_at_the_budget_says_so_and_extrapolates() -> None:
    short, full = one("extra", SMALL, budget=150), one("extra", SMALL)
    assert (short.record.status, full.record.status) == ("budget", "reached")
    assert short.extrapolated == pytest.approx(full.record.rounds, rel=0.1)
    assert rounds(short).startswith("> 150 (extrapolated: ")
    sublinear = one("consensus-innovations", SMALL, budget=50)
    assert sublinear.extrapolated is None
    assert rounds(sublinear) == "> 50"


def record(trace: list[tuple[int, float]], status: str = "budget") -> Record:
    points = tuple(Point(at, at, error) for at, error in trace)
    return Record(
        "x", status, "p", 1, 2, 2, 0, 1e-10, points[-1].rounds, 0, 0, 0, 64, None, trace=points
    )


def test_extrapolation_is_exact_where_the_error_falls_exactly_linearly() -> None:
    assert extrapolated_rounds(record([(t, 10.0 ** (-t / 10)) for t in range(0, 51, 5)])) == 100
    assert extrapolated_rounds(record([(0, 1.0), (50, 0.5), (100, 0.5)])) is None
    assert extrapolated_rounds(record([(0, 1.0), (50, 0.5), (100, 0.49)])) is None
    assert extrapolated_rounds(record([(0, 1.0), (50, 0.5), (100, 0.1)], "reached")) is None
    assert extrapolated_rounds(record([(0, 1e6), (50, 1e5), (100, 1e4)])) is None


# -- bytes, and what is not run ---------------------------------------------------------------


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_titans_bytes_are_those_the_engine_counts(recovery: Any) -> None:
    row = one(f"titan-{recovery}", SMALL)
    problem = SMALL.problem(101)
    parts = list(zip(problem.A, problem.b, strict=True))
    k = 5 if recovery == "topk" else None
    network = Network.cycle(problem.parties)
    done = solve(parts, network, recovery=recovery, k=k, allow_small=True)
    assert (row.bytes.number, row.bytes.at_most) == (done.cost.bytes_sent.largest, False)


def test_a_float_is_eight_bytes_and_a_rational_as_long_as_the_longest() -> None:
    row = one("ratio-consensus", SMALL)
    assert row.bytes == type(row.bytes)(8 * row.record.sent_most)
    entry = entries(["finite-time"])[0]
    case = Case(SMALL.problem(101), Network.cycle(SMALL.problem(101).parties))
    long = Record("finite-time", "reached", "p", 1, 5, 5, 0, 0.0, 3, 10, 50, 5, 1001, None)
    assert bytes_sent(entry, case, long) == type(row.bytes)(1252, at_most=True)


def test_faim_counted_is_faim_run() -> None:
    problem = SMALL.problem(101)
    case = Case(problem, Network.random(problem.parties, out_degree=2, seed=3))
    [entry] = entries(["faim"])
    assert planned(entry, case, 10**9, 10**9) is None
    plan = planned(entry, case, 1, 10**9)
    real = compare.run(problem, case.network, ["faim"]).records[0]
    assert plan is not None
    assert (plan.rounds, plan.sent) == (real.rounds, real.sent_most)
    assert plan.bytes == bytes_sent(entry, case, real)


def test_paillier_counted_is_paillier_run() -> None:
    pytest.importorskip("phe", reason="Paillier is an optional extra: peers")
    problem = SMALL.problem(101)
    case = Case(problem, Network.random(problem.parties, out_degree=2, seed=3))
    [entry] = entries(["paillier"])
    plan = planned(entry, case, 10**9, 99)  # one too few for its 5 · 20 ciphertexts
    short = {"paillier": {"key_bits": 256}}
    real = compare.run(problem, case.network, ["paillier"], choices=short).records[0]
    assert plan is not None
    assert (plan.rounds, plan.sent) == (real.rounds, real.sent_most)
    assert plan.bytes == type(plan.bytes)(512 * real.sent_most, at_most=True)


def test_what_is_too_far_away_is_counted_and_the_table_says_so() -> None:
    row = one("faim", SMALL, budget=19)
    assert row.record.status == "budget"
    assert row.planned is not None
    result = comparison.Result((row,), (SMALL,), (row.entry,))
    assert "20 (not run)" in page(result)
    cells = dict(zip(table(result).columns, table(result).rows[0], strict=True))
    assert (cells["status"], cells["rounds"], cells["sent"]) == ("planned", 20, 800)
    assert traces(result).rows == ()


# -- what is known of the methods ---------------------------------------------------------------


def test_extra_takes_354_rounds_with_the_step_1_over_l_and_fewer_when_tuned_further() -> None:
    """354 was once measured, on seeds 0 to 9: with a grid that ended at 1/L."""
    found = []
    for seed in range(10):
        problem = compare.problem("small", seed)
        network = Network.cycle(problem.parties)
        step = 1 / Case(problem, network).smoothness
        found.append(
            [
                compare.run(problem, network, ["extra"], step_sizes={"extra": f * step})
                .records[0]
                .rounds
                for f in (1.0, 1.12)
            ]
        )
    medians = [statistics.median(column) for column in zip(*found, strict=True)]
    assert medians[0] == pytest.approx(354, abs=1)
    assert medians[1] < 330


# -- pages, pictures, the command ---------------------------------------------------------------


def test_the_page_tells_of_refusals_and_versions_and_budgets() -> None:
    names = ["titan-flood", "projection-consensus", "fixed-point", "extra"]
    result = comparison.run(["ieee14-areas"], names, budget=40)
    text = page(result)
    assert "Distributed fixed point (DFIX): refused: needs a square system" in text
    assert "Projection consensus† | > 40" in text
    assert "EXTRA\\* | > 40" in text
    assert "stop at 40 rounds" in text
    assert text.count("| TITAN, flood |") == 2, "among the facts, and on the problem"


def test_every_problem_has_a_picture_and_all_share_one() -> None:
    pytest.importorskip("matplotlib", reason="pictures are an optional extra: plot")
    from titan_lab.experiments.report import render

    result = comparison.run(["small", "ieee14-areas"], ["titan-tree", "faim"], budget=20, seeds=1)
    drawn = pictures(result)
    assert list(drawn) == ["comparison-small", "comparison-ieee14-areas", "comparison-costs"]
    files = render("comparison-small", drawn["comparison-small"], "here")
    assert files["comparison-small.png"].startswith(b"\x89PNG")
    assert b"</svg>" in files["comparison-small.svg"]


def test_the_command_writes_its_files(tmp_path: Path) -> None:
    words = ["--problems", "small", "--methods", "titan-paper,faim,extra", "--seeds", 2]
    out = answer("reproduce", "comparison", *words, "--budget", 60, "--out", tmp_path / "new")
    assert [row["method"] for row in out["rows"]] == ["titan-paper", "faim", "extra"]
    assert [row["status"] for row in out["rows"]] == ["reached", "reached", "budget"]
    assert out["seed"] == 101
    assert {Path(file).name for file in out["files"]} >= {
        "comparison.csv", "comparison-traces.csv", "comparison.md",
    }  # fmt: skip
    with (tmp_path / "new" / "comparison.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [row["rounds"] for row in rows] == ["6", "20", "60"]
    assert all(row["versions"] for row in rows)


def test_bad_words_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words, says in (
        (["--methods", "exta"], 'no method "exta"'),
        (["--methods", ""], "no method"),
        (["--problems", "smal"], 'no problem "smal"'),
        (["--budget", 0], "budget of 0 rounds"),
        (["--seeds", 11], "11 seeds"),
        (["--out", tmp_path / "file"], "cannot be made"),
    ):
        done = titan("reproduce", "comparison", *words)
        assert done.returncode == (1 if says == "cannot be made" else 2)
        assert says in done.stderr
        assert done.stdout == ""


def test_settings_can_be_made_smaller() -> None:
    [small] = settings(["small"], 7, 3)
    assert (small.budget, small.seeds) == (7, (101, 102, 103))
    assert [s.name for s in settings()] == [s.name for s in SETTINGS]
    assert np.isin(range(11), small.seeds).sum() == 0
    assert PaperSum.about.name == "titan-paper"
