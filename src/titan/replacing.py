"""What no file is written over, whoever says --force: places that are not files, keys, ledgers.

A file is replaced by another that takes its name. Under the name of a device or of a pipe that
would destroy it, and what goes into it would go nowhere. A private key, a ledger and a journal
exist once: who makes another of its kind there says so, as `titan keys new --force` does.
"""

# Rule 1: a symbolic link stands for what it leads to.
# Rule 2: what cannot be looked at is not replaced.

from __future__ import annotations

import re
import stat
from pathlib import Path

SQLITE = b"SQLite format 3\x00"
"""How every file of SQLite begins."""
KEY, LEDGER, JOURNAL = "a private key", "a ledger", "a run's journal"
_MARKS = {b"TL": LEDGER, b"TJ": JOURNAL}
_MARK = slice(68, 70)  # of the application's number, in SQLite's header
_PEM_KEY = re.compile(rb"^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----", re.MULTILINE)
_MOST = 1 << 14  # bytes that are looked at; a key may stand behind text
_NO_FILES = {
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_MOVE = "move it away first, if nobody needs it"
_LOST = {
    KEY: "only titan keys new --force replaces a key, and studies that know it will not know you",
    LEDGER: "it alone knows this party's earlier studies",
    JOURNAL: "the run cannot go on without it",
}


def not_a_file(path: Path) -> str:
    """What is in this place, where it is not a file; empty where one is, or nothing."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return "" if stat.S_ISREG(mode) else _NO_FILES.get(stat.S_IFMT(mode), "not a file")


def kept(path: Path, own: str = "") -> tuple[str, str] | None:
    """What this file is, if it is never replaced, and a hint; None for the `own` kind of a writer.

    Raises OSError where it is there and cannot be read.
    """
    try:
        found = _kind(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found, _LOST.get(found, _MOVE)) if found and found != own else None


def _kind(path: Path) -> str:
    """What it is, of what exists once; empty for any other file."""
    with path.open("rb") as file:
        start = file.read(_MOST)
    if start.startswith(SQLITE):
        return _MARKS.get(start[_MARK], "a database")
    return KEY if _PEM_KEY.search(start) else ""
