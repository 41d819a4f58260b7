"""titan runs: which runs are kept here, and the end of those that are given up."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from titan.cli import options
from titan.cli.help import App
from titan.cli.output import give, show_rows
from titan.errors import BusyError, InputError
from titan.listing import aligned, ruled
from titan.release.policy import counted

if TYPE_CHECKING:
    from titan.study.kept_runs import KeptRun

app = App(
    help="List the runs that are kept here, and erase secrets of runs that are given up.",
)
_SECRETS = {True: "yes", False: "no", None: "?"}
Place = Annotated[Path, Argument(metavar="RUNS", help="A folder of runs, or one run's.")]


@app.command("list")
def list_(place: Place = Path("runs"), json: options.Json = False) -> None:
    """List runs: folder, run and party, how far each is, its age, and whether secrets remain.

    answered: there is an answer. no answer: it ended without one. resumable: the same titan join
    continues it. damaged: the key of its secrets is missing or damaged, so it cannot continue; the
    same titan join tells the others. given up: it cannot continue. running: another process is
    running it. empty: it had not begun when it was left. unreadable: its journal is damaged, or of
    another version, or its folder cannot be read, so that nobody can say whether secrets remain (?,
    in JSON null).

    \b
    Example:
      titan runs list
      titan runs list /srv/titan/runs --json
    """
    from titan.study.kept_runs import kept_runs

    found = kept_runs(place)
    answer = {"runs": [run.as_dict() for run in found]}
    give(answer, lambda: show_rows(_table(found)) if found else print("no runs"), json=json)


@app.command()
def clean(
    place: Place = Path("runs"),
    older_than: Annotated[
        float, Option(help="Only runs that have not changed for so many days.", min=0)
    ] = 0.0,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    json: options.Json = False,
) -> None:
    """Give up runs that still have secrets, or have lost their key: erase the secrets for good.

    The record of what a run sent, learned and signed stays, and so does the ledger. The other
    parties cannot continue the run either: agree with them first, and on the number of the next
    one. A run that is still running is left alone; a line says so, and the status is 75.

    \b
    Example:
      titan runs clean runs/3f2a9c0d1e4b-run1-north
      titan runs clean --older-than 30 --yes
    """
    from titan.study.kept_runs import give_up, kept_runs

    now = datetime.now(UTC)
    before = now - timedelta(days=older_than)
    old = [run for run in kept_runs(place) if run.changed <= before]
    found = [run for run in old if run.may_be_given_up]
    if found and not yes:
        _ask(found)
    left = [run for run in old if run.secrets and run.state == "running"]
    for run in left:
        _tell_left(run)
    for run in found:
        if not give_up(run, now, _tell):
            _tell_left(run)
            left.append(run)
    gone = [str(run.folder) for run in found if not _has_secrets(run)]
    answer = {"cleaned": gone, "running": [str(run.folder) for run in left]}
    give(answer, lambda: print(f"secrets of {counted(len(gone), 'run')} erased"), json=json)
    if left:
        raise typer.Exit(BusyError.exit_status)
    if len(gone) < len(found):
        raise typer.Exit(1)


def _tell(text: str) -> None:
    print(f"titan: {text}", file=sys.stderr)


def _tell_left(run: KeptRun) -> None:
    _tell(f"{run.folder}: another process is at this run, so it is left alone; stop it first")


def _ask(found: list[KeptRun]) -> None:
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on", hint="--yes erases without asking")
    for line in ruled(aligned(_table(found))):
        print(line, file=sys.stderr)
    if not typer.confirm("Give these runs up, and erase their secrets?", err=True):
        raise typer.Exit(1)


def _has_secrets(run: KeptRun) -> bool:
    from titan.study.kept_runs import kept_runs

    return any(each.secrets for each in kept_runs(run.folder))


def _table(found: list[KeptRun]) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [("", "run", "party", "state", "age", "secrets")]
    now = datetime.now(UTC)
    for run in found:
        age, secrets = _age(now - run.changed), _SECRETS[run.secrets]
        number, party = str(run.run or "-"), run.party or "-"
        table.append((str(run.folder), number, party, run.state, age, secrets))
    return table


def _age(passed: timedelta) -> str:
    hours = passed / timedelta(hours=1)
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{max(hours, 0):.0f} h"
