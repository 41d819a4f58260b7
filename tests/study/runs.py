"""Journals of runs for the tests: a beginning, and frames whose bytes follow from their number."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from titan.study.frames import Frame
from titan.study.journal import Journal, RunState

STUDY = "ab" * 32
PARTIES = ("north", "east", "south")


def fixed(label: str) -> bytes:
    """32 bytes that are easy to look for."""
    return hashlib.sha256(label.encode()).digest()


def beginning(journal: Journal, **changed: Any) -> RunState:
    values: dict[str, Any] = {
        "study": STUDY,
        "run": 1,
        "party": "north",
        "parties": PARTIES,
        "nonce": fixed("nonce of north"),
        "keys": [fixed("key 0"), fixed("key 1")],
        "data_digest": journal.keyed_digest([b"rows of north"]),
    }
    return journal.begin(**(values | changed))


def body(sequence: int, size: int) -> bytes:
    """Bytes that look random, the same ones for the same number."""
    return hashlib.shake_128(b"body %d" % sequence).digest(size)


def mask_frame(peer: str = "east", sequence: int = 0, size: int = 5000) -> Frame:
    return Frame(peer, sequence, "MASK", body(sequence, size), 0, 0)


def total_frame(peer: str = "east", sequence: int = 1, size: int = 5000) -> Frame:
    return Frame(peer, sequence, "TOTAL", body(sequence, size), 0, 1)


def everything_in(directory: Path) -> bytes:
    """All bytes of all files; never of a file that this process has open in SQLite.

    (Closing a second handle to it would drop SQLite's lock.)
    """
    files = [file for file in directory.rglob("*") if file.is_file()]
    assert files
    return b"".join(file.read_bytes() for file in files)
