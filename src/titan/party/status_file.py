"""What a party says of a run while it runs, and how it ended: `status.json` in the run's folder.

For `titan status`, from another terminal or a supervisor. States that a party writes:

    running    it takes part; there is no answer yet
    serving    it has its answer, and stays for others
    answered   the run is over here, with an answer
    refused    … without one: a rule of release (titan show says which)
    failed     … without one
    stopped    it ended, and the same command goes on

and two that only who reads it can find:

    gone        running or serving, in a process that is no more
    unreadable  the file is missing or is no status of this version, and nobody can know
"""

# Rule 1: nothing of it is secret, and no error's words are in it but those that all may hear.
# Rule 2: it is a note, not a record: replaced as a whole, not waited for, and no reason to fail.
# Rule 3: only the process that holds the journal writes it.

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import titan
from titan.errors import FileError, ReleaseError
from titan.party.run_events import Watch
from titan.party.throttle import Throttle
from titan.study.audit import JOURNAL, STATUS

if TYPE_CHECKING:
    from titan.party.run import RunProgress
    from titan.results import Results

FORMAT = 1
_ALIVE = ("running", "serving")
_STATES = (*_ALIVE, "answered", "refused", "failed", "stopped")
_UNREADABLE = "unreadable"
_MOST = 1 << 16  # bytes
_BURST, _SECONDS = 5, 1.0  # writes at once, and then for each further one


class StatusFile:
    """A context: what is inside is the run."""

    def __init__(self, folder: Path, study: str, run: int, party: str) -> None:
        self._path = folder / STATUS
        pid, now = os.getpid(), _now()
        self._told: dict[str, Any] = {
            "format": FORMAT, "study": study, "run": run, "party": party, "state": "running",
            "since": now, "phase": "preparing", "waiting": [], "here": [], "sum": None,
            "sums": None, "started": now, "progressed": None, "exit_status": None,
            "pid": pid, "process": process_start(pid), "host": socket.gethostname(),
            "version": titan.__version__,
        }  # fmt: skip
        self._note = Throttle[None](lambda _: self._write(), _BURST, _SECONDS)
        self._write()

    def __enter__(self) -> StatusFile:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self._end(getattr(error, "exit_status", 1 if isinstance(error, Exception) else 75))

    def watched(self, watch: Watch) -> Watch:
        """The same, with this file told as well."""

        def progress(progress: RunProgress) -> None:
            self._progress(progress)
            if watch.progress is not None:
                watch.progress(progress)

        def answered() -> None:
            self._set("serving")
            watch.answered()

        return Watch(watch.tell, progress, answered)

    def ended(self, results: Results) -> None:
        """Over, with an answer or without."""
        errors = list(results.errors.values())
        self._end(errors[0].exit_status if errors and len(errors) == len(results) else 0)

    def _progress(self, progress: RunProgress) -> None:
        sums = (progress.sum, progress.sums) if progress.sums else (None, None)
        self._told |= {"phase": progress.phase, "waiting": list(progress.waiting)}
        self._told["here"] = list(progress.here)
        self._told |= dict(zip(("sum", "sums"), sums, strict=True)) | {"progressed": _now()}
        self._note(None)

    def _end(self, exit_status: int) -> None:
        states = {0: "answered", ReleaseError.exit_status: "refused", 75: "stopped"}
        self._told |= {"exit_status": exit_status, "waiting": []}
        self._set(states.get(exit_status, "failed"))

    def _set(self, state: str) -> None:
        self._told |= {"state": state, "since": _now()}
        self._note.forget()
        self._write()

    def _write(self) -> None:
        fresh = self._path.with_name(f".{STATUS}.{os.getpid()}")
        with suppress(OSError):
            try:
                handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(self._told, file)
                fresh.replace(self._path)
            finally:
                fresh.unlink(missing_ok=True)  # what a full disk did not take


# -- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Status:
    """Of one run, as it is now."""

    folder: Path
    told: dict[str, Any]
    problem: str = ""
    """Why it is unreadable; of `told` only the state is known then."""

    @property
    def state(self) -> str:
        said = str(self.told["state"])
        return "gone" if said in _ALIVE and not self._lives else said

    @property
    def _lives(self) -> bool:
        """Of another machine's processes nothing is known."""
        if self.told["host"] != socket.gethostname():
            return True
        pid, began = self.told["pid"], self.told["process"]
        return _exists(pid) and process_start(pid) == began

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        hidden = ("format", "process")
        told = {key: value for key, value in self.told.items() if key not in hidden}
        found = {"folder": str(self.folder), **told, "state": self.state}
        return found | {"problem": self.problem or None}


def look(folder: Path) -> Status | None:
    """As `read`; but what cannot be read is a run, too, so that it does not hide others.

    Without the file, a run that has secrets was begun and is not over. One that is over, or was
    given up, has none.
    """
    try:
        found = read(folder)
        if found is not None or not _has_secrets(folder):
            return found
        problem = f"{folder / STATUS} is missing, and the run's secrets are still there"
    except FileError as error:
        problem = error.message
    return Status(folder, dict.fromkeys(_TOLD) | {"state": _UNREADABLE}, problem)


def _has_secrets(folder: Path) -> bool:
    return all((folder / f"{JOURNAL}{end}").is_file() for end in ("", ".secret"))


def read(folder: Path) -> Status | None:
    """None where no run was begun; FileError for a file that no party wrote."""
    path = folder / STATUS
    try:
        with path.open("rb") as file:
            data = file.read(_MOST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
    try:
        told = json.loads(data)
        _check(told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise FileError(
            f"{path} is not a status that this version of titan wrote",
            hint="the next titan join of this run writes it again",
        ) from None
    return Status(folder, told)


_TOLD = (
    *("study", "run", "party", "state", "since", "phase", "waiting", "here", "sum", "sums"),
    *("started", "progressed", "exit_status", "pid", "host", "version"),
)


def _check(told: dict[str, Any]) -> None:
    if told["format"] != FORMAT or not {*_TOLD, "process"} <= told.keys():
        raise ValueError("another format")
    if told["state"] not in _STATES:
        raise ValueError("not a state")
    if not isinstance(told["pid"], int) or not 1 <= told["pid"] < 2**31:
        raise ValueError("not a process")
    names = [name for key in ("waiting", "here") for name in told[key]]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("not names")
    texts = [value for value in told.values() if isinstance(value, str)]
    if not all(map(str.isprintable, names + texts)):
        raise ValueError("something in it does not print")


def process_start(pid: int) -> str:
    """When a process began, as the system counts; empty where it does not tell.

    With it, another process that has the same number by now is recognised.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[19]
    except (OSError, IndexError):
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
