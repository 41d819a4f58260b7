"""Invariant: `join` asks before anything is sent, silence is not a no, what is over is shown."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer import Abort

from tests.cli.test_commands import Done, titan
from tests.party.loopback import Gathering, run
from titan.party.taking_part import Party


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())


def join(g: Gathering, *more: object) -> Done:
    g.save()
    return titan(*(word for word in g.words("north", *more) if word != "--yes"), cwd=g.folder)


def asking(answer: Any) -> Any:
    return patch("typer.confirm", side_effect=answer)


def test_neither_yes_nor_no_is_told_to_nobody(tmp_path: Path) -> None:
    """Ctrl-C or Ctrl-D: typer turns both into Abort."""
    with asking(Abort), patch.object(Party, "stay_away") as told:
        done = join(Gathering(tmp_path))
    assert not told.called
    assert done.returncode == 75
    assert "nothing was sent, and nobody was told: the same command asks again" in done.stderr
    assert "Aborted" not in done.stderr
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "north.ledger").exists()


def test_nor_is_an_end_while_the_rows_are_looked_at(tmp_path: Path) -> None:
    with patch.object(Party, "look", side_effect=KeyboardInterrupt):
        done = join(Gathering(tmp_path))
    assert (done.returncode, "nobody was told" in done.stderr) == (75, True)


def over(folder: Path, **changes: Any) -> Gathering:
    g = Gathering(folder, changes=changes)
    run(g.ends())
    (folder / "runs").mkdir()
    g.run_folder("north").rename(folder / "runs" / f"{g.study.digest[:12]}-run1-north")
    return g


def test_a_run_that_is_over_is_shown_and_nobody_is_asked(tmp_path: Path) -> None:
    g = over(tmp_path)
    with asking(AssertionError):
        done = join(g)
    assert done.returncode == 0
    assert "36" in done.stdout, "the rows of all"
    assert "Every party will learn" not in done.stdout
    assert "looking at the rows" not in done.stderr


def test_so_is_one_that_was_refused(tmp_path: Path) -> None:
    g = over(tmp_path, min_rows_total=40)
    with asking(AssertionError):
        done = join(g)
    assert done.returncode == 3
    assert "rows" in done.stderr.partition("titan: error:")[2]


def test_the_next_run_asks_again(tmp_path: Path) -> None:
    g = over(tmp_path)
    with asking([False]) as asked, patch.object(Party, "stay_away", return_value=None):
        done = join(g, "--run", 2)
    assert (asked.call_count, done.returncode) == (1, 1)
