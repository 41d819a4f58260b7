"""titan join: take part in a study as one of its parties."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from titan.cli import log, options, passphrases
from titan.cli.agreeing import agrees, miss_ledger, warn_of_another
from titan.cli.checked_rows import named
from titan.cli.importing import collecting_nothing, import_meanwhile
from titan.cli.log import tell
from titan.cli.output import (
    check_save,
    give,
    refuse_failures,
    refuse_inputs,
    refuse_run,
    show_results,
)
from titan.cli.rows_options import RowsFrom
from titan.cli.stopping import ends_with_a_word
from titan.cli.terminal import not_shown, outlive_terminal
from titan.errors import FileError, InputError, WaitError, about
from titan.held_signals import release
from titan.party.notices import Notice

if TYPE_CHECKING:
    from titan.party.engine import Watch
    from titan.party.own_rows import OwnRows
    from titan.party.part_using import UsedPart
    from titan.party.run import RunProgress
    from titan.party.run_to_answer import Outcome
    from titan.party.taking_part import Party
    from titan.study import Report, Study


@ends_with_a_word()
@options.grouped
def command(
    study: Annotated[
        Path, Argument(metavar="STUDY", envvar="TITAN_JOIN_STUDY", help="The study's file.")
    ],
    as_: Annotated[
        str, Option("--as", envvar="TITAN_JOIN_AS", help="Which of its parties this is.")
    ],
    key: Annotated[Path, Option(help="This party's private key.")],
    *,
    data: Annotated[
        list[str] | None,
        Option(
            metavar="FILE",
            help="This party's rows: CSV, Parquet or .npz, a folder of Parquet files, or a pattern "
            "such as 'rows/*.parquet'; or NAME=FILE once for every question.",
        ),
    ] = None,
    part: Annotated[
        Path | None,
        Option(
            help="What titan prepare made of them; with --data if a question reads them again.",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    where: RowsFrom,
    csv: options.Csv,
    passphrase_file: options.PassphraseFile = None,
    run: Annotated[
        int,
        Option(
            help="Which run of the study, from 1.", min=1, max=2**31, rich_help_panel=options.MORE
        ),
    ] = 1,
    wait: Annotated[
        float, Option(help="Give up after so many seconds without news.", min=0.1)
    ] = 3600.0,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    save: options.Save = None,
    force: options.Force = False,
    runs: Annotated[
        Path | None,
        Option(
            help="Where runs are kept; else runs/ beside the study.", rich_help_panel=options.PLACES
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        Option(help="This party's ledger; else beside its key.", rich_help_panel=options.PLACES),
    ] = None,
    new_ledger: Annotated[
        bool,
        Option(
            "--new-ledger",
            help="Begin a new ledger though the one that this key was used with is gone.",
            rich_help_panel=options.PLACES,
        ),
    ] = False,
    listen: Annotated[
        str | None,
        Option(
            help="host:port to listen at, if not the study's address; 0.0.0.0:port for all.",
            metavar="HOST:PORT",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        Option(
            help="Dial through this HTTP proxy (CONNECT); else https_proxy or all_proxy says.",
            metavar="http://HOST:PORT",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    allow_differencing: Annotated[
        bool,
        Option(
            "--allow-differencing",
            help="Take part though an earlier study differs by very little.",
            rich_help_panel=options.RELEASE,
        ),
    ] = False,
    keep_journal: Annotated[
        bool,
        Option(
            "--keep-journal",
            help="For rehearsals: do not erase masks when the run is over.",
            rich_help_panel=options.MORE,
        ),
    ] = False,
    log_format: Annotated[
        str | None,
        Option(
            help="plain, text or json. [default: plain on a terminal, else text]",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Take part in a study: connect, run the rounds, and end with everybody's answer.

    It first shows what will leave this machine, to whom, and whether anything in the rows is wrong,
    and asks. (titan study check --data checks the rows in advance.) After a crash, or if others
    were missing, the same command continues where it stopped. If the run is over, it asks nothing,
    shows the answer again and sends what others still need.

    Ctrl-C, SIGTERM and SIGHUP stop it cleanly, with status 75; under nohup it keeps running.

    \b
    Exit status:
      0   the answer was shown or saved
      1   there is no answer, unless a file is corrected first
      2   the command line is wrong
      3   a rule of release refuses
      75  try again later: the same command continues

    \b
    Example:
      titan join study.toml --as north --data north.parquet --key north.key
      titan join study.toml --as north --part north.part --key north.key
      titan join study.toml --as north --key north.key \\
        --sql "select age, sex, y from visits" --from duckdb:hospital.db
    """
    outlive_terminal()
    chosen = log.use(log_format)
    release()  # what came while the program was loaded is answered in this format
    with collecting_nothing():
        from titan.cli.own_places import refuse_own
        from titan.party.proxies import Proxies
        from titan.party.run_events import Watch
        from titan.party.taking_part import Choices, Party, run_folder
        from titan.study import Identity, Study
        from titan.study.identity import checked_address, on_loopback
        from titan.study.known_keys import known_keys, new_keys

    with about("proxy"):
        Proxies.of(proxy, {})  # which is read before anything else is done
    rows_given = part is None or bool(data) or where.sql is not None
    if rows_given:
        where.check(data, "--data")
    with about("listen"):
        listen = None if listen is None else checked_address(listen)
    found = Study.load(study)
    with about("as_"):
        card = found.card(as_)
    folder = run_folder(runs or study.parent / "runs", found, run, as_)
    ledger = ledger or key.parent / f"{key.stem}.ledger"  # whatever was typed as the key
    if save is not None:
        beside = [file for file in (part, passphrase_file) if file is not None]
        refuse_own(save, folder, key, ledger, card.fingerprint)
        refuse_inputs(save, [study, key, *named(data), *where.read, *beside])
        check_save(save, (), force or _is_of_run(save, found.digest, run, as_))
    rows = where.of_party(found, data, csv) if rows_given else None
    addresses = [card.address for card in found.parties if not card.dials_only]
    addresses += [] if listen is None else [listen]
    if keep_journal and not all(map(on_loopback, addresses)):
        raise InputError(
            "--keep-journal would leave the masks of a real run on the disk",
            hint="it is for rehearsals, where all addresses are loopback ones: leave it out",
        )
    used = None if part is None else _used_part(part, found, as_, rows)
    passphrase = passphrases.opening(key, passphrase_file)
    identity = Identity.load(key, card, passphrase=passphrase)
    party = Party(
        found,
        identity,
        rows if used is None else used.rows(rows),
        folder=folder,
        ledger=ledger,
        choices=Choices(run, wait, listen, keep_journal, allow_differencing, proxy),
        key=key,
        watch=Watch(tell),
        part=used,
        meanwhile=partial(import_meanwhile, "titan.party.run_to_answer"),
    )
    mine = key, party.ledger, card.fingerprint
    if not new_ledger:
        miss_ledger(*mine, ask=not yes)
    report = party.checked()
    known = known_keys(party.ledger)
    if yes:
        warn_of_another(*mine, ask=False)
        for name in new_keys(found, known):
            text = f"warning: {name} has another key than in earlier studies"
            tell(Notice(text, "warning", "key"))
    elif not party.over:  # what has left has left, and the answer is this party's
        warn_of_another(*mine, ask=True)
        tell("looking at the rows; nothing is sent")
        try:
            party, own = party.look()
            agreed = agrees(found, report, identity, known, own)
        except (KeyboardInterrupt, typer.Abort):  # Ctrl-C, or Ctrl-D: neither yes nor no
            print(file=sys.stderr)  # the prompt's line is not over
            told = "nothing was sent, and nobody was told: the same command asks again"
            raise KeyboardInterrupt(told) from None
        if not agreed:
            _decline(party, own)
            raise typer.Exit(1)
    kept = "what was done is kept, and the same command continues from here"
    with _watching(found.network.parties, as_, live=chosen == "plain") as watch:
        party = replace(party, watch=watch)

        def show(outcome: Outcome) -> None:
            """As soon as the answer is certain, though this party may stay for others."""
            nonlocal kept
            if len(outcome.results.errors) == len(outcome.results):
                return
            kept = f"the answer is in {outcome.folder}, and the same command serves who needs more"
            try:
                give(_as_dict(party, outcome, report), lambda: None, json=False, save=save)
            except FileError as error:
                text = f"warning: {error.message}; it is tried once more at the end"
                tell(Notice(text, "warning", "save"))
            if not json:
                show_results(outcome.results)
                print(f"\nAll parties have this answer; {as_} stays until they have all they need.")

        try:
            outcome = party.take_part(show)
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise KeyboardInterrupt(kept) from None
    refuse_run(outcome.results, outcome.refused)
    try:
        give(_as_dict(party, outcome, report), lambda: None, json=json, save=save)
    except KeyboardInterrupt:
        kept = f"the answer is in {outcome.folder}: titan show prints it"
        raise KeyboardInterrupt(kept) from None
    refuse_failures(outcome.results)
    text = f"the run is in {outcome.folder}: titan show, audit and verify read it"
    tell(Notice(text, event="answered"))
    if save is None and (why := not_shown()):
        text = f"the answer could not be written to standard output: {why}; titan show prints it"
        tell(Notice(text, "error", "output"))
        raise typer.Exit(WaitError.exit_status)
    for name in outcome.unconfirmed:
        text = f"{name} has not confirmed everything; if it asks, run the same command again"
        tell(Notice(text, "warning", "unconfirmed"))


