"""titan reproduce tradeoff: what k costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from titan.cli import options
from titan.cli.output import show_rows
from titan.errors import TitanError
from titan_lab.cli.output import progress_bar
from titan_lab.cli.reproduce.output import Out, Seed, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.tradeoff import Result


def command(out: Out = None, seed: Seed = 1, json: options.Json = False) -> None:
    """Rounds, memory and numbers sent for every k, counted, beside the paper's formulas.

    Real agents, k from 1 to m = 20, on a directed cycle and on a designed network. Exit status 1
    unless all counts equal the formulas.

    \b
    Example:
      titan reproduce tradeoff --out results
    """
    from titan_lab.experiments import tradeoff as experiment
    from titan_lab.experiments.tradeoff_report import report

    prepare(out)
    with progress_bar("runs") as progress:
        result = experiment.run(seed, progress=progress)
    finish(report(result), out, json, _as_dict(result), lambda: _print(result))
    if result.unequal:
        ks = ", ".join(f"k = {count.k} ({count.network})" for count in result.unequal[:5])
        raise TitanError(f"counts differ from the paper's formulas: {ks}")


def _as_dict(result: Result) -> dict[str, Any]:
    return {
        "equal": not result.unequal,
        "m": result.m,
        "d": result.d,
        "counts": [vars(count) for count in result.counts],
    }


def _print(result: Result) -> None:
    from titan_lab.experiments.tradeoff_report import HEADER, lines, verdict

    show_rows([HEADER, *lines(result)])
    print(f"\n{verdict(result)}")
