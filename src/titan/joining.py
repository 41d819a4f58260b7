"""Real runs in Python: take part as one party, and read what a run left."""

from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from titan.party.run_results import load
from titan.results import Results
from titan.study import Identity, Study

__all__ = ["join", "load"]


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
    found = study if isinstance(study, Study) else Study.load(study)
    place = Path() if isinstance(study, Study) else Path(fspath(study)).parent
    card = found.card(name)
    party = Party(
        found,
        Identity.load(Path(fspath(key)), card),
        data,
        folder=run_folder(Path(fspath(runs)) if runs else place / "runs", found, run, name),
        ledger=Path(fspath(ledger)) if ledger else Path(fspath(key)).with_suffix(".ledger"),
        choices=Choices(run, wait, listen, allow_differencing=allow_differencing),
    )
    return party.take_part(lambda results: None).results
