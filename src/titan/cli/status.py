"""titan status: how the runs of this machine stand, from another terminal or a supervisor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from titan.cli import options
from titan.cli.output import give, show_rows
from titan.errors import FileError, WaitError
from titan.listing import listing

if TYPE_CHECKING:
    from titan.party.status_file import Status

_AGAIN = ("stopped", "gone")
_WITHOUT = ("refused", "failed")


def command(
    runs: Annotated[
        Path, Argument(metavar="RUNS", help="Where runs are kept, or the folder of one run.")
    ] = Path("runs"),
    json: options.Json = False,
) -> None:
    """Show the state of the runs that are kept here.

    A run is running, serving (it has its answer and stays for others), answered, refused by a rule,
    failed, stopped, or gone (its process died). If it is stopped or gone, the same titan join
    continues it.

    \b
    Exit status:
      0   every run is going on or has its answer
      1   a run ended without an answer, or there is no run here
      75  some run is stopped or gone: the same titan join goes on

    \b
    Example:
      titan status
      titan status /var/lib/titan/runs --json
    """
    from titan.party.status_file import read

    if not runs.is_dir():
        raise FileError(f"there is no folder {runs}", hint="name the one with titan join's runs")
    one = read(runs)
    folders = sorted(each for each in runs.iterdir() if each.is_dir())
    found = [one] if one else [status for each in folders if (status := read(each))]
    if not found:
        raise FileError(f"no run was begun in {runs}", hint="name the folder that titan join has")
    answer = {"runs": [status.as_dict() for status in found]}
    give(answer, lambda: show_rows(_rows(found)), json=json)
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
                str(told["party"]),
                str(told["run"]),
                status.state,
                str(told["since"])[:19] + "Z",
                _progress(status.state, told),
            )
        )
    return rows


def _progress(state: str, told: dict[str, Any]) -> str:
    if state not in ("running", "serving"):
        return ""
    waiting = f", waiting for {listing(told['waiting'], 4)}" if told["waiting"] else ""
    return f"{told['phase']}{waiting} (process {told['pid']})"
