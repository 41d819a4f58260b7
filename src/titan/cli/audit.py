"""titan audit: what left this machine in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titan.cli import options
from titan.cli.output import show_json, show_rows


def command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, its journal or its transcript.")
    ],
    json: options.Json = False,
) -> None:
    """Show every message that left this machine in a run: its link, round and size.

    A folder's journal is looked at, which also knows a run that is not over; where there is none,
    its transcript is, after its signature has been checked.

    \b
    Example:
      titan audit runs/3f2a9c0d1e4b-run1-north
      titan audit transcript.json --json
    """
    from titan.study.audit import audit

    found = audit(run)
    if json:
        show_json(found.as_dict())
        return
    show_rows(found.rows())
    print(found.summary())
