"""titan status: how the runs of this machine stand, from another terminal or a supervisor."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from titan.cli import options
from titan.cli.log import tell
from titan.cli.output import cell, give, show_rows
from titan.cli.terminal import until_reader_leaves
from titan.errors import FileError, WaitError
from titan.listing import listing
from titan.party.notices import Notice

if TYPE_CHECKING:
    from titan.party.status_file import Status

_AGAIN = ("stopped", "gone")
_WITHOUT = ("refused", "failed", "unreadable")


def command(
    runs: Annotated[
        Path, Argument(metavar="RUNS", help="Where runs are kept, or the folder of one run.")
    ] = Path("runs"),
    json: options.Json = False,
) -> None:
    """Show the state of the runs that are kept here.

    A run is running, serving (it has its answer and stays for others), answered, refused by a rule,
    failed, stopped, gone (its process died), or unreadable (its status.json is missing or cannot be
    read). If it is stopped or gone, the same titan join continues it. Runs that were given up are
    not shown: titan runs list has them.

    \b
    Exit status:
      0   every run is going on or has its answer
      1   a run ended without an answer or is unreadable, or none is here
      75  some run is stopped or gone, whatever others are: titan join goes on

    \b
    Example:
      titan status
      titan status /var/lib/titan/runs --json
    """
    from titan.party.status_file import look

    if not runs.is_dir():
        raise FileError(f"there is no folder {runs}", hint="name the one with titan join's runs")
    one = look(runs)
    folders = sorted(each for each in runs.iterdir() if each.is_dir())
    found = [one] if one else [status for each in folders if (status := look(each))]
    if not found:
        raise FileError(
            f"no run was begun in {runs}, or all were given up",
            hint="name the folder that titan join has",
        )
    answer = {"runs": [status.as_dict() for status in found]}
    with until_reader_leaves():  # the exit status is for somebody else
        give(answer, lambda: show_rows(_rows(found)), json=json)
        sys.stdout.flush()
        for problem in filter(None, (status.problem for status in found)):
            tell(Notice(f"warning: {problem}", "warning"))
    if leave := _exit_status({status.state for status in found}):
        raise typer.Exit(leave)


def _exit_status(states: set[str]) -> int:
    if not states.isdisjoint(_AGAIN):
        return WaitError.exit_status
    return 0 if states.isdisjoint(_WITHOUT) else 1


def _rows(found: Sequence[Status]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "party", "run", "state", "since", "")]
    for status in found:
        told = status.told
        rows.append(
            (
                status.folder.name,
                cell(told["party"]),
                cell(told["run"]),
                status.state,
                "-" if status.problem else str(told["since"])[:19] + "Z",
                _progress(status.state, told),
            )
        )
    return rows


def _progress(state: str, told: dict[str, Any]) -> str:
    if state not in ("running", "serving"):
        return ""
    waiting = f", waiting for {listing(told['waiting'], 4)}" if told["waiting"] else ""
    return f"{told['phase']}{waiting} (process {told['pid']})"
