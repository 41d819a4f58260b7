"""A key that was used has a ledger; where that is gone, nobody goes on without noticing."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from json import loads
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer

import titan
from tests.cli.test_commands import titan as command
from tests.party.loopback import Gathering
from titan import files
from titan.cli.agreeing import miss_ledger, warn_of_another
from titan.errors import FileError, FullError, WaitError
from titan.study.key_use import ledger_gone, note_use, used_with_another
from titan.study.ledger import Ledger

PRINT = "3f2a9c0d1e4b5a69" * 4


@contextmanager
def closed(folder: Path, number: int = errno.EROFS) -> Iterator[None]:
    """Nobody can write to this folder, not even root."""
    write = files.write_all

    def refused(path: Path, *words: Any, **more: Any) -> int:
        if path.parent == folder:
            raise OSError(number, os.strerror(number))
        return write(path, *words, **more)

    with patch.object(files, "write_all", refused):
        yield


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "north.key"


def test_a_new_key_has_no_ledger_yet(key: Path) -> None:
    assert ledger_gone(key, key.with_suffix(".ledger"), PRINT) is None


def test_a_used_key_misses_its_ledger(key: Path) -> None:
    ledger = key.with_suffix(".ledger")
    ledger.write_bytes(b"")
    note_use(key, ledger, PRINT)
    assert ledger_gone(key, ledger, PRINT) is None
    ledger.unlink()
    error = ledger_gone(key, ledger, PRINT)
    assert isinstance(error, FileError)
    assert "has taken part in runs" in error.message
    assert "--new-ledger" in error.hint
    assert key.with_suffix(".used").stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_lies_elsewhere_is_named(key: Path, tmp_path: Path) -> None:
    other = tmp_path / "safe.ledger"
    other.write_bytes(b"")
    note_use(key, other, PRINT)
    error = ledger_gone(key, key.with_suffix(".ledger"), PRINT)
    assert error is not None
    assert error.hint == f"name it: --ledger {other}"
    assert ledger_gone(key, other, PRINT) is None


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_beside_a_key_that_nothing_can_be_written_to_the_ledgers_folder_is_noted(
    key: Path, tmp_path: Path, number: int
) -> None:
    """As systemd and containers hand keys over; another key's ledger there is not meant."""
    state = tmp_path / "state"
    state.mkdir()
    ledger = state / "north.ledger"
    ledger.write_bytes(b"")
    with closed(tmp_path, number):
        note_use(key, ledger, PRINT)
        note_use(key, ledger, PRINT)
    assert not key.with_suffix(".used").exists()
    (note,) = (each for each in state.iterdir() if each != ledger)
    assert note.name == "key-3f2a9c0d1e4b5a69.used"
    assert note.stat().st_mode & 0o777 == 0o600
    assert ledger_gone(key, ledger, PRINT) is None
    ledger.rename(state / "moved.ledger")
    error = ledger_gone(key, ledger, PRINT)
    assert error is not None
    assert f"with the ledger {ledger}" in error.message
    assert ledger_gone(key, ledger, "0" * 64) is None


def test_both_notes_are_kept_up(key: Path, tmp_path: Path) -> None:
    """A note in the ledger's folder does not grow old where the key's can be written again."""
    state = tmp_path / "state"
    state.mkdir()
    with closed(tmp_path):
        note_use(key, state / "a.ledger", PRINT)
    note_use(key, state / "b.ledger", PRINT)
    for note in (key.with_suffix(".used"), *state.iterdir()):
        assert note.read_text() == f"{state / 'b.ledger'}\n"
    error = ledger_gone(key, state / "c.ledger", PRINT)
    assert error is not None
    assert "b.ledger" in error.message


def test_the_note_in_the_ledgers_folder_counts_first(key: Path, tmp_path: Path) -> None:
    """The one beside the key may be of another machine, and cannot be written here."""
    state = tmp_path / "state"
    state.mkdir()
    ledger = state / "north.ledger"
    key.with_suffix(".used").write_text("/elsewhere/north.ledger\n")
    with closed(tmp_path):
        note_use(key, ledger, PRINT)
    error = ledger_gone(key, ledger, PRINT)
    assert error is not None
    assert f"with the ledger {ledger}" in error.message


def test_a_full_disk_is_still_said(key: Path) -> None:
    with closed(key.parent, errno.ENOSPC), pytest.raises(FullError):
        note_use(key, key.with_suffix(".ledger"), PRINT)


