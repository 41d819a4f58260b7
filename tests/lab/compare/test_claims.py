"""What is said about the methods: identities between them, and what the paper warns of."""

from __future__ import annotations

import numpy as np
import pytest

import titan
from tests.streams import ZeroMasks, streams, zeros
from titan import Network
from titan.engines import local
from titan.protocol import Plan
from titan.ring import Ring
from titan_lab import compare
from titan_lab.compare import Case, Problem, both_ways, named
from titan_lab.compare.methods.dp_optimisation import PrivateOptimisation
from titan_lab.compare.methods.faim import Faim
from titan_lab.compare.methods.function_sharing import FunctionSharing
from titan_lab.compare.methods.gossip import Gossip
from titan_lab.compare.methods.recurrence import length

from .cases import NETWORKS, after, case


@pytest.mark.parametrize("network", NETWORKS)
def test_faim_is_topk_with_k_1_and_no_masks(network: str) -> None:
    """The paper's comparison with FAIM: same rounds, same numbers per entry, same recovery."""
    net, values = NETWORKS[network], np.random.default_rng(7).integers(0, 50, (5, 4))
    values[2] = values[1]  # ties go to the larger id
    faim = Faim(Case(Problem.averaging(values), net))
    while not faim.finished:
        faim.step()
    ring = Ring(64)
    plan = Plan.make(net, ring, 4, recovery="topk", k=1)
    secrets = np.stack([ring.from_ints(row.tolist()) for row in values], axis=1)
    with streams(zeros):
        topk = local.run(plan, secrets, source=ZeroMasks)
    assert ring.to_ints(topk.total) == (faim.means[0] * 5).tolist() == values.sum(0).tolist()
    assert faim.cost.rounds == topk.cost.recovery_rounds
    recovery = topk.cost.numbers_sent.array - net.out_degree * 5  # without the masks
    assert (faim.cost.sent * 5 == recovery * 4).all(), "four entries, and a carried 1 in TITAN's"
    assert np.array_equal(np.stack(faim.recovered), np.sort(values, axis=0)[::-1])


@pytest.mark.parametrize("network", NETWORKS)
def test_constrained_consensus_with_equal_weights_is_projection_consensus(network: str) -> None:
    problem = compare.problem("small-consistent", seed=3)
    here = Case(problem, both_ways(NETWORKS[network]))
    one = named("projection-consensus")(here)
    other = named("constrained-consensus")(here, weights="equal")
    metropolis = named("constrained-consensus")(here)
    apart = 0.0
    for _ in range(30):
        for method in (one, other, metropolis):
            method.step()
        assert one.estimates == pytest.approx(other.estimates, abs=1e-12)
        apart = max(apart, float(np.abs(one.estimates - metropolis.estimates).max()))
    if network == "random":  # on a cycle all degrees are equal, and so are the weights
        assert apart > 1e-3


def test_projection_iterates_solve_their_own_equations_all_the_time() -> None:
    problem = compare.problem("small-consistent", seed=3)
    for name in ("projection-consensus", "async-projection"):
        state = after(name, problem, NETWORKS["cycle"], 7)
        for A, b, x in zip(problem.A, problem.b, state.estimates, strict=True):
            assert A @ x == pytest.approx(b, abs=1e-12)


def test_the_modulo_of_an_inexact_average_may_be_off_by_all_of_it() -> None:
    """The paper, Section on comparison: a modulo after inexact consensus amplifies errors.

    All inputs are 0 and a = 20: each party's average should be 0; some parties find 20, though
    the iterates themselves agree to six digits.
    """
    zeros = Problem.averaging(np.zeros(5))
    errors = []
    for seed in range(4):
        state = after("private-average", zeros, NETWORKS["cycle"], 30, bound=20.0, seed=seed)
        errors += state.estimates[:, 0].tolist()
    off = np.array(errors) > 10
    assert 0 < off.sum() < len(errors)
    assert np.array(errors)[off] == pytest.approx(20.0, abs=1e-5)
    assert np.array(errors)[~off] == pytest.approx(0.0, abs=1e-5)
    assert titan.average(np.zeros(5), NETWORKS["cycle"], bound=20).value == 0


def test_private_average_masks_hide_and_cancel() -> None:
    """Masked inputs differ from run to run, their sum modulo m·a does not."""
    problem = Problem.averaging([3.0, 1.0, 4.0, 1.0, 5.0])
    one, other = (
        after("private-average", problem, NETWORKS["cycle"], 1, seed=seed, bound=8.0)
        for seed in (1, 2)
    )
    masked = [state.x for state in (one, other)]  # type: ignore[attr-defined]
    assert np.abs(masked[0] - masked[1]).min() > 1e-3
    assert [x.sum() % 40 for x in masked] == pytest.approx([14.0, 14.0])


@pytest.mark.parametrize("loss", [0.0, 0.5])
def test_running_sums_survive_lost_packets(loss: float) -> None:
    problem = compare.problem("average", seed=4)
    results = compare.run(
        problem,
        NETWORKS["random"],
        ["robust-ratio"],
        budget=2000,
        choices={"robust-ratio": {"loss": loss}},
    )
    assert results["robust-ratio"].status == "reached"
    assert results["robust-ratio"].note == f"{loss:.0%} of packets lost"


