"""titan show: what a run found, again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titan.cli import options
from titan.cli.output import show_json


def command(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run's folder, a rehearsal's --out, or a saved file."),
    ],
    json: options.Json = False,
) -> None:
    """Print what titan join printed, from the file that the run left.

    \b
    Example:
      titan show runs/3f2a9c0d1e4b-run1-north
      titan show kept --json
    """
    from titan.cli import answers
    from titan.joining import load

    results = load(run)
    if json:
        show_json(results.to_dict())
    else:
        answers.show(results)
    answers.refuse_failures(results)
