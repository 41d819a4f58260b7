"""Invariant: no file that is there is replaced without --force, or a yes at the terminal; and
nothing is computed before that is settled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import Gathering
from titan.cli.join import _is_of_run

ROWS = "y,a\n" + "".join(f"{i * i % 7},{i}\n" for i in range(40))
WRITERS = [
    (["fit", "all.csv", "--formula", "y ~ a", "--save", "{}"], "out.json"),
    (["network", "design", "5", "--tau", "1", "--out", "{}"], "out.csv"),
    (["privacy", "cycle:5", "--plot", "{}"], "out.png"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "all.csv").write_text(ROWS)
    return tmp_path


@pytest.mark.parametrize(("words", "name"), WRITERS, ids=[words[0] for words, _ in WRITERS])
def test_what_is_there_stays_unless_somebody_says_otherwise(
    folder: Path, words: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = [word.format(name) for word in words]
    (folder / name).write_text("mine")
    done = titan(*typed, cwd=folder)
    assert (done.returncode, done.stdout) == (1, ""), "nothing was computed"
    assert f"{name} exists already" in done.stderr
    assert "hint: --force replaces it" in done.stderr
    monkeypatch.setattr("titan.cli.output.at_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert titan(*typed, cwd=folder).returncode == 1
    assert (folder / name).read_text() == "mine"
    monkeypatch.setattr("typer.confirm", lambda *_, **__: pytest.fail("asked in spite of --force"))
    assert titan(*typed, "--force", cwd=folder).returncode == 0
    assert (folder / name).read_bytes() != b"mine"


def test_moments_made_before_are_not_replaced_either(folder: Path) -> None:
    assert titan("moments", "all.csv", cwd=folder).returncode == 0
    before = (folder / "all.moments").read_bytes()
    (folder / "all.csv").write_text(ROWS + "1,2\n")
    done = titan("moments", "all.csv", cwd=folder)
    assert (done.returncode, "all.moments exists already" in done.stderr) == (1, True)
    assert (folder / "all.moments").read_bytes() == before
    assert titan("moments", "all.csv", "--force", cwd=folder).returncode == 0
    assert (folder / "all.moments").read_bytes() != before


def test_the_same_join_may_save_again_and_no_other(tmp_path: Path) -> None:
    """It goes on where it stopped, so its own file is no reason to refuse."""
    saved, of = tmp_path / "it.json", {"study": "ab", "run": 1, "party": "north"}
    for told, same in (
        (of, True), (of | {"run": 2}, False), (of | {"study": "cd"}, False),
        (of | {"party": "east"}, False), ({}, False), ([], False),
    ):  # fmt: skip
        saved.write_text(json.dumps(told))
        assert _is_of_run(saved, "ab", 1, "north") is same
    saved.write_text("mine")
    assert not _is_of_run(saved, "ab", 1, "north")
    g = Gathering(tmp_path)
    g.save()
    done: Any = titan(*g.words("north", "--save", "it.json"), cwd=tmp_path)
    assert (done.returncode, "it.json exists already" in done.stderr) == (1, True)
    assert not g.run_folder("north").exists()
    assert saved.read_text() == "mine"
