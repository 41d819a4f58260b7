"""A rehearsal: every party of a study as a process of its own on this machine, with real TLS.

Each runs the very command that its people would run, `titan join`, on a copy of the study whose
addresses are on the loopback interface. All must end with the same answer.

    folder/study.toml          the copy
    folder/keys/<party>.key    throw-away, unless keys are given
    folder/runs/<party>/       journal and transcript, as on that party's machine
    folder/runs/<party>.ledger
"""

# Rule 1: the rows are read by the party's process alone.
# Rule 2: there is one answer, or an error: parties that differ give none.

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from titan.errors import InputError, RecoveryError
from titan.files import attempt
from titan.moments.csv_format import RowsFile
from titan.party.loopback import on_loopback
from titan.party.processes import Progress, run_all
from titan.study import Study, check

_JOIN: Sequence[str] = (sys.executable, "-m", "titan", "join")
_OF_ITS_OWN = frozenset(
    {
        "party",
        "study",
        "run",
        "folder",
        "started",
        "times",
        "dropped",
        "cost",
        "lowered",
        "bytes_written",
    }
)
_SECONDS, _SECONDS_PER_PARTY = 60.0, 3.0  # programs that start together start slowly


@dataclass(frozen=True)
class Rehearsal:
    """One answer, found by all parties, and when each came how far."""

    study: Study
    """The copy that was run."""
    answer: Mapping[str, Any] = field(repr=False)
    """As `titan fit --json` has it."""
    times: Mapping[str, Mapping[str, float]]
    """Party → connected, pooled, answered: seconds since the rehearsal began."""
    runs: Mapping[str, Path]
    """Party → the folder of its run; there as long as the rehearsal's folder is."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.answer, "times": {party: dict(each) for party, each in self.times.items()}}


def rehearse(
    study: Study,
    data: Mapping[str, Path],
    *,
    keys: Path | None = None,
    folder: Path | None = None,
    wait: float | None = None,
    keep_journal: bool = False,
    allow_small: bool = False,
    progress: Progress | None = None,
) -> Rehearsal:
    """Run all parties of a study, each on its own file of rows.

    `keys` is a folder of the parties' own keys, otherwise they get new ones. What is made is kept
    in `folder`, if one is named. `wait` is how many seconds a party waits for another.
    `allow_small` lowers the study's minima of rows to 1. `progress` is called with a party's name
    and what it says it is doing.
    """
    parties, now = study.network.parties, datetime.now(UTC)
    absent = [name for name in parties if name not in data]
    if absent:
        raise InputError(f"there are no rows of {', '.join(absent)}", hint="one file per party")
    study = without_minima(study) if allow_small else study
    with workplace(folder) as place:
        it = on_loopback(study, place / "keys", keys=keys, now=now)
        for problem in check(it, now).problems:  # no party would join, but say so only later
            raise problem
        it.save(place / "study.toml", force=True)
        (place / "runs").mkdir(mode=0o700, exist_ok=True)
        if wait is None:
            wait = _SECONDS + _SECONDS_PER_PARTY * len(data)
        began = time.monotonic()
        told = run_all(
            {name: _words(place, name, data[name], wait, keep_journal) for name in parties},
            progress,
        )
        answers = {name: _read(name, text) for name, text in told.items()}
        return Rehearsal(
            it,
            _common(answers),
            {name: _times(answer, began) for name, answer in answers.items()},
            {name: Path(answer["folder"]) for name, answer in answers.items()},
        )


def without_minima(study: Study) -> Study:
    """The same study of any rows."""
    return replace(
        study,
        min_rows_party=1,
        min_rows_total=1,
        rows_per_parameter=1,
        min_cell=0,
        min_cell_parties=1,
        min_residual_df=0,
        cells="pooled",
    )


@contextmanager
def workplace(folder: Path | None) -> Iterator[Path]:
    """A folder for its owner only: the one named, or one that is gone afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="titan-rehearsal-") as made:
            yield Path(made)
        return
    with attempt("used", folder, "name a new folder"):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    yield folder.resolve()


def _words(place: Path, name: str, data: Any, wait: float, keep_journal: bool) -> list[str]:
    runs = place / "runs"
    return [
        *_JOIN, str(place / "study.toml"), "--as", name, "--data", str(Path(data).resolve()),
        *(data.written.words if isinstance(data, RowsFile) else ()),
        "--key", str(place / "keys" / f"{name}.key"), "--runs", str(runs / name),
        "--ledger", str(runs / f"{name}.ledger"), "--run", "1", "--wait", f"{wait:g}",
        "--yes", "--json", *(["--keep-journal"] if keep_journal else []),
    ]  # fmt: skip


# -- what the parties say ---------------------------------------------------------------------


def _read(name: str, text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
        if answer["party"] != name or not {"started", "times", "folder"} <= set(answer):
            raise ValueError("not the answer of a party")
    except (ValueError, TypeError, KeyError):
        raise RecoveryError(f'"{name}" ended without an answer that can be read') from None
    return dict(answer)


def _times(answer: Mapping[str, Any], began: float) -> dict[str, float]:
    """On the rehearsal's clock: the monotonic clock is one for all processes of a machine."""
    ahead = answer["started"] - began
    return {name: round(ahead + seconds, 6) for name, seconds in answer["times"].items()}


def _common(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What all parties found, which must be the same to the last bit."""
    (first, one), *others = answers.items()
    shared = {key: value for key, value in one.items() if key not in _OF_ITS_OWN}
    for name, other in others:
        if {key: value for key, value in other.items() if key not in _OF_ITS_OWN} != shared:
            raise RecoveryError(f'"{first}" and "{name}" ended with different answers')
    if "dropped" in one:  # each knows its own
        own = [answer["dropped"] for answer in answers.values()]
        shared["dropped"] = None if None in own else sum(own)
    return shared | {"cost": one.get("cost")}
