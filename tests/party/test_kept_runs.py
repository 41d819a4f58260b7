"""Runs that are kept are listed; one that is given up has no secrets left, and never goes on."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.party.loopback import Gathering, run
from tests.study.runs import beginning
from tests.without_rights import where_modes_count
from titan.cli import app
from titan.errors import InputError, PeerError, WaitError
from titan.study.audit import STATUS
from titan.study.journal import Journal
from titan.study.kept_runs import kept_runs


def runs(*words: object) -> Any:
    """What a command prints, as JSON."""
    done = CliRunner().invoke(app, ["runs", *map(str, words), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout)


@pytest.fixture
def g(tmp_path: Path) -> Gathering:
    """North waited for others in vain."""
    g = Gathering(tmp_path)
    with pytest.raises(WaitError):
        run(g.join("north", wait=0.1))
    return g


def cleaned(*folders: Path) -> dict[str, list[str]]:
    return {"cleaned": [*map(str, folders)], "running": []}


def states(g: Gathering) -> dict[str, tuple[str, bool]]:
    return {
        Path(r["folder"]).name: (r["state"], r["secrets"]) for r in runs("list", g.folder)["runs"]
    }


def test_what_was_cleaned_before_it_began_can_begin(tmp_path: Path) -> None:
    """A process died before its journal knew a run; nothing was sealed under that key."""
    with Journal.open(tmp_path / "journal.db"):
        pass
    assert runs("clean", tmp_path, "--yes") == cleaned(tmp_path)
    (found,) = runs("list", tmp_path)["runs"]
    assert (found["state"], found["secrets"]) == ("empty", False)
    with Journal.open(tmp_path / "journal.db") as journal:
        state = beginning(journal)
    with Journal.open(tmp_path / "journal.db") as journal:
        assert journal.state == state


def test_a_run_that_is_given_up_says_so_to_all(g: Gathering) -> None:
    folder = g.run_folder("north")
    key = (folder / "journal.db.secret").read_bytes()
    assert states(g) == {"north-run1": ("resumable", True)}
    assert (folder / STATUS).exists()
    (found,) = runs("list", folder)["runs"]
    assert (found["study"], found["run"], found["party"]) == (g.study.digest, 1, "north")

    with pytest.raises(InputError, match="no terminal to ask on"):
        runs("clean", g.folder)
    assert runs("clean", g.folder, "--older-than", 1, "--yes") == cleaned()
    assert states(g) == {"north-run1": ("resumable", True)}
    assert runs("clean", g.folder, "--yes") == cleaned(folder)
    assert states(g) == {"north-run1": ("given up", False)}
    assert not (folder / STATUS).exists(), "it would tell of a run that goes on"
    assert not any(key[:32] in file.read_bytes() for file in folder.iterdir())
    assert (g.folder / "north.ledger").exists()

    found = run(g.errors())
    assert "run 1 of this study was given up on" in found["north"].message
    assert "run 2" in found["north"].hint
    for name in ("east", "south"):
        assert isinstance(found[name], PeerError)
        assert found[name].exit_status == 1
    assert not g.shown
    run(g.all(run=2))
    assert set(states(g).values()) == {
        ("given up", False),
        ("no answer", False),
        ("answered", False),
    }


@pytest.mark.parametrize("python", ["as it is", "3.14"])
def test_a_folder_that_cannot_be_read_hides_no_other_run(
    tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.14 on, pathlib raises nothing where it may not look: it says that no file is
    there."""
    if python == "3.14":
        monkeypatch.setattr(Path, "is_file", lambda path: os.path.isfile(path))  # noqa: PTH113
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Journal.open(tmp_path / name / "journal.db").close()
    (tmp_path / "one").chmod(0)
    try:
        with where_modes_count(tmp_path / "one") as elsewhere:
            found = elsewhere.apply(kept_runs, (tmp_path,))
    finally:
        (tmp_path / "one").chmod(0o700)
    assert {run.folder.name: (run.state, run.secrets) for run in found} == {
        "one": ("unreadable", None),
        "two": ("empty", True),
    }


def test_what_runs_or_cannot_be_read_is_listed_too(g: Gathering) -> None:
    folder = g.run_folder("north")
    with Journal.open(folder / "journal.db"):
        assert states(g) == {"north-run1": ("running", True)}
        (found,) = runs("list", g.folder)["runs"]
        assert (found["study"], found["run"], found["party"]) == (g.study.digest, 1, "north")
        assert runs("clean", g.folder, "--yes") == {"cleaned": [], "running": [str(folder)]}
        done = CliRunner().invoke(app, ["runs", "clean", str(g.folder), "--yes"])
        assert (done.exit_code, done.stdout) == (75, "secrets of 0 runs erased\n")
        assert f"{folder}: another process is at this run" in done.stderr
        (folder / STATUS).write_text("[]")
        assert runs("list", g.folder)["runs"][0]["study"] is None
    with sqlite3.connect(folder / "journal.db") as damaged:
        damaged.execute("PRAGMA application_id = 7")
    damaged.close()
    assert states(g) == {"north-run1": ("unreadable", True)}
    assert runs("clean", g.folder, "--yes") == cleaned(folder)
    assert states(g) == {"north-run1": ("unreadable", False)}
    assert not (folder / STATUS).exists(), "it would say that the same command goes on"
