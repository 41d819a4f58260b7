"""One's own file: `titan study check --data` beforehand, and what `join` shows before it asks."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.test_commands import Done, titan
from tests.party.loopback import Gathering, rows
from tests.study.studies import regression
from titan.joint.kinds import Question
from titan.party.taking_part import Party
from titan.release import Category, Dictionary, Number

SITE = "y ~ x + site"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def gathered(folder: Path, **changes: Any) -> Gathering:
    g = Gathering(folder, changes=changes)
    g.save()
    return g


def check(folder: Path, *words: object) -> Done:
    given = words or ("--data", "north.csv", "--as", "north")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = titan("study", "check", "study.toml", *given, cwd=folder)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before, "nothing is written"
    return done


def outlying(name: str = "north", *values: str) -> str:
    return rows(name) + "".join(f"{value},1,1\n" for value in values or ("98765.5",))


# -- study check --------------------------------------------------------------------------------


def test_a_file_that_passes(tmp_path: Path) -> None:
    gathered(tmp_path)
    done = check(tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("your rows: 12 read\n"), "before what is the same for all"
    assert "nothing in these rows alone would be refused" in done.stdout
    assert not done.stderr


def test_what_would_be_a_veto(tmp_path: Path) -> None:
    g = gathered(tmp_path)
    g.write("north", outlying("north", "98765.5", "-98765.5"))
    done = check(tmp_path)
    assert done.returncode == 3
    assert "2 values outside the study's range, -10000 to 10000" in done.stderr
    assert "north would veto, which ends the run for all" in done.stdout
    assert "98765" not in done.stdout + done.stderr
    done = check(tmp_path, "--data", "north.csv", "--as", "north", "--json")
    assert done.returncode == 3
    own = json.loads(done.stdout)["own_rows"]
    assert set(own) == {"party", "outcome", "questions", "rounded", "vetoes", "mistakes", "notes"}
    assert (own["party"], own["outcome"]) == ("north", "veto")
    assert own["questions"] == [{"name": "q1", "rows": 14, "used": 14, "dropped": 0}]
    (veto,) = own["vetoes"]
    assert (veto["rule"], veto["cell"]) == ("range", "x")
    assert own["mistakes"] == []


def test_mistakes_in_the_file(tmp_path: Path) -> None:
    g = gathered(tmp_path)
    g.write("north", rows("north") + "1,much,2\n,4,5\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert 'line 14, column "z"' in done.stderr
    assert '1 missing in "x"' in done.stderr
    assert 'missing = "drop" in the study' in done.stderr, "as it is typed"
    assert "nothing would be sent" in done.stdout
    assert "14 read, of which 1 has gaps" in done.stdout, "none is dropped where gaps are refused"
    assert "in the study it is a number" in " ".join(done.stderr.split())
    assert "C(z" not in done.stderr
    done = check(tmp_path, "--data", "absent.csv", "--as", "north", "--json")
    assert done.returncode == 1
    assert "absent.csv" in json.loads(done.stdout)["own_rows"]["mistakes"][0]["problem"]


def test_rounding_gaps_and_levels_are_told(tmp_path: Path) -> None:
    columns = Dictionary.of(
        {"x": Number.read("0", "998", "2"), "y": Number.read("0", "999", "1"),
         "site": Category(("Boston", "Lyon"))}
    )  # fmt: skip
    g = gathered(tmp_path, formula=SITE, columns=columns, missing="drop")
    lines = [f"{at + 1},{7 * at % 50},Boston" for at in range(20)]
    g.write("north", "\n".join(["x,y,site", *lines, "2,,Boston"]) + "\n")
    done = check(tmp_path)
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert "21 read, of which 1 dropped for gaps" in said
    assert "10 values of x rounded to the study's steps" in said
    assert "all your rows have site = Boston: if no other party has that level" in said


def test_many_small_cells_are_all_in_the_json(tmp_path: Path) -> None:
    levels = tuple(f"s{at}" for at in range(20))
    g = gathered(tmp_path, formula=SITE, columns=Dictionary.of({"site": Category(levels)}),
                 cells="local")  # fmt: skip
    g.write("north", "x,y,site\n" + "".join(f"{at},{at},s{at}\n" for at in range(20)))
    done = check(tmp_path)
    assert done.returncode == 3
    assert "and 8 more (--json lists all)" in done.stderr
    done = check(tmp_path, "--data", "north.csv", "--as", "north", "--json")
    assert len(json.loads(done.stdout)["own_rows"]["vetoes"]) == 20


def test_a_file_for_each_question(tmp_path: Path) -> None:
    asked = (
        regression("y ~ x", name="main"),
        Question("describe", "table", (("columns", ("x",)),)),
    )
    gathered(tmp_path, questions=asked)
    pairs = ["--data", "main=north.csv", "--data", "table=east.csv", "--as", "north"]
    assert check(tmp_path, *pairs).returncode == 0
    done = check(tmp_path, "--data", "main=north.csv", "--as", "north")
    assert done.returncode == 2
    assert "does not give one file for each question" in done.stderr


def test_both_options_or_neither(tmp_path: Path) -> None:
    gathered(tmp_path)
    for words in (["--data", "north.csv"], ["--as", "north"]):
        done = check(tmp_path, *words)
        assert done.returncode == 2
        assert "--data and --as go together" in done.stderr
    assert titan("study", "check", "study.toml", cwd=tmp_path).returncode == 0
    done = check(tmp_path, "--data", "north.csv", "--as", "nobody")
    assert done.returncode == 2
    assert "nobody" in done.stderr


def test_help_has_an_example() -> None:
    shown = titan("study", "check", "--help").stdout
    assert "titan study check study.toml --data north.csv --as north" in shown


# -- join ---------------------------------------------------------------------------------------


def join(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, yes: bool = False
) -> tuple[Done, list[str]]:
    """Without --yes, at a terminal where somebody answers; what was asked."""
    asked: list[str] = []

    def confirm(text: str) -> bool:
        asked.append(text)
        return yes

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr(sys, "stdin", Terminal())
    words = ["--data", "north.csv", "--key", "north.key"]
    return titan("join", "study.toml", "--as", "north", *words, cwd=folder), asked


def test_a_veto_stands_in_the_prompt_and_a_no_is_told_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who declines because of its rows must not say so: the others would know whose they are."""
    g = gathered(tmp_path)
    g.write("north", outlying())
    with patch.object(Party, "decline") as decline:
        done, asked = join(tmp_path, monkeypatch)
        assert not decline.called
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "YOUR ROWS WOULD END THE RUN FOR ALL" in said
    assert "Everybody would learn that somebody refuses" in said
    assert "three vetoes" in said
    assert 'line 14, column "x": a value outside the study\'s range, -10000 to 10000' in said
    assert "mend the rows and give this command again" in said
    assert asked == ["Take part, although your rows would end the run for all?"]
    assert not (tmp_path / "north.ledger").exists()
    assert not (tmp_path / "runs").exists()


