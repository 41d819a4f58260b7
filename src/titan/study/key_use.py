"""That a key has been used with a ledger: noted beside the key, so that it is missed when gone.

A new ledger knows nothing of earlier studies: a difference of two answers could expose rows.
"""

from __future__ import annotations

from pathlib import Path

from titan import files
from titan.errors import FileError

OPTION = "--new-ledger"


def _note(key: Path) -> Path:
    return key.with_suffix(".used")


def note_use(key: Path, ledger: Path) -> None:
    """From now on this ledger belongs to the key."""
    note, content = _note(key), f"{ledger.resolve()}\n".encode()
    if not note.exists() or note.read_bytes() != content:
        files.write(note, content, mode=0o600, force=True)


def ledger_gone(key: Path, ledger: Path) -> FileError | None:
    """What to say where the key has been used and there is no ledger in its place."""
    note = _note(key)
    if ledger.exists() or not note.exists():
        return None
    with files.attempt("read", note):
        before = Path(note.read_text("utf-8", "replace").strip())
    if before.is_file():
        hint = f"name it: --ledger {before}"
    else:
        hint = f"restore it from a backup; {OPTION} begins a new one, which knows nothing of them"
    return FileError(
        f"{key} has taken part in runs, with the ledger {before}, and there is none in {ledger}: "
        "earlier studies could not be compared with this one",
        hint=hint,
    )