def test_plain_ratio_consensus_does_not_survive_lost_packets() -> None:
    """A dumb twin without running sums: what is lost is lost, and the limit is another."""
    problem, net = compare.problem("average", seed=4), NETWORKS["random"]
    rng, y = np.random.default_rng(0), np.array([[b[0], 1.0] for b in problem.b])
    for _ in range(60):
        share = y / (1 + net.out_degree[:, None])
        y = share.copy()
        for s, r in zip(net.senders, net.receivers, strict=True):
            y[r] += share[s] * (rng.random() >= 0.5)
    assert problem.error(y[:, :1] / y[:, 1:]) > 1e-3


def test_without_loss_running_sums_are_ratio_consensus() -> None:
    problem = compare.problem("average", seed=4)
    robust = after("robust-ratio", problem, NETWORKS["random"], 25, loss=0.0)
    plain = after("ratio-consensus", problem, NETWORKS["random"], 25)
    assert robust.estimates == pytest.approx(plain.estimates, rel=1e-12)


def test_scrambling_keeps_the_sum_and_hides_the_values() -> None:
    values = np.arange(5.0)[:, None]
    here = case(Problem.averaging(values), NETWORKS["cycle"], "private-gossip")
    state = named("private-gossip")(here, seed=3)
    gossip = state.gossip  # type: ignore[attr-defined]
    assert isinstance(gossip, Gossip)
    while gossip.scrambling:
        state.step()
        assert gossip.x.sum() == pytest.approx(10.0)
    assert np.abs(gossip.x - values).min() > 1e-3


def test_shared_functions_cancel_in_the_sum() -> None:
    here = case(compare.problem("small"), NETWORKS["random"], "function-sharing")
    state = FunctionSharing(here)
    assert state.gram.sum(0) == pytest.approx(here.gram.sum(0), abs=1e-10)
    assert state.moment.sum(0) == pytest.approx(here.moment.sum(0), abs=1e-10)
    assert np.abs(state.gram - here.gram).max() > 1
    assert np.linalg.eigvalsh(state.gram).min() < 0, "nobody's own function need be convex"


# -- differential privacy -----------------------------------------------------------------------


def plateau(epsilon: float, seed: int = 0, network: str = "cycle") -> float:
    problem = compare.problem("small", seed=5)
    here = case(problem, NETWORKS[network], "dp-optimisation")
    state = PrivateOptimisation(here, seed=seed, epsilon=epsilon)
    while not state.finished:
        state.step()
    before = state.estimates.copy()
    for _ in range(50):
        state.step()
    assert state.estimates == pytest.approx(before, abs=1e-12), "nothing moves any more"
    return problem.error(state.estimates)


@pytest.mark.parametrize("network", NETWORKS)
def test_differentially_private_optimisation_stops_short_without_any_noise(network: str) -> None:
    assert 1e-4 < plateau(np.inf, network=network) < 0.5
    assert plateau(1e9, network=network) == pytest.approx(plateau(np.inf, network=network), rel=0.1)
    assert plateau(1.0, network=network) > plateau(np.inf, network=network)


def test_error_grows_as_epsilon_falls() -> None:
    """The trade-off that TITAN does not have."""
    medians = [
        float(np.median([plateau(epsilon, seed) for seed in range(5)]))
        for epsilon in (1e6, 1e4, 1e3, 1e2)
    ]
    assert medians == sorted(medians)
    assert medians[0] == pytest.approx(plateau(np.inf), rel=0.05)
    assert medians[-1] > 2 * medians[0]


def test_the_noise_spends_epsilon_in_all() -> None:
    """Σ 2G√n γ_t / M_{t+1} with the scales that are used."""
    here = case(compare.problem("small", seed=5), NETWORKS["cycle"], "dp-optimisation")
    state = PrivateOptimisation(here, epsilon=0.7, q=0.9, p=0.95)
    R = 2 * np.linalg.norm(here.problem.solution)
    G = here.smoothness * R + np.linalg.norm(here.moment, axis=1).max()
    t = np.arange(2000)
    spent = 2 * G * np.sqrt(5) * state.alpha * 0.9**t / (state.noise * 0.95 ** (t + 1))
    assert spent.sum() == pytest.approx(0.7)


# -- recurrences --------------------------------------------------------------------------------


def test_the_shortest_recurrence() -> None:
    from flint import fmpq

    fibonacci = [1, 1]
    while len(fibonacci) < 12:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert length([fmpq(x) for x in fibonacci]) == 2
    assert length([fmpq(1, 3**k) for k in range(6)]) == 1
    assert length([fmpq(0)] * 5) == 0
    assert length([fmpq(k * k) for k in range(9)]) == 3


def test_finite_time_waits_until_everything_can_have_arrived() -> None:
    """Only the far party has an equation for the second unknown: at first its path shows zeros."""
    eye = np.eye(2)
    parts = [(eye[:1], [1.0]), (eye[:1], [2.0]), (eye[:1], [4.0]), (eye, [3.0, 5.0])]
    problem = Problem.of("far", parts)
    path = Network([("1", "2"), ("2", "3"), ("3", "4"), ("4", "3"), ("3", "2"), ("2", "1")])
    record = compare.run(problem, path, ["finite-time"], tolerance=1e-14)["finite-time"]
    assert record.status == "reached"
