"""Real runs in Python: take part as one party, and read what a run left."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import InputError
from titan.party.run_results import load
from titan.results import Results
from titan.results.result_file import checked_path
from titan.ring.whole import real_number, whole_number
from titan.study import Identity, Study
from titan.study.identity import checked_address

__all__ = ["join", "load"]
MOST_RUNS = 2**31


def join(
    study: Study | str | PathLike[str],
    name: str,
    data: Any,
    *,
    key: str | PathLike[str],
    run: int = 1,
    runs: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | None = None,
    listen: str | None = None,
    wait: float = 3600.0,
    allow_differencing: bool = False,
) -> Results:
    """Take part in a study as the party `name`, and return everybody's results.

    `data` is this party's rows (a path, a table, an Arrow stream), or a mapping from a question's
    name to the rows for it. Nobody is asked: `titan study check` says beforehand what will be
    opened. Where others do not come in time the same call goes on later. Runs are kept in `runs`
    (else beside the study's file), the ledger beside the key.
    """
    from titan.party.taking_part import Choices, Party, run_folder  # slow to import

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what matters of it is raised as an error
    if not 1 <= whole_number("run", run) <= MOST_RUNS:
        raise InputError(f"run={run}", hint=f"runs are numbered from 1 to {MOST_RUNS}")
    if not real_number("wait", wait) > 0:
        raise InputError(f"wait={wait!r}", hint="seconds to wait for others, above zero")
    if listen is not None:
        listen = checked_address(str(listen))
    place = Path() if isinstance(study, Study) else checked_path(study).parent
    found = study if isinstance(study, Study) else Study.load(checked_path(study))
    secret = checked_path(key)
    party = Party(
        found,
        Identity.load(secret, found.card(name)),
        data,
        folder=run_folder(checked_path(runs) if runs else place / "runs", found, run, name),
        ledger=checked_path(ledger) if ledger else secret.with_suffix(".ledger"),
        choices=Choices(run, float(wait), listen, allow_differencing=bool(allow_differencing)),
    )
    return party.take_part(lambda results: None).results
