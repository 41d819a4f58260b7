"""What a party keeps, where no answer is saved: its ledger, the note beside its key, its run.

Some of it may not be there yet; then what was saved in its place would be taken for it.
"""

from __future__ import annotations

from os.path import realpath
from pathlib import Path

from titan.errors import UsageError
from titan.study.key_use import notes

_BESIDE = ("", "-wal", "-shm", "-journal")
"""SQLite's own files stand beside a ledger."""


def refuse_own(save: Path, folder: Path, key: Path, ledger: Path, fingerprint: str) -> None:
    """Refuse a place that is one of these, or is in the run's folder."""
    place = Path(realpath(save))
    if place.is_relative_to(realpath(folder)):
        raise UsageError(
            f"{save} is in the run's folder, where everything belongs to the run",
            hint="give the answer another place; titan show prints it from the run's folder, too",
        )
    ledgers = (ledger.with_name(f"{ledger.name}{end}") for end in _BESIDE)
    own = dict.fromkeys(ledgers, "this party's ledger")
    for note in notes(key, ledger, fingerprint):
        own[note] = "the note of which ledger belongs to the key"
    for file, what in own.items():
        if place == Path(realpath(file)):
            raise UsageError(f"{save} is {what}", hint="give the answer another name")
