"""A party's disk: a folder, or a file system of its own that can fill up or lose its power.

A power cut is a copy of the image, made while the party stands still: it has what was written
through to the disk, and nothing of what the system still held in memory. The copy is mounted in
place of the old one, and the file system mends itself as it does after a power cut.
"""

# Rule: where nothing can be mounted, what happens instead is weaker, and `missing` says why.

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_MEGABYTES = 24
_BLOCK = 4096
_ZEROS = bytes(_BLOCK)
_PIECE = 16  # bytes of a secret by which it would be known
_TEMPLATE = "empty.img"
_JOURNALS = "runs/*/journal.db"


class NotHereError(Exception):
    """No file system can be mounted on this machine, and why."""


class Disk:
    """Where one party keeps its run, its ledger and its answer."""

    def __init__(self, place: Path, *, own: bool) -> None:
        self.place = place
        self.image = place.with_name(f"{place.name}.img")
        self.mounted = False
        self._flag = place.with_name(f"{place.name}.full")
        self._times: dict[str, int] = {}
        place.mkdir(mode=0o700)
        if own and not missing():
            shutil.copy(template(place.parent.parent), self.image)
            self._mount()

    @property
    def inside(self) -> dict[str, Any]:
        """What a party's process needs besides: to fail by itself, where no disk is full."""
        return {} if self.mounted else {"full": [str(self._flag)]}

    # -- full -----------------------------------------------------------------------------------

    def fill(self) -> None:
        if not self.mounted:
            self._flag.touch()
            return
        with contextlib.suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while file.write(bytes(_BLOCK)):
                pass

    def free(self) -> None:
        self._flag.unlink(missing_ok=True)
        self._ballast.unlink(missing_ok=True)

    @property
    def _ballast(self) -> Path:
        return self.place / "ballast"

    # -- power ----------------------------------------------------------------------------------

    def cut_power(self) -> None:
        """What was not on the disk is gone; nobody may be using it but a process that stands
        still, and is killed before `restore`."""
        copy = self.image.with_suffix(".cut")
        while self.mounted:
            before = self.image.stat().st_mtime_ns
            _run("cp", "--sparse=always", self.image, copy)
            if self.image.stat().st_mtime_ns == before:  # nothing was written meanwhile
                return

    def restore(self) -> None:
        """After the cut, when the process is gone."""
        if self.mounted:
            self.unmount()
            self.image.with_suffix(".cut").replace(self.image)
            self._mount()

    # -- the run's folder -------------------------------------------------------------------------

    @property
    def has_journal(self) -> bool:
        return any(self.place.glob(_JOURNALS))

    def remember(self) -> None:
        """The runs as they are now."""
        shutil.rmtree(self._earlier, ignore_errors=True)
        self._times = self._changed()
        if (self.place / "runs").exists():
            shutil.copytree(self.place / "runs", self._earlier)

    def _changed(self) -> dict[str, int]:
        found = {}
        for path in self.place.glob(_JOURNALS + "*"):
            with contextlib.suppress(FileNotFoundError):
                found[path.name] = path.stat().st_mtime_ns
        return found

    def has_moved_on(self) -> bool:
        """Whether a journal was written to since."""
        return self._changed() != self._times

    def roll_back(self) -> bool:
        """Put back what was remembered; whether its journal had another content."""
        if not any(self._earlier.glob("*/journal.db")):
            return False
        if rows_in(self._earlier) == rows_in(self.place / "runs"):
            return False
        shutil.rmtree(self.place / "runs")
        shutil.copytree(self._earlier, self.place / "runs")
        return True

    @property
    def _earlier(self) -> Path:
        return self.place.with_name(f"{self.place.name}.earlier")

    def lose_runs(self) -> None:
        for path in self.place.glob("runs/*/*"):
            path.unlink()

    def lose_key(self, *, altered: bool) -> bool:
        """Remove the key of a journal, or alter a bit of it; whether there was one."""
        keys = list(self.place.glob("runs/*/journal.db.secret"))
        for path in keys:
            if altered:
                block = bytearray(path.read_bytes())
                block[len(block) // 2] ^= 1
                path.write_bytes(block)
            else:
                path.unlink()
        return bool(keys)

    # -- what is on it ----------------------------------------------------------------------------

    def content(self) -> bytes:
        """All bytes: of the bare disk, freed blocks included, or of all files."""
        if self.image.exists():
            return written(self.image)
        files = (path for path in sorted(self.place.rglob("*")) if path.is_file())
        return b"".join(path.read_bytes() for path in files)

    # -- mounting ---------------------------------------------------------------------------------

    def _mount(self) -> None:
        _run("mount", "-o", "loop", self.image, self.place)
        self.mounted = True

    def unmount(self) -> None:
        if self.mounted:
            _unmount(self.place)
            self.mounted = False


@cache
def missing() -> str:
    """Why no image can be mounted here; empty if one can."""
    tools = [tool for tool in ("mkfs.ext4", "mount", "umount") if shutil.which(tool) is None]
    if tools or os.name != "posix" or os.geteuid():
        return f"there is no {tools[0]}" if tools else "this is not root"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="titan-disk-")))
        try:
            stack.enter_context(mounted(folder))
        except NotHereError as why:
            return str(why)
    return ""


@contextlib.contextmanager
def mounted(folder: Path, megabytes: int = _MEGABYTES) -> Iterator[tuple[Path, Path]]:
    """An ext4 image in a folder, and where it is mounted."""
    file, place = folder / "disk.img", folder / "disk"
    place.mkdir()
    try:
        _make(file, megabytes)
        _run("mount", "-o", "loop", file, place)
    except subprocess.CalledProcessError as error:
        raise NotHereError(error.stderr.decode(errors="replace").strip()) from None
    try:
        yield file, place
    finally:
        if os.path.ismount(place):
            _unmount(place)


def template(folder: Path) -> Path:
    """An empty file system, made once for a campaign and copied."""
    file = folder / _TEMPLATE
    if not file.exists():
        _make(file, _MEGABYTES)
    return file


def _make(file: Path, megabytes: int) -> None:
    with file.open("wb") as made:
        made.truncate(megabytes << 20)
    _run("mkfs.ext4", "-q", "-m", "0", file)


def _unmount(place: Path) -> None:
    """A process that was killed may have files open for a moment yet."""
    for _ in range(50):
        with contextlib.suppress(subprocess.CalledProcessError):
            _run("umount", place)
            return
        time.sleep(0.1)
    _run("umount", place)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


# -- comparing ----------------------------------------------------------------------------------


def rows_in(runs: Path) -> list[str]:
    """Of a journal; a copy is looked at, since the look itself would change it."""
    with tempfile.TemporaryDirectory(prefix="titan-rows-") as copy:
        for path in runs.glob("*/journal.db*"):
            shutil.copy(path, copy)
        with contextlib.closing(sqlite3.connect(Path(copy) / "journal.db")) as journal:
            return list(journal.iterdump())


# -- searching ----------------------------------------------------------------------------------


def written(file: Path) -> bytes:
    """All blocks but those of zeros, in order: most of an image was never written."""
    with file.open("rb") as disk:
        blocks = iter(lambda: disk.read(_BLOCK), b"")
        return b"".join(block for block in blocks if block != _ZEROS)


def left_in(content: bytes, secrets: set[bytes]) -> int:
    """How many secrets are there: by bytes of their middle, or their last ones."""
    return sum(
        any(secret[at : at + _PIECE] in content for at in (len(secret) // 2, len(secret) - _PIECE))
        for secret in secrets
    )
