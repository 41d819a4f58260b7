"""titan prepare: make a party's part of a study where its rows lie, to join from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from titan.cli import checked_rows, options
from titan.cli.output import (
    ask_before_replacing,
    check_writable,
    give,
    refuse_inputs,
    show_pairs,
    show_wrapped,
)
from titan.cli.rows_options import RowsFrom
from titan.errors import FileError, UsageError, about

if TYPE_CHECKING:
    from titan.party.own_rows import OwnRows
    from titan.party.part_file import PartFile
    from titan.study import Study
    from titan.study.row_digests import RowKey


@options.grouped
def command(
    study: Annotated[Path, Argument(metavar="STUDY", help="The study's file.")],
    out: Annotated[Path, Option(help="The part to write, such as north.part.")],
    *,
    data: Annotated[
        list[str] | None,
        Option(
            metavar="FILE",
            help="This party's rows, as titan join takes them: a file, a folder of Parquet files, "
            "a pattern such as 'rows/*.parquet'; or NAME=FILE once for every question.",
        ),
    ] = None,
    where: RowsFrom,
    as_: Annotated[
        str | None,
        Option(
            "--as",
            envvar="TITAN_PREPARE_AS",
            help="Whose rows they are. [default: as --out is called]",
        ),
    ] = None,
    csv: options.Csv,
    ledger: Annotated[
        Path | None,
        Option(help="This party's ledger, or a copy: needed where it has been in studies before."),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Read the rows where they are, and save what a study's questions need. Nothing is sent.

    titan join --part then starts at once, on a machine that has no rows. The part holds counts,
    moments, the digests for the ledger, and the few rows that could stand out. Some questions read
    the rows again (logistic and Poisson regression, HC0 to HC3 errors): these are named, and join
    needs --data for them too.

    The part is for this study's file as it is now. It is as secret as the rows, and readable by you
    alone. Exit status 1 where the rows cannot be used, 3 where their party would veto.

    \b
    Example:
      titan prepare study.toml --data 'rows/*.parquet' --out north.part
      titan join study.toml --as north --part north.part --key north.key
    """
    from titan.party.own_rows import look
    from titan.party.part_file import save
    from titan.party.part_making import PartMaker
    from titan.party.taking_part import checked
    from titan.study import Study

    where.check(data, "--data")
    refuse_inputs(out, [study, *checked_rows.named(data), *where.read])
    check_writable(out)
    force = ask_before_replacing([out], force)
    found = Study.load(study)
    checked(found)
    party, rows = _party(found, as_, out), where.of_party(found, data, csv)
    maker = PartMaker(found, party, *_ledger(found, ledger))
    own = look(found, rows, maker.parts, most=0)
    if own.first is None:
        part = maker.part()
        own = _looked_at(found, part, own)
    if own.first is not None:
        checked_rows.show_findings(own)
        raise typer.Exit(own.exit_status)
    size = save(part, out, force=force)
    answer = {
        "part": str(out),
        "party": party,
        "study": found.digest,
        "bytes": size,
        "rows_needed_again": dict(part.again),
        "own_rows": checked_rows.as_dict(own),
    }
    give(answer, lambda: _print(out, party, size, part, own), json=json)


def _party(study: Study, name: str | None, out: Path) -> str:
    if name is None and out.stem not in study.network.parties:
        raise UsageError(
            f"--out {out} is not called like a party of the study",
            hint=f"--as says whose rows they are: {', '.join(study.network.parties)}",
        )
    party = out.stem if name is None else name
    with about("as_"):
        study.card(party)  # refuses who is not a party
    return party


def _ledger(study: Study, path: Path | None) -> tuple[RowKey, list[str]]:
    """How the ledger looks at rows, and what it was asked; without one, a key of its own."""
    from titan.protocol.masking import fresh_key
    from titan.study.ledger import Ledger
    from titan.study.row_digests import RowKey

    if path is None:
        return RowKey(fresh_key()), []
    if not path.exists():
        raise FileError(
            f"there is no ledger at {path}",
            hint="it lies beside the party's key; one that was in no study yet needs none",
        )
    with Ledger.open(path) as ledger:
        return ledger.row_key, ledger.asked(study.digest, 1)


def _looked_at(study: Study, part: PartFile, own: OwnRows) -> OwnRows:
    """As `join` will look at it; where it needs the rows, it will look at these."""
    from titan.party.own_rows import look
    from titan.party.part_using import UsedPart

    if part.again:
        return own
    used = UsedPart("the part", part, study, has_rows=False)

    return look(
        study,
        used.rows(None),
        lambda rows: used.prepare(study, 1, rows, part.key, part.asked)[0],
    )


def _print(out: Path, party: str, size: int, part: PartFile, own: OwnRows) -> None:
    checked_rows.show_counts(own)
    show_pairs([("part", f"{out}, {size:,} bytes, of {party}"), ("study", part.study)])
    if not part.again:
        show_wrapped("join needs no rows: ", f"titan join … --as {party} --part {out}")
        return
    why = ", ".join(f"{name} ({reason})" for name, reason in part.again.items())
    show_wrapped("join needs the rows again: ", f"for {why}; --part {out} --data FILE")
