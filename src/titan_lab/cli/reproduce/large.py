"""titan reproduce large: the paper's second experiment."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from titan.cli import options
from titan.cli.output import show_rows
from titan.errors import TitanError
from titan_lab.cli.output import progress_bar
from titan_lab.cli.reproduce.output import Out, Seed, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.large import Result


def command(out: Out = None, seed: Seed = 1, json: options.Json = False) -> None:
    """The paper's second experiment: 100 nodes, 10,000 equations, 1000 rounds of Top-k.

    Then the same sum by flood and tree, all three on a designed network with the same τ, and
    titan.solve: rounds, numbers and bytes sent, memory, time. A minute or two. Exit status 1 if the
    recovery does not take 1000 rounds, the solution is not exact or two recoveries differ.

    \b
    Example:
      titan reproduce large --out results
    """
    from titan_lab.experiments import large as experiment
    from titan_lab.experiments.large_report import report

    prepare(out)
    with progress_bar("runs") as progress:
        result = experiment.run(seed, progress=progress)
    finish(report(result), out, json, _as_dict(result), lambda: _print(result))
    if not result.expected:
        raise TitanError(
            f"the paper's claims did not hold: {result.counted[0].recovery_rounds} rounds of "
            f"recovery, error {result.errors.exact:.1e}"
        )


def _as_dict(result: Result) -> dict[str, Any]:
    return {
        "recovery_rounds": result.counted[0].recovery_rounds,
        "d": result.d,
        "errors": vars(result.errors),
        "error_bound": result.proven,
        "solve_errors": vars(result.solve_errors),
        "networks": {
            name: {
                "links": len(network.senders),
                "diameter": network.diameter,
                "weak_connectivity": network.weak_connectivity,
            }
            for name, network in result.networks.items()
        },
        "runs": [asdict(run) for run in result.runs],
        "counted": [asdict(counted) for counted in result.counted],
    }


def _print(result: Result) -> None:
    from titan_lab.experiments.large_report import COUNTED, HEADER, counted, describe, facts, lines

    print("The paper's second experiment:\n")
    show_rows([("", "paper", "here"), *facts(result)])
    print(f"\nThe same sum by other recoveries. {describe(result)}\n")
    show_rows([HEADER, *lines(result)])
    print("\nTop-k on one entry by real agents, every envelope counted:\n")
    show_rows([COUNTED, *counted(result)])
    print()
