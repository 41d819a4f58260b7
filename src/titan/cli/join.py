"""titan join: take part in a study as one of its parties."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from titan.cli import options
from titan.cli.agreeing import agrees, known_keys, new_keys
from titan.cli.checked_rows import files_given
from titan.cli.output import check_save, give, refuse_failures, refuse_run, show_results
from titan.errors import InputError, WaitError

if TYPE_CHECKING:
    from titan.party.engine import Watch
    from titan.party.own_rows import OwnRows
    from titan.party.run import RunProgress
    from titan.party.run_to_answer import Outcome
    from titan.party.taking_part import Party
    from titan.results import Results
    from titan.study import Report


def command(
    study: Annotated[Path, Argument(metavar="STUDY", help="The study's file.")],
    as_: Annotated[str, Option("--as", help="Which of its parties this is.")],
    data: Annotated[
        list[str],
        Option(
            metavar="FILE",
            help="This party's rows: CSV, Parquet or .npz; or NAME=FILE once for every question.",
        ),
    ],
    key: Annotated[Path, Option(help="This party's private key.")],
    run: Annotated[int, Option(help="Which run of the study, from 1.", min=1, max=2**31)] = 1,
    wait: Annotated[
        float, Option(help="Give up after so many seconds without news.", min=0.1)
    ] = 3600.0,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    save: options.Save = None,
    runs: Annotated[
        Path | None, Option(help="Where runs are kept; else runs/ beside the study.")
    ] = None,
    ledger: Annotated[Path | None, Option(help="This party's ledger; else beside its key.")] = None,
    listen: Annotated[
        str | None, Option(help="host:port to listen at, if not as the study says.")
    ] = None,
    allow_differencing: Annotated[
        bool, Option(help="Take part though an earlier study differs by very little.")
    ] = False,
    keep_journal: Annotated[
        bool, Option(help="For rehearsals: do not erase masks when the run is over.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Take part in a study: connect, run the rounds, and end with everybody's answer.

    Shows first what will leave this machine and to whom and whether something in the rows is wrong,
    and asks (titan study check --data looks at the rows beforehand). After a crash, or where others
    were missing, the same command goes on where it stopped. On a run that is over it shows the
    answer again and serves what others still need.

    \b
    Example:
      titan join study.toml --as north --data north.parquet --key north.key
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what matters of it is said in our own words
    from titan.party.engine import Watch
    from titan.party.taking_part import Choices, Party, run_folder
    from titan.study import Identity, Study
    from titan.study.identity import checked_address, on_loopback

    check_save(save, [study, key, *(Path(text.rpartition("=")[2]) for text in data)])
    if listen is not None:
        listen = checked_address(listen)
    found = Study.load(study)
    addresses = [card.address for card in found.parties] + ([] if listen is None else [listen])
    if keep_journal and not all(map(on_loopback, addresses)):
        raise InputError(
            "--keep-journal would leave the masks of a real run on the disk",
            hint="it is for rehearsals, where all addresses are loopback ones: leave it out",
        )
    identity = Identity.load(key, found.card(as_))
    party = Party(
        found,
        identity,
        files_given(found, data),
        folder=run_folder(runs or study.parent / "runs", found, run, as_),
        ledger=ledger or key.with_suffix(".ledger"),
        choices=Choices(run, wait, listen, keep_journal, allow_differencing),
        watch=Watch(_tell),
    )
    report = party.checked()
    known = known_keys(party.ledger)
    if yes:
        for name in new_keys(found, known):
            _tell(f"warning: {name} has another key than in earlier studies")
    else:
        _tell("looking at the rows; nothing is sent")
        party, own = party.look()
        if not agrees(found, report, identity, known, own):
            _decline(party, own)
            raise typer.Exit(1)
    with _watching() as watch:
        party = replace(party, watch=watch)

        def show(results: Results) -> None:
            """As soon as the answer is certain, though this party may stay for others."""
            if not json and len(results.errors) < len(results):
                show_results(results)
                print(f"\nAll parties have this answer; {as_} stays until they have all they need.")

        try:
            outcome = party.take_part(show)
        except KeyboardInterrupt:
            _tell("stopped; what was done is kept, and the same command continues from here")
            raise typer.Exit(WaitError.exit_status) from None
    refuse_run(outcome.results, outcome.refused)
    give(_as_dict(party, outcome, report), lambda: None, json=json, save=save)
    refuse_failures(outcome.results)
    _tell(f"the run is in {outcome.folder}: titan show, audit and verify read it")
    for name in outcome.unconfirmed:
        _tell(f"{name} has not confirmed everything; if it asks, run the same command again")


def _decline(party: Party, own: OwnRows) -> None:
    """Others are told, unless the reason may be in the rows."""
    if own.errors:
        print("Nothing was sent, and nobody was told: mend the rows and give this command again.")
        return
    told = f", but that {party.identity.name} does not take part" if party.decline() else ""
    print(f"Nothing was sent{told}.")


# -- during -----------------------------------------------------------------------------------


@contextmanager
def _watching() -> Iterator[Watch]:
    """A live line on a terminal; in a pipe, one line whenever something changes."""
    from titan.party.engine import Watch

    if not sys.stderr.isatty():
        last = ""

        def line(progress: RunProgress) -> None:
            nonlocal last
            if str(progress) != last:
                last = str(progress)
                _tell(last)

        yield Watch(_tell, line)
        return
    from rich.console import Console

    with Console(stderr=True).status("connecting") as status:
        yield Watch(_tell, lambda progress: status.update(str(progress)))


def _tell(text: str) -> None:
    print(f"titan: {text}", file=sys.stderr, flush=True)


def _as_dict(party: Party, outcome: Outcome, report: Report) -> dict[str, Any]:
    return {
        **outcome.results.to_dict(),
        "dropped": outcome.dropped,
        "parties": list(party.study.network.parties),
        "cost": None if report.cost is None else report.cost.as_dict(),
        "study": party.study.digest,
        "run": party.choices.run,
        "party": party.identity.name,
        "lowered": report.facts["lowered"],
        "folder": str(outcome.folder),
        "started": outcome.started,
        "times": outcome.times,
        "bytes_written": outcome.bytes_written,
    }
