"""titan reproduce figure2: the paper's first experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from titan.cli import options
from titan.cli.output import show_rows
from titan.errors import TitanError
from titan_lab.cli.reproduce.output import Out, Seed, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.figure2 import Result


def command(out: Out = None, seed: Seed = 1, json: options.Json = False) -> None:
    """The paper's first experiment and its Figure 2: private inputs beside what node 1 received.

    Five nodes on a directed cycle, 15 equations in 5 unknowns, T = k = 5, a = 20: the paper's one
    sum through real agents, and beside it what titan.solve costs. Exit status 1 if it does not take
    6 rounds or the solution is not exact.

    \b
    Example:
      titan reproduce figure2 --out results
    """
    from titan_lab.experiments import figure2 as experiment
    from titan_lab.experiments.figure2_report import report

    prepare(out)
    result = experiment.run(seed)
    finish(report(result), out, json, _as_dict(result), lambda: _print(result))
    if not result.expected:
        raise TitanError(
            f"the paper's claims did not hold: {result.cost.rounds} rounds, "
            f"error {result.errors.exact:.1e}"
        )


def _as_dict(result: Result) -> dict[str, Any]:
    return {
        "rounds": result.cost.rounds,
        "recovery_rounds": result.cost.recovery_rounds,
        "errors": vars(result.errors),
        "error_bound": result.proven,
        "cost": result.cost.as_dict(),
        "private": result.private.tolist(),
        "received": result.received.tolist(),
        "span": result.span,
        "solve": {"cost": result.two_sums.as_dict(), "errors": vars(result.two_sums_errors)},
    }


def _print(result: Result) -> None:
    from titan_lab.experiments.figure2_report import both_ways, facts

    print("The paper's first experiment:\n")
    show_rows([("", "paper", "counted here"), *facts(result)])
    print("\nThe paper's one sum beside titan.solve, which guesses no bound:\n")
    show_rows([("", "one sum", "titan.solve"), *both_ways(result)])
    print()
