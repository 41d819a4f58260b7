"""Small cases for the methods, and running one for some rounds."""

from __future__ import annotations

from typing import Any

from titan import Network
from titan_lab.compare import Case, Method, Problem, both_ways, named
from titan_lab.compare.problems import gaussian

NETWORKS = {"cycle": Network.cycle(5), "random": Network.random(5, out_degree=2, seed=3)}
TRIANGLE = Network.cycle(3)


def tiny(*, consistent: bool = False) -> Problem:
    """Three parties with two equations each in two unknowns."""
    return gaussian("tiny", 4, 3, 2, 2, consistent=consistent)


def case(problem: Problem, network: Network, method: str) -> Case:
    """The network as the method wants it."""
    if named(method).about.requires.undirected:
        network = both_ways(network)
    return Case(problem, network)


def after(method: str, problem: Problem, network: Network, rounds: int, **choices: Any) -> Method:
    """The method's state once it has spent so many rounds."""
    state = named(method)(case(problem, network, method), **choices)
    while state.cost.rounds < rounds and not state.finished:
        state.step()
    return state
