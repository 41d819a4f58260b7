"""Survival on the command line: one process, a study drafted from rows, a picture of a kept run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.test_commands import answer, titan
from tests.joint.trial import trial
from tests.study.parties import save_cards
from titan import load

COLUMNS = ["--time", "months", "--event", "died", "--by", "arm"]
ASK = ["--ask", "survival: months, died; by=arm; grid=6; until=24; name=os"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = trial()
    lines = [",".join(map(str, cells)) for cells in zip(*rows.values(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(rows), *lines]) + "\n")
    return tmp_path


def test_one_file_divided_among_parties_and_its_picture(place: Path) -> None:
    words = ["survival", "rows.csv", "--party", "hospital", *COLUMNS, "--tau", 1]
    done = titan(*words, "--grid", 6, "--until", 24, "--plot", "os.png", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Log-rank test: chi-squared" in done.stdout
    assert "nothing else." in done.stdout
    assert (place / "os.png").exists()
    refused = titan(*words, "--grid", 2, cwd=place)
    assert refused.returncode == 3
    (grid,) = re.findall(r"titan: hint: --grid (\d+) would do", refused.stderr)
    assert "grid=" not in refused.stderr
    assert titan(*words, "--grid", grid, cwd=place).returncode == 0
    alone = answer("survival", "rows.csv", *COLUMNS, "--grid", 6, cwd=place)
    assert alone["groups"]["arm = a"]["at_risk"][0] + alone["groups"]["arm = b"]["nobs"] == 600
    assert alone["logrank"]["df"] == 1


def test_a_study_is_drafted_from_rows_but_for_the_range_of_times(place: Path) -> None:
    save_cards(place, "north", "east", "south")
    cards = [word for name in ("north", "east", "south") for word in ("--card", f"{name}.card")]
    new = ["study", "new", *cards, *ASK, "--like", "rows.csv", "--tau", 1, "--out", "study.toml"]
    done = titan(*new, cwd=place)
    assert "the range of months is missing" in done.stderr
    assert "died" not in done.stderr.split("hint")[0], "an event is 0 or 1"
    done = titan(*new, "--range", "months=0:60", "--unit", "months=months", cwd=place)
    assert done.returncode == 0, done.stderr
    text = (place / "study.toml").read_text()
    assert '[columns.months]\nkind = "time"' in text
    assert '[columns.died]\nkind = "flag"' in text
    assert 'title = "How long until died, by arm"' in text
    told = answer("study", "check", "study.toml", cwd=place)
    (asked,) = told["questions"]
    assert [each["name"] for each in asked["sums"]] == ["counts", "events"]
    assert [each["entries"] for each in asked["sums"]][1] == 8
    opened = " ".join(item["sentence"] for item in told["learned"])
    assert "how many leave, with died or without, in each of 4 intervals of months" in opened
    done = titan("study", "sheet", "study.toml", "--out", "sheet.html", cwd=place)
    assert done.returncode == 0
    assert "how long until died: survival curves" in (place / "sheet.html").read_text()


def test_a_saved_answer_is_shown_and_drawn(place: Path) -> None:
    import titan as library

    rows = str(place / "rows.csv")
    library.survival(rows, time="months", event="died", grid=12).save(place / "kept.json")
    done = titan("show", "kept.json", "--plot", "all.svg", cwd=place)
    assert done.stdout.strip() == load(place / "kept.json")[0].summary()
    assert "<svg" in (place / "all.svg").read_text()
    library.describe(rows, columns=["months"]).save(place / "table.json")
    done = titan("show", "table.json", "--plot", "all.svg", cwd=place)
    assert "no answer here has a picture" in done.stderr
