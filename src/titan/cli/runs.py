"""titan show, audit and verify: what a run left behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from titan.cli import options, survival
from titan.cli.output import (
    give,
    picture_name,
    refuse_failures,
    refuse_run,
    show_results,
    show_rows,
)
from titan.cli.terminal import until_reader_leaves
from titan.errors import FileError, UsageError
from titan.listing import one_of
from titan.release.policy import counted

if TYPE_CHECKING:
    from titan.study.verified import Facts


def show(
    run: Annotated[
        Path, Argument(metavar="RUN", help="A run's folder, a rehearsal's --out, or a saved file.")
    ],
    plot: survival.Picture = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Print what titan join printed, from the files that the run left.

    If this party refused, this says why. The reason is kept here, and no other party has it.

    \b
    Example:
      titan show runs/3f2a9c0d1e4b-run1-north
      titan show kept --json
      titan show kept --plot os.png
    """
    from titan.joining import load
    from titan.release.evidence import refusal_in

    if plot is not None:
        picture_name("--plot", plot)
    results = load(run)
    refuse_run(results, refusal_in(run))
    if plot is not None:
        survival.draw(results, plot, force)
    answer = results.to_dict() | results.of_run()
    give(answer, lambda: show_results(results), json=json)
    refuse_failures(results)


def audit(
    run: Annotated[
        Path, Argument(metavar="RUN", help="A run's folder, its journal or its transcript.")
    ],
    json: options.Json = False,
) -> None:
    """Show every message that left this machine in a run: its link, round and size.

    It reads the journal in the run's folder, even if the run is not over. If there is no journal,
    it reads the transcript, after checking its signature.

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

    with until_reader_leaves():
        give(found.as_dict(), as_text, json=json)


# -- verify -----------------------------------------------------------------------------------


def verify(
    transcripts: Annotated[
        list[Path],
        Argument(metavar="TRANSCRIPT...", help="Transcripts, or runs' folders, of one run."),
    ],
    study: Annotated[
        Path | None, Option(help="The study's file, whose card each signer must have.")
    ] = None,
    pin: Annotated[
        list[str] | None,
        Option(
            help="The fingerprint that the signer's certificate must have; give it again for "
            "each signer."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Check a transcript's form, figures and signature, and show what it says.

    A certificate inside it says who signed it. To check that the certificate is the party's own,
    give the study's file with --study, or a fingerprint that you know from elsewhere with --pin.

    Given several parties' transcripts of one run, it also compares them. They must agree on the
    run, its sums and its end; and for every message between two of them, both ends must agree on
    its size and digest. If they differ, it shows where, and the status is 1.

    \b
    Example:
      titan verify transcript.json --study study.toml
      titan verify runs/3f2a9c0d1e4b-run1-north --study study.toml --json
      titan verify north.json east.json south.json --study study.toml
    """
    from titan.study.audit import transcript_in
    from titan.study.cross_check import cross_check
    from titan.study.verified import verify

    pins = [_fingerprint(each) for each in pin or ()]
    found = [verify(transcript_in(path)) for path in transcripts]
    for path, facts in zip(transcripts, found, strict=True):
        if study is not None:
            _check_study(path, facts, study)
        if pins and facts.fingerprint not in pins:
            raise FileError(
                f"{path} is signed with the certificate {facts.fingerprint}, not {one_of(pins)}",
                hint="somebody else signed it; do not rely on it",
            )
    if len(found) == 1:
        said = str(found[0]) + _who_signed(found, study, pins)
        with until_reader_leaves():
            give(found[0].as_dict(), lambda: print(said), json=json)
        return
    checked = cross_check(found)
    said = str(checked) + _who_signed(found, study, pins)
    with until_reader_leaves():  # the status is the verdict
        give(checked.as_dict(), lambda: print(said), json=json)
    if checked.differences:
        first = checked.differences[0]
        raise FileError(
            f"the transcripts differ in {counted(len(checked.differences), 'thing')}, the first "
            f"between {' and '.join(first.parties)}",
            hint="ask them which is true; do not rely on what they tell differently",
        )


def _fingerprint(text: str) -> str:
    plain = text.lower()
    if not re.fullmatch("[0-9a-f]{64}", plain):
        raise UsageError(f"--pin {text} is not a fingerprint", hint="64 digits from 0 to f")
    return plain


def _who_signed(found: list[Facts], study: Path | None, pins: list[str]) -> str:
    if study is not None:
        names = ", ".join(facts.transcript.party for facts in found)
        those = "that is the certificate" if len(found) == 1 else "those are the certificates"
        return f"\n{those} of {names} in {study}"
    if pins:
        return ""
    if len(found) == 1:
        return "\ncompare it with the study's card of that party: --study study.toml, or --pin"
    return "\ncompare these with the study's cards: --study study.toml, or --pin for each"


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
