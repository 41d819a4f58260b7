"""Real runs in Python: take part as one party, and read what a run left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from titan.errors import InputError
from titan.listing import listing
from titan.moments import Source, open_source
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
        rows_for(found, data),
        folder=run_folder(Path(fspath(runs)) if runs else place / "runs", found, run, name),
        ledger=Path(fspath(ledger)) if ledger else Path(fspath(key)).with_suffix(".ledger"),
        choices=Choices(run, wait, listen, allow_differencing=allow_differencing),
    )
    return party.take_part(lambda results: None).results


def rows_for(study: Study, data: Any) -> Source | dict[str, Source]:
    """The rows for all questions, or for each by its name."""
    names = [question.name for question in study.questions]
    if not isinstance(data, Mapping) or not data or not set(data) <= set(names):
        return _opened(data)
    absent = [name for name in names if name not in data]
    if absent:
        raise InputError(
            f"there are no rows for {listing(absent)}", hint="one source for every question"
        )
    return {name: _opened(rows) for name, rows in data.items()}


def _opened(data: Any) -> Source:
    """A stream that can be read only once is kept: some questions read the rows again."""
    if hasattr(data, "read_all") and hasattr(data, "schema"):
        data = data.read_all()
    return open_source(data)