def test_nothing_wrong_is_said_of_rows_that_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered(tmp_path)
    with patch.object(Party, "decline", return_value=True) as decline:
        done, asked = join(tmp_path, monkeypatch)
        assert decline.called
    assert asked == ["Take part?"]
    assert "your rows: 12 read" in done.stdout
    assert "YOUR ROWS" not in done.stdout
    assert "Nothing was sent, but that north does not take part." in done.stdout


def test_a_mistake_ends_it_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = gathered(tmp_path)
    g.write("north", rows("north") + "1,much,2\n")
    with patch.object(Party, "stay_away") as told:
        done, asked = join(tmp_path, monkeypatch, yes=True)
        assert not told.called
    assert done.returncode == 1
    assert asked == []
    assert "YOUR FILE CANNOT BE USED AS IT IS" in done.stdout
    assert 'line 14, column "z"' in done.stderr


def test_what_was_found_is_what_takes_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gathered(tmp_path)
    with patch.object(Party, "take_part", autospec=True, side_effect=KeyboardInterrupt) as began:
        done, asked = join(tmp_path, monkeypatch, yes=True)
    assert done.returncode == 75
    assert asked == ["Take part?"]
    (party, _), _ = began.call_args
    assert party.prepared is not None
    assert party.prepared.parts["q1"].moments.rows == 12


def test_with_yes_nothing_is_looked_at_beforehand(tmp_path: Path) -> None:
    gathered(tmp_path)
    words = ["--as", "north", "--data", "north.csv", "--key", "north.key", "--yes"]
    began = patch.object(Party, "take_part", side_effect=KeyboardInterrupt)
    with began, patch.object(Party, "look") as look:
        assert titan("join", "study.toml", *words, cwd=tmp_path).returncode == 75
        assert not look.called
