"""Every method that the paper compares with, and TITAN itself, on one bench.

    from titan import Network
    from titan_lab import compare

    problem = compare.problem("small", seed=1)
    results = compare.run(problem, Network.cycle(problem.parties), ["titan-tree", "extra"])
    results["extra"].rounds, results.to_csv(), results.to_frame()

All run in this process, as whole-network iterations, with seeded randomness: a bench, not a way to
hide anything. TITAN alone goes through the engine that hides, with masks from the system.
"""

from titan_lab.compare.case import Case, both_ways
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.methods import METHODS
from titan_lab.compare.problem import Problem
from titan_lab.compare.problems import names as problem_names
from titan_lab.compare.problems import problem
from titan_lab.compare.records import Record, Results
from titan_lab.compare.runner import named, run

__all__ = [
    "METHODS",
    "About",
    "Case",
    "Method",
    "Problem",
    "Record",
    "Requires",
    "Results",
    "both_ways",
    "named",
    "problem",
    "problem_names",
    "run",
]