def test_a_run_with_a_key_in_a_closed_folder(tmp_path: Path) -> None:
    """`join` comes as far as waiting for the others, and misses the ledger when that is gone."""
    g = Gathering(tmp_path)
    g.save()
    cred, state = tmp_path / "cred", tmp_path / "state"
    cred.mkdir()
    state.mkdir()
    key = (tmp_path / "north.key").rename(cred / "key")
    ledger = state / "north.ledger"
    where = ("--key", key, "--ledger", ledger, "--runs", state / "runs", "--wait", 0.1)
    words = (*g.words("north"), *where)
    with closed(cred):
        for _ in range(2):
            done = command(*words, cwd=tmp_path)
            assert (done.returncode, "be written" in done.stderr) == (75, False), done.stderr
        ledger.unlink()
        done = command(*words, cwd=tmp_path)
        assert (done.returncode, "has taken part in runs" in done.stderr) == (1, True)
        assert command(*words, "--new-ledger", cwd=tmp_path).returncode == 75
    assert [each.name for each in cred.iterdir()] == ["key"]


def test_a_run_notes_the_use_and_the_next_one_misses_the_ledger(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.save()

    def join(**more: Any) -> None:
        study, rows = tmp_path / "study.toml", tmp_path / "north.csv"
        titan.join(study, "north", rows, key=tmp_path / "north.key", wait=0.1, **more)

    with pytest.raises(WaitError):
        join()
    with pytest.raises(WaitError):
        join()
    (tmp_path / "north.ledger").unlink()
    with pytest.raises(FileError, match="has taken part in runs"):
        join()
    with pytest.raises(WaitError):
        join(new_ledger=True)
    with pytest.raises(WaitError):
        join()


def test_another_ledger_that_is_still_there_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Moving a ledger is no mistake; to take that of another party is one, and nobody would see."""
    g = Gathering(tmp_path)
    g.save()
    words = g.words("north", "--wait", 0.1)
    other = tmp_path / "south.ledger"
    warning = f"another ledger, {tmp_path / 'north.ledger'}, which knows what was asked before"
    done = command(*words, cwd=tmp_path)
    assert (done.returncode, "another ledger" in done.stderr) == (75, False), done.stderr
    key, fingerprint = tmp_path / "north.key", g.identities["north"].card.fingerprint
    assert command(
        *words, "--ledger", other, "--new-ledger", "--run", 9, cwd=tmp_path
    ).stderr.count(warning), "it begins, though the other one is there"
    note_use(key, tmp_path / "north.ledger", fingerprint)
    done = command(*words, "--ledger", other, "--run", 2, "--log-format", "json", cwd=tmp_path)
    (line,) = (each for each in map(loads, done.stderr.splitlines()) if warning in each["message"])
    assert (done.returncode, line["level"], line["event"]) == (75, "warning", "key")
    assert used_with_another(key, other, fingerprint) == "", "it is the key's from now on"
    assert used_with_another(key, tmp_path / "north.ledger", fingerprint)
    warn_of_another(key, tmp_path / "north.ledger", fingerprint, ask=True)
    assert "another ledger" in capsys.readouterr().out


def test_a_ledger_that_was_moved_is_the_same(key: Path, tmp_path: Path) -> None:
    ledger, moved = key.with_suffix(".ledger"), tmp_path / "moved.ledger"
    assert used_with_another(key, ledger, PRINT) == "", "the key is new"
    ledger.write_bytes(b"")
    note_use(key, ledger, PRINT)
    assert used_with_another(key, ledger, PRINT) == ""
    moved.symlink_to(ledger)
    assert used_with_another(key, moved, PRINT) == ""
    moved.unlink()
    ledger.rename(moved)
    assert used_with_another(key, moved, PRINT) == ""


def test_somebody_who_is_asked_sees_it_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    g = Gathering(tmp_path)
    g.save()
    for name in ("mine", "other"):
        with Ledger.open(tmp_path / f"{name}.ledger"):
            pass
    fingerprint = g.identities["north"].card.fingerprint
    note_use(tmp_path / "north.key", tmp_path / "mine.ledger", fingerprint)
    words = [word for word in g.words("north") if word != "--yes"]
    done = command(*words, "--ledger", tmp_path / "other.ledger", cwd=tmp_path)
    assert "no terminal to ask on" in done.stderr
    assert "another ledger" in " ".join(done.stdout.splitlines()[:2])


def test_it_is_asked_about_on_a_terminal_only(key: Path) -> None:
    ledger = key.with_suffix(".ledger")
    note_use(key, ledger, PRINT)
    with pytest.raises(FileError):
        miss_ledger(key, ledger, PRINT, ask=True)
    with patch.object(sys, "stdin") as terminal:
        terminal.isatty.return_value = True
        with pytest.raises(FileError):
            miss_ledger(key, ledger, PRINT, ask=False)
        with patch.object(typer, "confirm", return_value=True):
            miss_ledger(key, ledger, PRINT, ask=True)
        with patch.object(typer, "confirm", return_value=False), pytest.raises(typer.Exit):
            miss_ledger(key, ledger, PRINT, ask=True)
