"""What all reproductions have in common on the command line: where files go, and saying so."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan_lab.cli.output import show_json

if TYPE_CHECKING:
    from titan_lab.experiments.report import Report

Out = Annotated[
    Path | None,
    typer.Option(help="A folder for the tables (CSV, Markdown) and pictures; made if absent."),
]
Seed = Annotated[int, typer.Option(help="Of the problem; masks are the operating system's.", min=0)]


def prepare(out: Path | None) -> None:
    """Make the folder first: nothing long is to end in an error about it."""
    from titan_lab.experiments.report import make_folder

    if out is not None:
        make_folder(out)


def finish(
    report: Report,
    out: Path | None,
    json: bool,
    answer: dict[str, Any],
    tell: Callable[[], None],
) -> None:
    """Write the files, then answer: as JSON with seed, versions and files, or in words."""
    from titan_lab.experiments.report import NO_MATPLOTLIB_HINT, Written, write

    written = Written(()) if out is None else write(report, out)
    files = [str(file) for file in written.files]
    if json:
        seed = {} if report.seed is None else {"seed": report.seed}
        made = {"versions": dict(report.versions), "files": files, "missing": written.missing}
        show_json({**answer, **seed, **made})
    else:
        tell()
        if files:
            print(f"Written: {', '.join(files)}")
    if written.missing:
        print(f"titan: note: {written.missing}", file=sys.stderr)
        print(f"titan: hint: {NO_MATPLOTLIB_HINT}", file=sys.stderr)
