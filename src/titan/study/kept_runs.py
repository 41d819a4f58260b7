"""The runs that a party keeps: how far each is, and whether its secrets are still on the disk."""

# Rule 1: to look changes nothing, but that an erasing which was cut short is finished. A run that
#         another process is at is left alone.
# Rule 2: a run that was given up has no secrets, and is never resumed.

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from titan.errors import BusyError, DamagedError, FileError
from titan.files import attempt
from titan.study import run_key
from titan.study.audit import JOURNAL, STATUS
from titan.study.journal import Journal, RunState

DAMAGED = "journal.damaged"
State = Literal[
    "running", "answered", "no answer", "resumable", "damaged", "given up", "empty", "unreadable"
]


@dataclass(frozen=True)
class KeptRun:
    """A run's folder. What cannot be read of it is None."""

    folder: Path
    state: State
    secrets: bool | None
    """Whether the key of its secrets is there; None if its folder cannot be read."""
    changed: datetime
    study: str | None = None
    run: int | None = None
    party: str | None = None
    software: str | None = None

    @property
    def may_be_given_up(self) -> bool:
        """One that lacks its key tells no secret; what is sealed in it is erased all the same."""
        return (bool(self.secrets) and self.state != "running") or self.state == "damaged"

    def as_dict(self) -> dict[str, Any]:
        found = dict(vars(self))
        return found | {"folder": str(self.folder), "changed": self.changed.isoformat()}


def kept_runs(place: Path) -> list[KeptRun]:
    """Of a folder of runs, or of one run, those that changed last at the end."""
    if not place.is_dir():
        raise FileError(
            f'"{place}" is not a folder', hint="runs are kept beside the study, in runs/"
        )
    folders = [place] if (place / JOURNAL).exists() else sorted(place.iterdir())
    found = [run for folder in folders if (run := _found_in(folder)) is not None]
    return sorted(found, key=lambda run: (run.changed, run.folder))


def _found_in(folder: Path) -> KeptRun | None:
    """None where there is no run. A folder that cannot be read hides no other run."""
    try:  # is_file() would say no of such a folder, from Python 3.14 on
        is_run = stat.S_ISREG((folder / JOURNAL).stat().st_mode)
        return _look(folder) if is_run else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        return KeptRun(folder, "unreadable", None, _changed(folder))


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(microsecond=0)


def _look(folder: Path) -> KeptRun:
    path = folder / JOURNAL
    changed = _changed(path)
    key = path.with_name(f"{JOURNAL}.secret")

    def told(state: State, **more: Any) -> KeptRun:
        return KeptRun(folder, state, key.exists(), changed, **more)

    try:
        with Journal.open(path) as journal:
            found, damaged = journal.state, journal.lacks_key
    except BusyError:
        return told("running", **_said_by_its_process(folder))
    except FileError:
        return told("unreadable")
    if found is None:
        return told("empty")
    facts = {name: getattr(found, name) for name in ("study", "run", "party", "software")}
    return told("damaged" if damaged else _state(found), **facts)


def _said_by_its_process(folder: Path) -> dict[str, Any]:
    """Of a run that is running: its journal is locked, but it says in a note which one it is."""
    try:
        said = json.loads((folder / STATUS).read_bytes())
        found = {name: said[name] for name in ("study", "run", "party")}
        found["software"] = said["version"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    right = isinstance(found["run"], int) and all(
        isinstance(value, str) for name, value in found.items() if name != "run"
    )
    return found if right else {}


def _state(found: RunState) -> State:
    if found.finished:
        return "answered" if found.agreed else "no answer"
    return "given up" if found.erased else "resumable"


def give_up(kept: KeptRun, now: datetime, tell: Callable[[str], None]) -> bool:
    """Erase the secrets of a run; what it sent, learned and signed stays. False if it runs."""
    path = kept.folder / JOURNAL
    try:
        with Journal.open(path) as journal:
            if journal.state is not None:
                journal.give_up(f"given up on {now.date().isoformat()}")
                (kept.folder / STATUS).unlink(missing_ok=True)  # it tells of a run that can go on
                return True
    except BusyError:  # since it was looked at
        return False
    except FileError as error:
        tell(f"{kept.folder}: {error.message}")
    run_key.destroy(path.with_name(f"{JOURNAL}.secret"))
    (kept.folder / STATUS).unlink(missing_ok=True)
    return True


def open_journal(folder: Path, tell: Callable[[str], None]) -> Journal:
    """A run's; one that is damaged beyond reading is as good as lost, and is replaced by a new one.

    So is one whose key is. With that this party comes back as one that forgot all: then the others
    end the run, too. What cannot be read just now is not damaged, and nobody is told.
    """
    path = folder / JOURNAL
    try:
        return _with_its_key(path)
    except DamagedError as error:
        tell(f"{error.message}; it is set aside as {DAMAGED}, and the others are told")
    run_key.destroy(folder / f"{JOURNAL}.secret")
    with attempt("set aside", path):
        for end in ("-wal", "-shm", "-vectors", ""):
            if (file := folder / f"{JOURNAL}{end}").exists():
                file.replace(folder / f"{DAMAGED}{end}")
    return Journal.open(path)


def _with_its_key(path: Path) -> Journal:
    """What is sealed in one without is erased, lest its key come back out of a backup."""
    journal = Journal.open(path)
    try:
        journal.refuse_without_key()
    except DamagedError:
        with journal:
            journal.give_up("cut short, since the key of its journal was lost")
        raise
    except BaseException:
        journal.close()
        raise
    return journal
