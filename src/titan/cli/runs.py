"""titan show, audit and verify: what a run left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from titan.cli import options
from titan.cli.output import give, refuse_failures, refuse_run, show_results, show_rows
from titan.errors import FileError

if TYPE_CHECKING:
    from titan.study.transcript import Facts


def show(
    run: Annotated[
        Path, Argument(metavar="RUN", help="A run's folder, a rehearsal's --out, or a saved file.")
    ],
    json: options.Json = False,
) -> None:
    """Print what titan join printed, from the files that the run left.

    Where this party refused, that is why: it is kept here, and no other party has it.

    \b
    Example:
      titan show runs/3f2a9c0d1e4b-run1-north
      titan show kept --json
    """
    from titan.joining import load
    from titan.release.evidence import refusal_in

    results = load(run)
    refuse_run(results, refusal_in(run))
    give(results.to_dict(), lambda: show_results(results), json=json)
    refuse_failures(results)


def audit(
    run: Annotated[
        Path, Argument(metavar="RUN", help="A run's folder, its journal or its transcript.")
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

    def as_text() -> None:
        show_rows(found.rows())
        print(found.summary())

    give(found.as_dict(), as_text, json=json)


# -- verify -----------------------------------------------------------------------------------


def verify(
    transcript: Annotated[
        Path, Argument(metavar="TRANSCRIPT", help="A transcript, or a run's folder.")
    ],
    study: Annotated[
        Path | None, Option(help="The study's file, whose card the signer must have.")
    ] = None,
    pin: Annotated[
        str | None, Option(help="The fingerprint that the signer's certificate must have.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Check a transcript's form, figures and signature, and show what it says.

    Who signed it is told by a certificate inside it. Whether that is the party's own is checked
    against the study's card with --study, or against a fingerprint known otherwise with --pin.

    \b
    Example:
      titan verify transcript.json --study study.toml
      titan verify runs/3f2a9c0d1e4b-run1-north --study study.toml --json
    """
    from titan.study.audit import transcript_in
    from titan.study.transcript import verify

    facts = verify(transcript_in(transcript))
    if study is not None:
        _check_study(transcript, facts, study)
    if pin is not None and pin.lower() != facts.fingerprint:
        raise FileError(
            f"{transcript} is signed with the certificate {facts.fingerprint}, not {pin.lower()}",
            hint="somebody else signed it; do not rely on it",
        )
    said = str(facts)
    if study is not None:
        said += f"\nthat is the certificate of {facts.transcript.party} in {study}"
    elif pin is None:
        said += "\ncompare it with the study's card of that party: --study study.toml, or --pin"
    give(facts.as_dict(), lambda: print(said), json=json)


def _check_study(path: Path, facts: Facts, file: Path) -> None:
    """Of this study, by one of its parties, with that party's certificate."""
    from titan.study import Study

    study, said = Study.load(file), facts.transcript
    if said.study != study.digest:
        raise FileError(
            f"{path} is of study {said.study[:12]}, and {file} is study {study.digest[:12]}",
            hint="a study that was edited is another study",
        )
    if set(said.nonces) != set(study.network.parties) or said.party not in said.nonces:
        raise FileError(f"{path} names other parties than {file}", hint="do not rely on it")
    pinned = study.card(said.party).fingerprint
    if pinned != facts.fingerprint:
        raise FileError(
            f"{path} is signed with the certificate {facts.fingerprint}, and that of "
            f'"{said.party}" in {file} is {pinned}',
            hint="somebody else signed it; do not rely on it",
        )
