"""Each method gets as near to x*, or to the average, as its theory says, on two networks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from titan import Network
from titan_lab import compare, datasets
from titan_lab.compare import METHODS, Problem, named
from titan_lab.compare.problems import gaussian

from .cases import NETWORKS, after, case

LEAST_SQUARES = ["extra", "diging", "push-diging", "sonata"]
AVERAGES = [
    "average-consensus", "ratio-consensus", "robust-ratio", "private-average", "private-gossip",
]  # fmt: skip
CONSISTENT = ["projection-consensus", "async-projection", "constrained-consensus"]
EXACT = ["titan-topk", "titan-flood", "titan-tree", "faim", "finite-time"]
ELSEWHERE = {
    "private-projection", "fixed-point", "consensus-innovations", "function-sharing",
    "dp-optimisation", "paillier",
}  # fmt: skip

on_two_networks = pytest.mark.parametrize("network", NETWORKS)


def test_no_method_is_left_out() -> None:
    tested = {*LEAST_SQUARES, *AVERAGES, *CONSISTENT, *EXACT, *ELSEWHERE}
    assert tested == {method.about.name for method in METHODS}


@on_two_networks
@pytest.mark.parametrize("method", LEAST_SQUARES)
def test_linear_methods_reach_the_least_squares_solution(method: str, network: str) -> None:
    problem = compare.problem("small", seed=5)
    record = compare.run(problem, NETWORKS[network], [method], budget=6000, tune=False)[method]
    assert record.status == "reached", record
    assert record.error is not None
    assert record.error <= 1e-10


@on_two_networks
@pytest.mark.parametrize("method", AVERAGES)
@pytest.mark.parametrize("name", ["average", "small"])
def test_averaging_reaches_the_average_and_by_it_the_solution(
    method: str, network: str, name: str
) -> None:
    problem = compare.problem(name, seed=2)
    assert compare.run(problem, NETWORKS[network], [method], budget=600)[method].status == "reached"


@on_two_networks
@pytest.mark.parametrize("method", CONSISTENT)
def test_projections_reach_the_solution_of_a_consistent_system(method: str, network: str) -> None:
    problem = compare.problem("small-consistent", seed=2)
    results = compare.run(problem, NETWORKS[network], [method], budget=2000)
    assert results[method].status == "reached"


@on_two_networks
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(
    "problem", [compare.problem("average"), gaussian("narrow", 1, 5, 3, 2)], ids=lambda p: p.name
)
def test_finite_methods_are_exact_in_the_rounds_they_announced(
    method: str, network: str, problem: Problem
) -> None:
    net = NETWORKS[network]
    record = compare.run(problem, net, [method], tolerance=1e-14)[method]
    assert record.status == "reached"
    state = named(method)(case(problem, net, method))
    assert state.rounds_needed == (None if method == "finite-time" else record.rounds)


@on_two_networks
def test_private_projection_reaches_the_solution(network: str) -> None:
    problem = compare.problem("small-consistent", seed=2)
    record = compare.run(problem, NETWORKS[network], ["private-projection"], tolerance=1e-6)
    assert record["private-projection"].status == "reached"


@on_two_networks
def test_the_fixed_point_of_a_dominant_system(network: str) -> None:
    record = compare.run(compare.problem("dominant"), NETWORKS[network], ["fixed-point"])
    assert record["fixed-point"].status == "reached"
    assert record["fixed-point"].rounds < 300


@on_two_networks
@pytest.mark.parametrize("method", ["consensus-innovations", "function-sharing"])
def test_decaying_steps_converge_as_a_power_of_the_rounds(method: str, network: str) -> None:
    """Never to 1e-10, but ever nearer: ten times the rounds take off a good part of the error."""
    problem = compare.problem("small", seed=5)
    state = after(method, problem, NETWORKS[network], 300)
    early = problem.error(state.estimates)
    while state.cost.rounds < 3000:
        state.step()
    late = problem.error(state.estimates)
    assert 1e-8 < late < min(early / 2.5, 0.1)


@on_two_networks
def test_paillier_is_exact(network: str) -> None:
    pytest.importorskip("phe", reason="Paillier is an optional extra: peers")
    choices = {"paillier": {"key_bits": 256}}
    for name in ("average", "small"):
        run = compare.run(
            compare.problem(name), NETWORKS[network], ["paillier"], tolerance=1e-14, choices=choices
        )
        assert run["paillier"].status == "reached"
        assert run["paillier"].bits == 512
        assert "ms to encrypt an entry" in run["paillier"].note


# -- problems -----------------------------------------------------------------------------------


def test_the_papers_problems_have_the_papers_sizes() -> None:
    small, large = compare.problem("small"), compare.problem("large")
    assert (small.m, small.rows.sum(), small.n) == (5, 15, 5)
    assert (large.m, large.rows.sum(), large.n) == (100, 10000, 100)
    entries = np.concatenate([large.stacked[0].reshape(-1), large.stacked[1]])
    assert entries.mean() == pytest.approx(0, abs=0.01)
    assert entries.var() == pytest.approx(2, rel=0.01)
    assert not small.consistent
    assert compare.problem("small-consistent").consistent
    assert compare.problem("dominant").contraction == pytest.approx(0.5)


def test_a_seed_gives_the_same_problem_again() -> None:
    first, again, other = (compare.problem("small", seed) for seed in (3, 3, 4))
    assert np.array_equal(first.stacked[0], again.stacked[0])
    assert not np.array_equal(first.stacked[0], other.stacked[0])


@pytest.mark.parametrize(("name", "parties"), [("ieee14-areas", 3), ("ieee14-buses", 14)])
def test_state_estimation_has_the_certified_angles(name: str, parties: int) -> None:
    problem = compare.problem(name)
    assert problem.m == parties
    reference = json.loads((datasets.path("ieee14") / "reference.json").read_text())
    angles = [float(x) for x in reference["wls_exact"]["theta_rad"].values()]
    assert problem.solution == pytest.approx(angles, rel=1e-11)
    network = Network.cycle(problem.parties)
    assert compare.run(problem, network, ["titan-tree"])["titan-tree"].status == "reached"


def test_an_average_is_the_least_squares_solution() -> None:
    problem = Problem.averaging([[1.0, 4.0], [3.0, 0.0], [5.0, 2.0]])
    assert problem.solution == pytest.approx([3.0, 2.0])
    assert problem.error(np.array([[3.0, 2.0], [3.0, 2.0], [3.0, 2.0 + 13**0.5]])) == pytest.approx(
        1
    )
