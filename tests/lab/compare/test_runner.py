"""The runner: refusals with reasons, budgets, step sizes, tidy results."""

from __future__ import annotations

import csv
import sys
from importlib import import_module
from io import StringIO

import numpy as np
import pytest

from titan import Network
from titan.errors import DataError, InputError, PlanError, TitanError
from titan_lab import compare
from titan_lab.compare import Problem
from titan_lab.compare.runner import COARSE, FINE

CYCLE = Network.cycle(5)
SMALL = compare.problem("small", seed=5)


@pytest.mark.parametrize(
    ("method", "problem", "reason"),
    [
        ("projection-consensus", "small", "has none"),
        ("async-projection", "small", "has none"),
        ("constrained-consensus", "average", "has none"),
        ("private-projection", "small", "has none"),
        ("fixed-point", "small", "one equation per party"),
        ("fixed-point", "small-consistent", "one equation per party"),
        ("finite-time", "ieee14-buses", "m·n = 182 here, at most 40"),
    ],
)
def test_what_a_method_cannot_do_is_refused_with_the_reason(
    method: str, problem: str, reason: str
) -> None:
    task = compare.problem(problem)
    record = compare.run(task, Network.cycle(task.parties), [method])[method]
    assert record.status == "refused"
    assert reason in record.reason
    assert (record.rounds, record.sent_total, record.error) == (0, 0, None)


@pytest.mark.parametrize("method", ["extra", "average-consensus", "private-gossip"])
def test_an_undirected_network_is_made_or_missed(method: str) -> None:
    made = compare.run(SMALL, CYCLE, [method], budget=5)[method]
    assert made.made_undirected
    assert made.links == 10
    missed = compare.run(SMALL, CYCLE, [method], make_undirected=False)[method]
    assert missed.status == "refused"
    assert "one way only" in missed.reason
    complete = compare.run(SMALL, Network.complete(5), [method], budget=5, make_undirected=False)
    assert complete[method].status in ("budget", "reached")
    assert not complete[method].made_undirected


def test_a_missing_package_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phe", None)
    record = compare.run(SMALL, CYCLE, ["paillier"])["paillier"]
    assert record.status == "refused"
    assert record.reason == "needs the package phe, which is not installed"


def test_a_network_that_is_not_strongly_connected_is_refused_by_all() -> None:
    line = Network([("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")])
    for record in compare.run(SMALL, line, make_undirected=False).records:
        assert (record.status, record.reason) == ("refused", "needs a strongly connected network")


def test_a_diagonal_of_zeros_is_no_contraction() -> None:
    swapped = Problem.of("swapped", [([[0.0, 1.0]], [1.0]), ([[1.0, 0.0]], [2.0])])
    record = compare.run(swapped, Network.cycle(2), ["fixed-point"])["fixed-point"]
    assert record.status == "refused"


# -- budgets ------------------------------------------------------------------------------------


def test_the_budget_is_kept_and_said() -> None:
    results = compare.run(SMALL, CYCLE, ["extra", "titan-topk", "faim"], budget=9, tune=False)
    assert (results["extra"].status, results["extra"].rounds) == ("budget", 9)
    assert results["titan-topk"].reason == "would take 10 rounds"
    assert results["faim"].reason == "would take 20 rounds"
    assert compare.run(SMALL, CYCLE, ["titan-topk"], budget=10)["titan-topk"].status == "reached"


def test_a_run_stops_in_the_first_round_that_is_good_enough() -> None:
    """Also where the runner looks only at what may be good enough."""
    for method in ("average-consensus", "push-diging"):
        record = compare.run(SMALL, CYCLE, [method], tolerance=1e-6, tune=False)[method]
        step = {} if record.step_size is None else {method: record.step_size}
        shorter = compare.run(
            SMALL, CYCLE, [method], tolerance=1e-6, budget=record.rounds - 1, step_sizes=step
        )[method]
        assert record.status == "reached"
        assert shorter.status == "budget"
        assert shorter.error is not None
        assert shorter.error > 1e-6


def test_diverging_is_a_result() -> None:
    record = compare.run(SMALL, CYCLE, ["extra"], step_sizes={"extra": 10.0})["extra"]
    assert record.status == "diverged"
    assert record.rounds < 100


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    compare.run(
        SMALL, CYCLE, ["ratio-consensus"], progress=lambda *facts: told.append(facts), budget=50
    )
    assert told[0] == ("ratio-consensus", 0, 50)
    assert told[-1] == ("ratio-consensus", 50, 50)


# -- step sizes ---------------------------------------------------------------------------------


