"""What is left on the bare disk: an image with ext4 in it, mounted, used, unmounted, searched.

Files show what is in them now. The image also shows what lay in blocks that were freed since.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.party.campaign import disks
from tests.party.campaign.disks import NotHereError, left_in, written
from tests.party.campaign.inside import watch_secrets
from titan.study.journal import Journal

__all__ = ["NotHereError", "image", "left_on", "watched", "write_and_delete"]

_MEGABYTES = 64


def image(folder: Path) -> AbstractContextManager[tuple[Path, Path]]:
    """An ext4 image, and where it is mounted; NotHereError without root, loop devices or ext4."""
    if why := disks.missing():
        raise NotHereError(why)
    return disks.mounted(folder, _MEGABYTES)


@contextmanager
def watched(found: set[bytes]) -> Iterator[None]:
    """Whatever of a run must be gone: keys, masks sent and received, the key of the journal."""
    names = ("begin", "sending", "record_incoming")
    before = {name: getattr(Journal, name) for name in names}
    watch_secrets(found.add)
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(Journal, name, method)


def left_on(file: Path, secrets: set[bytes]) -> int:
    return left_in(written(file), secrets)


def write_and_delete(path: Path) -> bytes:
    """As any other program does it."""
    content = os.urandom(4096)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
    return content
