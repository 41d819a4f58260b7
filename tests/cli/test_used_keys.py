"""A key that was used has a ledger; where that is gone, nobody goes on without noticing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer

import titan
from tests.party.loopback import Gathering
from titan.cli.agreeing import miss_ledger
from titan.errors import FileError, WaitError
from titan.study.key_use import ledger_gone, note_use


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "north.key"


def test_a_new_key_has_no_ledger_yet(key: Path) -> None:
    assert ledger_gone(key, key.with_suffix(".ledger")) is None


def test_a_used_key_misses_its_ledger(key: Path) -> None:
    ledger = key.with_suffix(".ledger")
    ledger.write_bytes(b"")
    note_use(key, ledger)
    assert ledger_gone(key, ledger) is None
    ledger.unlink()
    error = ledger_gone(key, ledger)
    assert isinstance(error, FileError)
    assert "has taken part in runs" in error.message
    assert "--new-ledger" in error.hint
    assert key.with_suffix(".used").stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_lies_elsewhere_is_named(key: Path, tmp_path: Path) -> None:
    other = tmp_path / "safe.ledger"
    other.write_bytes(b"")
    note_use(key, other)
    error = ledger_gone(key, key.with_suffix(".ledger"))
    assert error is not None
    assert error.hint == f"name it: --ledger {other}"
    assert ledger_gone(key, other) is None


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


def test_it_is_asked_about_on_a_terminal_only(key: Path) -> None:
    ledger = key.with_suffix(".ledger")
    note_use(key, ledger)
    with pytest.raises(FileError):
        miss_ledger(key, ledger, ask=True)
    with patch.object(sys, "stdin") as terminal:
        terminal.isatty.return_value = True
        with pytest.raises(FileError):
            miss_ledger(key, ledger, ask=False)
        with patch.object(typer, "confirm", return_value=True):
            miss_ledger(key, ledger, ask=True)
        with patch.object(typer, "confirm", return_value=False), pytest.raises(typer.Exit):
            miss_ledger(key, ledger, ask=True)
