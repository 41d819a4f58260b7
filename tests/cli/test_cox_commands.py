"""titan cox: the same numbers as the library, a study drafted from rows, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import titan as library
from tests.cli.test_commands import answer, titan
from tests.joint.test_cox_study import rows_of
from tests.study.parties import save_cards

WORDS = ["--formula", 'x + C(arm, levels=["a", "b"])', "--time", "months", "--event", "died"]
NAMES = ("north", "east", "south")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, own in rows_of().items():
        lines = [",".join(map(str, cells)) for cells in zip(*own.values(), strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(own), *lines]) + "\n")
    return tmp_path


def test_it_is_the_library_s_answer(place: Path) -> None:
    files = [f"{name}.csv" for name in NAMES]
    out = answer("cox", *files, *WORDS, "--grid", 3, "--tau", 1, "--save", "hr.json", cwd=place)
    theirs = library.cox(
        [str(place / name) for name in files], "cycle", formula=WORDS[1], time="months",
        event="died", grid=3, tau=1,
    )  # fmt: skip
    assert out["params"] == dict(theirs.params)
    assert out["hazard_ratios"] == dict(theirs.hazard_ratios)
    assert out["parties"] == list(NAMES)
    surv = ["--formula", "Surv(months, died) ~ x", "--precision", "exact", "--ties", "breslow"]
    done = titan("cox", "north.csv", *surv, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "One party alone: 60 rows" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--time", "months"], "event=None is not the name of a column"),
        (["--time", "months", "--event", "nowhere"], "nowhere"),
        (["--time", "months", "--event", "died", "--ties", "exact"], "ties='exact'"),
        (["--time", "months", "--event", "died", "--precision", "fine"], "--precision"),
        (["--time", "months", "--event", "died", "--tau", "1"], "no meaning for one party"),
    ],
)
def test_what_cannot_be_asked(place: Path, words: list[str], said: str) -> None:
    done = titan("cox", "north.csv", "--formula", "x", *words, cwd=place)
    assert done.returncode not in (0, 3, 75)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_is_drafted_checked_and_printed(place: Path) -> None:
    save_cards(place, *NAMES)
    cards = [word for name in NAMES for word in ("--card", f"{name}.card")]
    ask = ["--ask", "cox: Surv(months, died) ~ x + arm; grid=3; name=hr", "--like", "north.csv"]
    ranges = ["--range", "months=0:60", "--range", "x=0:20", "--levels", "arm=a,b"]
    new = ["study", "new", *cards, *ask, *ranges, "--tau", 1, "--out", "study.toml"]
    done = titan(*new, cwd=place)
    assert done.returncode == 0, done.stderr
    text = (place / "study.toml").read_text()
    assert '[columns.months]\nkind = "time"' in text
    assert '[columns.died]\nkind = "flag"' in text
    assert 'title = "How the hazard of died depends on x, arm"' in text
    told = answer("study", "check", "study.toml", "--data", "north.csv", "--as", "north", cwd=place)
    assert len(told["questions"][0]["sums"]) == 24
    done = titan("study", "sheet", "study.toml", "--out", "sheet.html", cwd=place)
    assert done.returncode == 0
    assert "proportional hazards" in (place / "sheet.html").read_text()
