"""That a key has been used with a ledger: noted beside the key, so that it is missed when gone.

A new ledger knows nothing of earlier studies: a difference of two answers could expose rows.

A service and a container hand the key over in a folder that nobody can write to. Then the note is
in the ledger's folder, under the key's fingerprint. It does not help if that folder is gone.
"""

# Rule: a note in the ledger's folder, where there is one, is kept up and counts first: the one
#       beside the key may be of another machine, in a folder that cannot be written.

from __future__ import annotations

import errno
from pathlib import Path

from titan import files
from titan.errors import FileError

OPTION = "--new-ledger"
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def notes(key: Path, ledger: Path, fingerprint: str) -> tuple[Path, Path]:
    """Where it may be noted: in the ledger's folder, and beside the key."""
    return ledger.with_name(f"key-{fingerprint[:16]}.used"), key.with_suffix(".used")


def note_use(key: Path, ledger: Path, fingerprint: str) -> None:
    """From now on this ledger belongs to the key, which has this fingerprint."""
    elsewhere, beside = notes(key, ledger, fingerprint)
    content = f"{ledger.resolve()}\n".encode()
    if elsewhere.exists():
        _keep(elsewhere, content)
    try:
        _keep(beside, content)
    except FileError as error:
        if error.errno not in _CLOSED:
            raise
        _keep(elsewhere, content)


def ledger_gone(key: Path, ledger: Path, fingerprint: str) -> FileError | None:
    """What to say where the key has been used and there is no ledger in its place."""
    before = None if ledger.exists() else _noted(key, ledger, fingerprint)
    if before is None:
        return None
    if before.is_file():
        hint = f"name it: --ledger {before}"
    else:
        hint = f"restore it from a backup; {OPTION} begins a new one, which knows nothing of them"
    return FileError(
        f"{key} has taken part in runs, with the ledger {before}, and there is none in {ledger}: "
        "earlier studies could not be compared with this one",
        hint=hint,
    )


def used_with_another(key: Path, ledger: Path, fingerprint: str) -> str:
    """The warning if the key was used with another ledger that is still there; empty if not.

    A ledger may be moved or begun anew, so this is not a reason to refuse.
    """
    try:
        before = _noted(key, ledger, fingerprint)
        if before is None or not before.is_file():
            return ""
        if ledger.exists() and before.samefile(ledger):
            return ""
    except (FileError, OSError):
        return ""  # only a note
    return (
        f"this key was used with another ledger, {before}, which knows what was asked before: "
        f"{ledger} may not, and then earlier studies are not compared with this one"
    )


def _keep(note: Path, content: bytes) -> None:
    with files.attempt("read", note):
        if note.exists() and note.read_bytes() == content:
            return
    files.write(note, content, mode=0o600, force=True)


def _noted(key: Path, ledger: Path, fingerprint: str) -> Path | None:
    """The ledger that the key was used with."""
    for note in notes(key, ledger, fingerprint):
        if note.exists():
            with files.attempt("read", note):
                return Path(note.read_text("utf-8", "replace").strip())
    return None
