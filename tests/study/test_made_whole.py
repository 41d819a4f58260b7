"""A ledger or a journal that is begun is whole or not there: a full disk, a kill and a power cut at
any moment leave nothing that the same command would refuse, or take for something it is not."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.study.runs import beginning
from titan import files
from titan.errors import DamagedError, FileError, FullError
from titan.study import run_key
from titan.study.journal import Journal
from titan.study.ledger import Ledger


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """The system takes as many bytes of a file, and says so; only then does it fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_whoever_is_killed_while_a_ledger_is_made_can_make_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each wait for the disk, what a kill or a power cut would leave is a ledger or no file."""
    place, moments = tmp_path / "now", list[Path]()
    place.mkdir()
    fsync = os.fsync

    def looked_at(handle: int) -> None:
        moments.append(tmp_path / f"{len(moments)}")
        shutil.copytree(place, moments[-1])
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", looked_at)
        Ledger.open(place / "north.ledger").close()
    assert moments
    for there in moments:
        with Ledger.open(there / "north.ledger") as ledger:
            assert ledger.recorded() == []
    assert [path.name for path in place.iterdir()] == ["north.ledger"]


def test_a_full_disk_leaves_no_empty_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "north.ledger"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FullError, match=f"{place} cannot be written") as refused:
            Ledger.open(place)
    assert refused.value.hint == "make room on the disk; then the same command goes on"
    assert list(tmp_path.iterdir()) == []
    Ledger.open(place).close()


def test_a_ledger_that_another_process_made_meanwhile_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, write = tmp_path / "north.ledger", files.write
    other = tmp_path / "other.ledger"
    Ledger.open(other).close()

    def later(path: Path, data: bytes, *, mode: int) -> None:
        shutil.copy(other, path)
        write(path, data, mode=mode)

    monkeypatch.setattr(files, "write", later)
    with Ledger.open(place) as found, Ledger.open(other) as expected:
        assert found.row_key == expected.row_key


def test_a_ledger_without_its_key_is_damaged(tmp_path: Path) -> None:
    """With a new one all rows would seem to be new."""
    place = tmp_path / "north.ledger"
    Ledger.open(place).close()
    with closing(sqlite3.connect(place)) as there, there:
        there.execute("DELETE FROM ledger")
    with pytest.raises(DamagedError, match="it is damaged"):
        Ledger.open(place)


def test_half_a_key_of_a_journal_is_not_a_key(tmp_path: Path) -> None:
    """A disk may take a part of it and say so; the journal would never find its key again."""
    place = tmp_path / "journal.db"
    with small_files(run_key.FILE_BYTES // 4), pytest.raises(FileError, match="cannot be made"):
        run_key.create(place.with_name("journal.db.secret"))
    with Journal.open(place) as journal:
        began = beginning(journal)
    with Journal.open(place) as journal:
        assert beginning(journal) == began


@pytest.mark.parametrize("links", [True, False], ids=["links", "a file system without links"])
def test_a_new_file_is_whole_and_takes_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    place = tmp_path / "it"
    with small_files(10), pytest.raises(FileError, match="cannot be written"):
        files.write(place, bytes(100))
    assert list(tmp_path.iterdir()) == []
    files.write(place, b"first", mode=0o600)
    with pytest.raises(FileError, match="exists already"):
        files.write(place, b"second")
    assert [(p.name, p.read_bytes(), p.stat().st_mode & 0o777) for p in tmp_path.iterdir()] == [
        ("it", b"first", 0o600)
    ]


def test_a_page_that_is_gone_is_missed_wherever_it_was(tmp_path: Path) -> None:
    """When the ledger is opened, and not only by who happens to read there."""
    place = tmp_path / "north.ledger"
    with Ledger.open(place) as ledger:
        ledger.note_over("ab" * 32, 1, [bytes(200)])
    whole, page = place.read_bytes(), 4096
    for at in range(page, len(whole), page):
        place.write_bytes(whole[:at] + bytes(page) + whole[at + page :])
        with pytest.raises(DamagedError, match="it is damaged"):
            Ledger.open(place)
