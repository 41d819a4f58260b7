"""titan ledger: what a party has taken part in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from titan.cli import options
from titan.cli.help import App
from titan.cli.output import give, show_pairs
from titan.errors import FileError, InputError, ReleaseError, UsageError

if TYPE_CHECKING:
    from titan.study.ledger import Recorded

app = App(
    help="Show what this party has taken part in, and withdraw what never left.",
)
File = Annotated[
    Path | None,
    Option("--ledger", help="The ledger; else the only one here, or that of the run's party."),
]


@app.command()
def show(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="The ledger; else the only one here.")
    ] = None,
    ledger: Annotated[Path | None, Option("--ledger", help="The same.")] = None,
    json: options.Json = False,
) -> None:
    """Show every run that counts: its study, questions, parties and whether it was vetoed.

    A ledger knows only digests of rows, and never shows them. Runs for which this party's rows
    could not be used count too: for these it knows the columns that were asked about.

    \b
    Example:
      titan ledger show
      titan ledger show keys/north.ledger --json
    """
    from titan.study.ledger import Ledger

    if file is not None and ledger is not None:
        raise UsageError("two ledgers are named", hint="name one: titan ledger show north.ledger")
    place = _the_only_one(file or ledger)
    with Ledger.open(place) as opened:
        runs, refused = opened.recorded(), dict[tuple[str, int], list[str]]()
        for study, number, columns in opened.refusals():
            known = refused.setdefault((study, number), [])
            known += [name for name in columns if name not in known]

    def as_text() -> None:
        for run in runs:
            print(f"{run.title}, run {run.run}")
            show_pairs(_pairs(run))
        for (study, number), columns in refused.items():
            print(f"run {number} of study {study[:12]}: rows that could not be used here")
            show_pairs([("fingerprint", study), ("columns", ", ".join(columns))])
        count = len(runs) + len(refused)
        print(f"{count} run{'' if count == 1 else 's'} in {place}")

    unusable = [{"study": of, "run": n, "columns": names} for (of, n), names in refused.items()]
    answer = {"ledger": str(place), "runs": [_as_dict(run) for run in runs], "refused": unusable}
    give(answer, as_text, json=json)


@app.command()
def withdraw(
    run: Annotated[Path, Argument(metavar="RUN", help="The run's folder.")],
    ledger: File = None,
    json: options.Json = False,
) -> None:
    """Take a run out of the ledger, if its journal proves that no masked vector left.

    Everything that a run sends is in its journal before it leaves. Masks may have left, which are
    random; a masked vector may not.

    \b
    Example:
      titan ledger withdraw runs/3f2a9c0d1e4b-run1-north
      titan ledger withdraw runs/3f2a9c0d1e4b-run1-north --ledger north.ledger
    """
    from titan.study.audit import JOURNAL
    from titan.study.journal import Journal
    from titan.study.kinds import RECOVERY
    from titan.study.ledger import Ledger

    if not run.is_dir():
        raise FileError(
            f'there is no such run: "{run}" is not a folder',
            hint="a run's folder is named in what titan join prints",
        )
    if not (run / JOURNAL).is_file():
        raise ReleaseError(
            f'"{run}" has no {JOURNAL}: nothing proves that no masked vector left',
            hint="a run's folder is named in what titan join prints",
        )
    with Journal.open(run / JOURNAL) as journal:  # nobody goes on with the run meanwhile
        state = journal.state
        if state is None:
            raise FileError(
                f'the journal in "{run}" holds no run yet: there is nothing to withdraw'
            )
        told = f"run {state.run} of study {state.study[:12]}"
        if any(m.sender == state.party and m.kind in RECOVERY for m in journal.messages()):
            raise ReleaseError(
                f"{told} cannot be withdrawn: its journal has masked vectors of {state.party} that "
                "were sent, or may have been",
                hint="what may have left this machine counts, so the run stays in the ledger",
            )
        place = _beside(run, state.party) if ledger is None else _the_only_one(ledger)
        with Ledger.open(place) as opened:
            opened.withdraw(state.study, state.run, state.nonce)
    answer = {"ledger": str(place), "study": state.study, "run": state.run, "withdrawn": True}
    give(answer, lambda: print(f"{told} is no longer in {place}"), json=json)


def _as_dict(run: Recorded) -> dict[str, Any]:
    asked = [{"name": name, "question": said} for name, said in run.questions]
    return {**asdict(run), "parties": list(run.parties), "questions": asked}


def _pairs(run: Recorded) -> list[tuple[str, str]]:
    notes = ["stopped by a veto"] * run.vetoed + ["agreed to differ by a few"] * run.allowed
    return [
        ("fingerprint", run.study),
        *([("recorded", run.date)] if run.date else []),
        ("parties", f"{', '.join(run.parties)} (tau {run.tau})"),
        *[(name, said) for name, said in run.questions],
        *[("note", note) for note in notes],
    ]


def _the_only_one(given: Path | None) -> Path:
    found = sorted(Path().glob("*.ledger")) if given is None else [given]
    if len(found) == 1 and found[0].is_file():
        return found[0]
    where = "here" if given is None else f'at "{given}"'
    what = f"there are {len(found)} ledgers" if len(found) > 1 else "there is no ledger"
    raise InputError(f"{what} {where}", hint=_HINT)


def _beside(run: Path, party: str) -> Path:
    """The ledger of this party: here, or above the run's folder."""
    for folder in (Path(), *run.resolve().parents[:3]):
        if (folder / f"{party}.ledger").is_file():
            return folder / f"{party}.ledger"
    raise InputError(f"the ledger of {party} is not here, nor above the run's folder", hint=_HINT)


_HINT = "name it: --ledger north.ledger; it stands beside the party's key"