def test_the_search_beats_the_default_and_says_how_many_it_tried() -> None:
    for method in ("extra", "sonata"):
        default = compare.run(SMALL, CYCLE, [method], tune=False, budget=5000)[method]
        tuned = compare.run(SMALL, CYCLE, [method], budget=5000)[method]
        assert tuned.status == default.status == "reached"
        assert tuned.rounds < default.rounds
        assert (default.trials, tuned.trials) == (0, 23)
        assert default.step_size is not None
        coarse = [default.step_size * factor for factor in COARSE]
        assert tuned.step_size in coarse + [step * factor for step in coarse for factor in FINE]


def test_the_search_finds_the_best_of_its_grid_or_better() -> None:
    """Against a dumb twin that tries all to the end."""
    tuned = compare.run(SMALL, CYCLE, ["extra"])["extra"]
    default = compare.run(SMALL, CYCLE, ["extra"], budget=1, tune=False)["extra"].step_size
    assert default is not None
    every = [
        compare.run(SMALL, CYCLE, ["extra"], step_sizes={"extra": default * factor}, budget=2000)
        for factor in COARSE
    ]
    reached = [run["extra"].rounds for run in every if run["extra"].status == "reached"]
    assert 0.8 * min(reached) < tuned.rounds <= min(reached)


# -- results ------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_run_again() -> None:
    methods = ["robust-ratio", "private-gossip", "function-sharing", "dp-optimisation"]

    def errors(seed: int) -> list[float | None]:
        run = compare.run(SMALL, CYCLE, methods, budget=30, seed=seed, tune=False)
        return [record.error for record in run.records]

    assert errors(1) == errors(1)
    assert all(a != b for a, b in zip(errors(1), errors(2), strict=True))


def test_results_are_tidy() -> None:
    results = compare.run(SMALL, CYCLE, ["titan-tree", "extra", "fixed-point"], tune=False)
    rows = list(csv.DictReader(StringIO(results.to_csv())))
    assert [row["method"] for row in rows] == ["titan-tree", "extra", "fixed-point"]
    assert int(rows[1]["rounds"]) == results["extra"].rounds
    assert rows[2]["error"] == ""
    trace = [row for row in results.trace_rows() if row["method"] == "extra"]
    assert trace[0]["rounds"] == 0
    assert (trace[-1]["rounds"], trace[-1]["error"]) == (
        results["extra"].rounds,
        results["extra"].error,
    )
    assert np.all(np.diff([row["rounds"] for row in trace]) > 0)
    assert all(row["sent"] == 10 * row["rounds"] for row in trace), "n = 5 to two neighbours"


def test_a_frame() -> None:
    import_module("pandas")
    results = compare.run(SMALL, CYCLE, ["titan-tree", "faim"])
    assert list(results.to_frame()["method"]) == ["titan-tree", "faim"]
    assert set(results.to_frame(trace=True).columns) == {"method", "rounds", "sent", "error"}


def lossy(loss: float) -> None:
    compare.run(SMALL, CYCLE, ["robust-ratio"], choices={"robust-ratio": {"loss": loss}})


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "call", "says"),
    [
        (InputError, lambda: compare.run(SMALL, CYCLE, ["exta"]), "no method"),
        (InputError, lambda: compare.run(SMALL, CYCLE, choices={"exta": {}}), "no method"),
        (InputError, lambda: compare.problem("tiny"), "no problem"),
        (InputError, lambda: compare.run(SMALL, Network.cycle(4)), "not the same"),
        (PlanError, lambda: compare.run(SMALL, CYCLE, tolerance=-1.0), "tolerance"),
        (PlanError, lambda: compare.run(SMALL, CYCLE, tolerance=float("nan")), "tolerance"),
        (PlanError, lambda: compare.run(SMALL, CYCLE, budget=0), "budget"),
        (
            PlanError,
            lambda: compare.run(SMALL, CYCLE, ["extra"], choices={"extra": {"loss": 1}}),
            "no choice",
        ),
        (PlanError, lambda: lossy(1.0), "loss of 1"),
        (DataError, lambda: Problem.of("p", [([[1.0]], [1.0])]), "1 parties"),
        (DataError, lambda: Problem.of("p", [([[1.0, 0]], [1.0])] * 2), "do not determine"),
        (DataError, lambda: Problem.of("p", [([[1.0]], [1.0]), ([[np.nan]], [1.0])]), "not finite"),
        (DataError, lambda: Problem.of("p", [([[1.0]], [1.0]), ([[1.0]], [1.0, 2.0])]), "shape"),
    ],
)
def test_bad_input(kind: type[TitanError], call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(kind, match=says):
        call()


def test_every_method_says_what_it_is() -> None:
    names = [method.about.name for method in compare.METHODS]
    assert len(names) == len(set(names)) == 23
    for method in compare.METHODS:
        about = method.about
        assert about.title
        assert about.private
        assert about.reference[-1].isdigit(), about.name
        assert about.requires.in_words()
        module = sys.modules[method.__module__]
        assert module.__doc__, "the equations stand in the docstring"
