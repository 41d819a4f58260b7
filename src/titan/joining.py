"""Real runs in Python: take part as one party, and read what a run left."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import FileError, InputError
from titan.moments.csv_format import RowsFile
from titan.results import Results, decode
from titan.results.result_file import NAME, checked_path, read_file
from titan.ring.whole import real_number, whole_number
from titan.study import Identity, Study
from titan.study.audit import JOURNAL, TRANSCRIPT
from titan.study.identity import checked_address
from titan.study.key_file import Passphrase
from titan.study.key_use import ledger_gone
from titan.study.verified import verify

MOST_RUNS = 2**31


def join(
    study: Study | str | PathLike[str],
    name: str,
    data: Any = None,
    *,
    key: str | PathLike[str],
    passphrase: Passphrase = None,
    run: int = 1,
    runs: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | None = None,
    listen: str | None = None,
    wait: float = 3600.0,
    allow_differencing: bool = False,
    new_ledger: bool = False,
    csv: Any = None,
    part: str | PathLike[str] | None = None,
) -> Results:
    """Take part in a study as the party `name`, and return everybody's results.

    `data` is this party's rows (a path, a table, an Arrow stream), or a mapping from a question's
    name to the rows for it; `csv` says how CSV files are written, as of `titan.fit`. `part` is what
    `titan prepare` made of them: then rows are needed only for questions that read them again.
    Nobody is asked: `titan study check` says beforehand what will be opened, and with --data
    whether these rows would be refused. Where others do not come in time the same call goes on
    later. Runs are kept in `runs` (else beside the study's file), the ledger beside the key; where
    that is gone though the key was used, FileError unless `new_ledger`.
    `passphrase` is the key's, or a function that asks for it, such as `getpass.getpass`. From this
    call on the process leaves no core dumps: it holds secrets.
    """
    from titan.party.core_dumps import no_core_dumps
    from titan.party.part_using import UsedPart
    from titan.party.taking_part import Choices, Party, run_folder  # slow to import

    if not 1 <= whole_number("run", run) <= MOST_RUNS:
        raise InputError(f"run={run}", hint=f"runs are numbered from 1 to {MOST_RUNS}")
    if not real_number("wait", wait) > 0:
        raise InputError(f"wait={wait!r}", hint="seconds to wait for others, above zero")
    if listen is not None:
        listen = checked_address(str(listen))
    place = Path() if isinstance(study, Study) else checked_path(study).parent
    found = study if isinstance(study, Study) else Study.load(checked_path(study))
    secret = checked_path(key)
    if data is None and part is None:
        raise InputError("no rows are given", hint="data=…, or part=… as titan prepare made it")
    no_core_dumps()
    rows = None if data is None else RowsFile.all_of(data, csv)
    used = None if part is None else UsedPart.load(checked_path(part), found, name, rows)
    party = Party(
        found,
        Identity.load(secret, found.card(name), passphrase=passphrase),
        rows if used is None else used.rows(rows),
        folder=run_folder(checked_path(runs) if runs else place / "runs", found, run, name),
        ledger=checked_path(ledger) if ledger else secret.with_suffix(".ledger"),
        choices=Choices(run, float(wait), listen, allow_differencing=bool(allow_differencing)),
        key=secret,
        part=used,
    )
    mine = secret, party.ledger, party.identity.card.fingerprint
    if not new_ledger and (error := ledger_gone(*mine)) is not None:
        raise error
    outcome = party.take_part(lambda _: None)
    if outcome.refused is not None:  # as when it happened
        raise outcome.refused
    return outcome.results


def load(path: str | PathLike[str]) -> Results:
    """The results of a run (its folder), of a rehearsal (its --out), or of a file saved before.

    In a run's folder the signed transcript has the file's digest, and they must agree.
    """
    place = checked_path(path)
    if not place.is_dir():
        return decode(read_file(place), str(place))
    folders = run_folders(place)
    results = [_of_run(folder) for folder in folders]
    if len({(folder / NAME).read_bytes() for folder in folders}) > 1:
        raise FileError(f'the parties of "{place}" hold different results', hint="rehearse again")
    return results[0]


def run_folders(place: Path) -> list[Path]:
    """The folder of a run that is over, or those of a rehearsal's parties; FileError for others."""
    if (place / NAME).exists():
        return [place]
    found = [file.parent for file in sorted(place.glob(f"runs/*/*/{NAME}"))]
    if found:
        return found
    if (place / JOURNAL).exists():
        raise FileError(
            f'the run in "{place}" is not over: it has no {NAME} yet',
            hint=f"titan runs list {place} says whether the same titan join goes on with it",
        )
    hint = "give the folder of a run that is over, one of titan rehearse --out, or a saved file"
    if inside := sorted(file.parent for file in place.glob(f"*/{NAME}")):
        hint = f"give one of the runs in it, such as {inside[0]}"
    raise FileError(f'"{place}" holds no results', hint=hint)


def _of_run(folder: Path) -> Results:
    data = read_file(folder / NAME)
    signed = folder / TRANSCRIPT
    digest = hashlib.sha256(data).hexdigest()
    if signed.exists() and verify(signed).transcript.result_sha256 != digest:
        raise FileError(
            f'"{folder / NAME}" is not the file that "{signed}" was signed for',
            hint="one of them was altered; the same titan join writes both again",
        )
    return decode(data, str(folder / NAME))