def _used_part(part: Path, study: Study, name: str, rows: Any) -> UsedPart:
    from titan.party.part_using import UsedPart

    return UsedPart.load(part, study, name, rows)


def _is_of_run(save: Path, study: str, run: int, name: str) -> bool:
    """Whether this command wrote it before, since the same one goes on where it stopped."""
    if not save.is_file():  # of a pipe or a device the bytes may never end
        return False
    try:
        told = loads(save.read_bytes())
        return (told["study"], told["run"], told["party"]) == (study, run, name)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def _decline(party: Party, own: OwnRows) -> None:
    """Others are told, unless the reason may be in the rows."""
    if own.errors:
        print("Nothing was sent, and nobody was told: mend the rows and give this command again.")
        return
    told = f", but that {party.identity.name} does not take part" if party.decline() else ""
    print(f"Nothing was sent{told}.")


# -- during -----------------------------------------------------------------------------------


@contextmanager
def _watching(parties: Sequence[str], me: str, *, live: bool = True) -> Iterator[Watch]:
    """Live lines on a terminal; in a pipe, one line whenever something changes."""
    from titan.cli.progress_lines import ProgressLines, live_text
    from titan.party.run_events import Watch

    if not live or not sys.stderr.isatty():
        yield Watch(tell, ProgressLines(tell))
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("connecting") as status:
        # it takes stdout along, so that an answer would go to stderr; it ends before there is one
        def show(progress: RunProgress) -> None:
            status.update(escape(live_text(progress, parties, me)))

        yield Watch(tell, show, status.stop)


def _as_dict(party: Party, outcome: Outcome, report: Report) -> dict[str, Any]:
    return {
        **outcome.results.to_dict(),
        **outcome.results.of_run(),
        "dropped": outcome.dropped,
        "party": party.identity.name,
        "lowered": report.facts["lowered"],
        "folder": str(outcome.folder),
        "started": outcome.started,
        "times": outcome.times,
        "bytes_written": outcome.bytes_written,
    }
