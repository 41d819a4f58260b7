"""titan reproduce scaling: how rounds, bytes and time grow."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import options
from titan.cli.output import show_rows
from titan_lab.cli.output import progress_bar
from titan_lab.cli.reproduce.output import Out, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.scaling import Result


def command(
    out: Out = None,
    largest: Annotated[
        int, typer.Option(help="The most parties, ten times more at every step.", min=10)
    ] = 1_000_000,
    json: options.Json = False,
) -> None:
    """How rounds, bytes and time grow with the parties, the entries and the network's diameter.

    Sums run here where that takes seconds, by real agents or by arrays; beyond that, figures follow
    by the plan or by formulas, and every one says which. A minute or two; less with --largest.
    Exit status 1 if a sum or its cost is not what was planned.

    \b
    Example:
      titan reproduce scaling --out results
    """
    from titan_lab.experiments import scaling as experiment
    from titan_lab.experiments.scaling_report import report

    prepare(out)
    with progress_bar("sums") as progress:
        result = experiment.run(largest, progress=progress)
    finish(report(result), out, json, _as_dict(result), lambda: _print(result))


def _as_dict(result: Result) -> dict[str, Any]:
    return {"points": [asdict(point) for point in result.points]}


def _print(result: Result) -> None:
    from titan_lab.experiments.scaling_report import HEADER, lines

    show_rows([HEADER, *lines(result.points)])
    print(
        "\n~ is not measured: it follows from what more is sent than in the largest sum that ran."
    )
