"""titan audit: what left this machine in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titan.cli.output import show_json, show_rows


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's journal or transcript.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every message that left this machine in a run: its link, round and size."""
    from titan.study.audit import audit

    found = audit(run)
    if json:
        show_json(found.as_dict())
        return
    show_rows(found.rows())
    print(found.summary())
