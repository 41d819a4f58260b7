"""`titan ledger`: what a party has taken part in, and what it may take back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, run
from titan.cli import main
from titan.errors import PeerError
from titan.study.audit import JOURNAL
from titan.study.ledger import Ledger

Titan = Callable[..., tuple[int, str, str]]


@pytest.fixture
def titan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Titan:
    """The command in this process: its status, what it printed, and its errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: object) -> tuple[int, str, str]:
        with patch("sys.argv", ["titan", *map(str, words)]), pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return command


def begun(g: Gathering, number: int = 1) -> Path:
    """Nobody else came: nothing was sent."""
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", wait=0.1, run=number))
    return g.run_folder("north", number)


def test_runs_are_shown_and_rows_are_not(tmp_path: Path, titan: Titan) -> None:
    g = Gathering(tmp_path)
    begun(g)
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        ledger.mark_vetoed(g.study.digest, 1)
    status, text, _ = titan("ledger", "show")
    assert status == 0
    for said in (
        "On loopback, run 1",
        g.study.digest,
        "north, east, south",
        "y ~ 1 + x + z",
        "veto",
    ):
        assert said in text
    _, named, _ = titan("ledger", "show", "north.ledger", "--json")
    _, text, _ = titan("ledger", "show", "--ledger", "north.ledger", "--json")
    assert named == text
    (shown,) = json.loads(text)["runs"]
    assert shown.pop("date")
    asked = [{"name": "q1", "question": str(g.study.questions[0])}]
    assert shown == {
        "study": g.study.digest, "title": "On loopback", "run": 1, "tau": 1, "vetoed": True,
        "parties": ["north", "east", "south"], "questions": asked, "allowed": False,
    }  # fmt: skip


def test_runs_that_rows_could_not_be_used_for_are_shown(tmp_path: Path, titan: Titan) -> None:
    """They count as vetoes, so whoever is refused at the fourth can see the three before."""
    g = Gathering(tmp_path)
    begun(g)
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        asked = {"q1": ("y ~ x", ("y", "x")), "q2": ("describe", ("x", "z"))}
        ledger.record_refusal(g.study.digest, 2, asked)
    text = titan("ledger", "show")[1]
    assert f"run 2 of study {g.study.digest[:12]}: rows that could not be used here" in text
    assert "2 runs in north.ledger" in text
    (refused,) = json.loads(titan("ledger", "show", "--json")[1])["refused"]
    assert refused == {"study": g.study.digest, "run": 2, "columns": ["x", "y", "z"]}


def test_what_never_left_is_withdrawn(tmp_path: Path, titan: Titan) -> None:
    g = Gathering(tmp_path)
    folder = begun(g)
    assert titan("ledger", "withdraw", folder)[0] == 0
    assert json.loads(titan("ledger", "show", "--json")[1])["runs"] == []
    rows = (tmp_path / "north.csv").read_text().splitlines(keepends=True)
    g.write("north", "".join(rows[:-1]))
    begun(g, 2)  # one row fewer is no matter now
    g.write("north", "".join(rows))
    status, _, told = titan("join", *join_words(g), "--wait", 0.1)
    assert (status, "only a few of this party's rows differ" in told) == (3, True)


def join_words(g: Gathering) -> list[Any]:
    """The run that was withdrawn, again: what it will use is compared anew."""
    g.save()
    g.run_folder("north").rename(g.folder / f"{g.study.digest[:12]}-run1-north")
    return [*g.words("north")[1:], "--runs", g.folder]


def test_what_may_have_left_is_not(tmp_path: Path, titan: Titan) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    status, _, told = titan("ledger", "withdraw", g.run_folder("north"))
    assert status == 3
    assert "its journal has masked vectors of north" in told
    (g.run_folder("north") / JOURNAL).unlink()
    status, _, told = titan("ledger", "withdraw", g.run_folder("north"))
    assert (status, "nothing proves" in told) == (3, True)
    begun(g, 2)
    (g.run_folder("north", 2) / JOURNAL).unlink()
    status, _, told = titan("ledger", "withdraw", begun(g, 2))
    assert (status, "begun more than once" in told) == (3, True)
    assert (
        len(json.loads(titan("ledger", "show", "--ledger", "north.ledger", "--json")[1])["runs"])
        == 2
    )


def test_a_run_that_is_not_there(tmp_path: Path, titan: Titan) -> None:
    """No rule refuses anything: there is nothing to withdraw."""
    (tmp_path / "file").touch()
    for name in ("nothere", "file"):
        status, _, told = titan("ledger", "withdraw", name)
        assert (status, f'there is no such run: "{name}"' in told) == (1, True)


def test_which_ledger(tmp_path: Path, titan: Titan) -> None:
    g = Gathering(tmp_path)
    assert "there is no ledger here" in titan("ledger", "show")[2]
    assert "there is no ledger at" in titan("ledger", "show", "--ledger", "north.ledger")[2]
    assert "there is no ledger at" in titan("ledger", "show", "north.ledger")[2]
    both = "ledger", "show", "a.ledger", "--ledger", "b.ledger"
    assert "two ledgers are named" in titan(*both)[2]
    assert not (tmp_path / "north.ledger").exists()
    for mode in (0o644, 0o600):
        (tmp_path / "north.csv").chmod(mode)
        status, _, told = titan("ledger", "show", "north.csv")
        assert (status, "it is not a ledger" in told) == (1, True)
        assert "chmod" not in told, "rows need not be made private for this"
    folder = begun(g)
    (tmp_path / "north.ledger").rename(tmp_path / "other.ledger")
    assert "the ledger of north is not here" in titan("ledger", "withdraw", folder)[2]
    Ledger.open(tmp_path / "third.ledger").close()
    assert "there are 2 ledgers here" in titan("ledger", "show")[2]
    assert titan("ledger", "withdraw", folder, "--ledger", "other.ledger")[0] == 0
