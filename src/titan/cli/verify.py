"""titan verify: check a transcript offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from titan.cli.output import show_json
from titan.errors import FileError


def command(
    transcript: Annotated[Path, typer.Argument(metavar="TRANSCRIPT", help="A transcript file.")],
    pin: Annotated[
        str | None, typer.Option(help="The fingerprint that the signer's certificate must have.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a transcript's form, figures and signature, and show what it says."""
    from titan.study.transcript import verify

    facts = verify(transcript)
    if pin is not None and pin.lower() != facts.fingerprint:
        raise FileError(
            f"{transcript} is signed with the certificate {facts.fingerprint}, not {pin.lower()}",
            hint="somebody else signed it; do not rely on it",
        )
    if json:
        show_json(facts.as_dict())
        return
    print(facts)
    if pin is None:
        print("compare it with the study's card of that party, or give it as --pin")
