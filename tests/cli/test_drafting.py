"""titan study new --like: kinds, steps and levels come from the rows, a range never unasked."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from tests.study.parties import save_cards
from titan.release import Category, Dictionary, Flag, Number
from titan.study import Study

NAMES = ("north", "east", "south")
ROWS = """id,age,y,sex,died,ward,shoe
a1,41,7.25,f,0,3,36
b2,67,8.5,m,1,10,45
c3,,9.75,f,1,3,41
"""
CARDS = [word for name in NAMES for word in ("--card", f"{name}.card")]
ASK = ["--ask", "regression: y ~ age + sex + C(ward)", "--ask", "describe: died"]
NEW = ["study", "new", *CARDS, *ASK, "--like", "rows.csv", "--tau", 1, "--out", "study.toml"]
RANGES = ["--range", "age=0:120", "--range", "y=0:300", "--flag", "died"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def place(tmp_path: Path) -> Path:
    save_cards(tmp_path, *NAMES)
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


DRAFTED = Dictionary.of(
    {
        "age": Number.read("0", "120", "1"),
        "y": Number.read("0", "300", "0.01"),
        "sex": Category(("f", "m")),
        "ward": Category(("3", "10")),
        "died": Flag(),
    }
)


def test_without_a_terminal_the_ranges_that_are_missing_are_listed(place: Path) -> None:
    done = titan(*NEW, cwd=place)
    assert done.returncode == 2
    assert "the range of age, y is missing, and what died is: rows.csv says" in done.stderr
    assert "add --range age=LOW:HIGH --flag died --range y=LOW:HIGH" in done.stderr
    assert not any(text in done.stderr for text in ("41", "67", "7.25", "9.75"))
    assert not (place / "study.toml").exists()
    done = titan(*NEW, *RANGES[:4], cwd=place)
    assert "what died is, is missing" in done.stderr


def test_the_rest_is_as_the_rows_have_it_and_is_shown(place: Path) -> None:
    done = titan(*NEW, *RANGES, cwd=place)
    assert done.returncode == 0, done.stderr
    it = Study.load(place / "study.toml")
    assert it.columns == DRAFTED, "and nothing of what no question reads"
    assert "all parties will see what rows.csv has: sex one of f, m; ward one of 3, 10; " in (
        done.stderr
    )
    assert "age in steps of 1; y in steps of 0.01" in done.stderr
    assert "a1" not in (place / "study.toml").read_text().partition("[[parties]]")[0]


def test_levels_that_few_rows_have_are_named_and_how_to_leave_them_out(place: Path) -> None:
    rows = ROWS + "d4,50,7,f,0,3,40\ne5,51,7,m,0,7,40\nf6,52,7,m,1,10,40\ng7,53,7,,1,10,40\n"
    (place / "rows.csv").write_text(rows)
    done = titan(*NEW, *RANGES, cwd=place)
    assert done.returncode == 0, done.stderr
    rare = "fewer than 3 rows with ward = 7, and all parties will see that it occurs"
    assert rare in done.stderr
    assert "leave it out with --levels ward=3,10, and merge such rows" in done.stderr
    assert "with sex =" not in done.stderr, "three rows have each"
    stricter = titan(*NEW, *RANGES, "--min-cell", 4, "--force", cwd=place)
    assert (
        "fewer than 4 rows with sex = f or m, and all parties will see that these occur"
        in stricter.stderr
    )
    assert "leave ward out of the questions" in stricter.stderr, "no level would be left"
    said = titan(*NEW, *RANGES, "--levels", "ward=3,10", "--force", cwd=place)
    assert (said.returncode, "warning" in said.stderr) == (0, False)


def test_what_is_said_goes_before_what_the_rows_have(place: Path) -> None:
    words = ["--step", "y=0.25", "--levels", "sex=m,f,x", "--unit", "age=years"]
    done = titan(*NEW, *RANGES, *words, cwd=place)
    assert done.returncode == 0, done.stderr
    found = Study.load(place / "study.toml").columns
    assert found["y"] == Number.read("0", "300", "0.25")
    assert found["sex"] == Category(("m", "f", "x"))
    assert found["age"] == Number.read("0", "120", "1", "years")
    assert "sex" not in done.stderr
    narrow = [*NEW, "--range", "age=50:60", *RANGES[2:], "--force"]
    assert "rows.csv has values outside the range of age" in titan(*narrow, cwd=place).stderr
    assert "warning: rows.csv has values outside the range of age (2 rows)" in (
        titan(*narrow, cwd=place).stderr
    )


def test_a_column_that_the_file_does_not_have_is_refused(place: Path) -> None:
    new = ["study", "new", *CARDS, "--like", "rows.csv", "--tau", 1, "--out", "study.toml"]
    done = titan(*new, "--formula", "y ~ agee + C(sex)", *RANGES, cwd=place)
    assert done.returncode == 1
    assert 'rows.csv has no column "agee"' in done.stderr
    assert 'did you mean "age"?' in " ".join(done.stderr.split())
    assert "--range agee" not in done.stderr
    done = titan(*new, "--formula", "y ~ age + Sex", *RANGES[:4], cwd=place)
    assert 'did you mean "sex"?' in " ".join(done.stderr.split())
    said = ["--range", "bmi=10:60", "--step", "bmi=1"]
    done = titan(*new, "--formula", "y ~ age + bmi", *RANGES[:4], *said, cwd=place)
    assert "no column" not in done.stderr, "others may have what is described"


def test_names_of_patients_do_not_become_levels(place: Path) -> None:
    names = "".join(f"patient {at},{at}\n" for at in range(51))
    (place / "rows.csv").write_text(f"who,age\n{names}")
    new = ["study", "new", *CARDS, "--like", "rows.csv", "--tau", 1, "--out", "study.toml"]
    done = titan(*new, "--ask", "describe", "--range", "age=0:120", cwd=place)
    assert done.returncode == 1
    assert "51 different texts in 'who', and at most 50 are taken from a file" in done.stderr
    assert "patient" not in done.stderr
    done = titan(*new, "--ask", "describe: age", "--range", "age=0:120", cwd=place)
    assert done.returncode == 0, done.stderr


def test_at_a_terminal_ranges_are_asked_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Terminal("60\n0:120\nflag\n0:300\n")
    monkeypatch.setattr(sys, "stdin", said)
    done = titan(*NEW, cwd=place)
    assert done.returncode == 0, done.stderr
    assert Study.load(place / "study.toml").columns == DRAFTED
    assert "not a range" in done.stderr, "what cannot be read is asked for again"
    assert "  60: not a range; write it as LOW:HIGH, such as 0:120\n" in done.stderr
    assert "--range" not in done.stderr, "which nobody has typed"
    assert not any(text in done.stderr for text in ("41", "67", "7.25", "9.75"))
    assert said.read() == ""
    monkeypatch.setattr(sys, "stdin", Terminal("0:121\n0:120\nflag\n0:300\n"))
    done = titan(*NEW, "--force", "--step", "age=5", cwd=place)
    assert "its step does not divide its range" in done.stderr, "the step that was said"
    assert Study.load(place / "study.toml").columns["age"] == Number.read("0", "120", "5")


def test_the_conditions_of_release_can_be_typed(place: Path) -> None:
    words = ["--policy", "safe-outputs", "--min-residual-df", 12, "--cells", "local"]
    assert titan(*NEW, *RANGES, *words, "--precision", 24, cwd=place).returncode == 0
    it = Study.load(place / "study.toml")
    assert (it.policy, it.min_cell, it.min_residual_df) == ("safe-outputs", 10, 12)
    assert (it.cells, it.precision) == ("local", 24)
    words = ["--force", "--min-cell", 2, "--precision", "exact"]
    assert titan(*NEW, *RANGES, *words, cwd=place).returncode == 0
    it = Study.load(place / "study.toml")
    assert (it.min_cell, it.precision) == (2, "exact")


@pytest.mark.parametrize(
    ("words", "message", "hint", "status"),
    [
        (["--policy", "lenient"], "--policy lenient", "--policy titan or --policy safe-outputs", 2),
        (["--cells", "open"], "--cells open", "--cells pooled or --cells local", 2),
        (["--precision", "some"], "--precision some is not", "--precision exact", 2),
        (["--precision", "7"], "--precision 7 is not", "from 8 to 64", 2),
        (["--precision", "9" * 5000], "is not a number of bits", "--precision exact", 2),
        (
            ["--levels", "sex=f,m,f"],
            "--levels sex=f,m,f: two of its levels are 'f'",
            "different",
            2,
        ),
        (["--levels", "ward=3,10,3.0"], "two of its levels are '3'", "different numbers", 2),
        (["--ask", "regression: y ~ hat"], 'rows.csv has no column "hat"', "there are", 1),
        (["--ask", "regression: age ~ log(y)"], "does not exist", "give 'y' a narrower range", 2),
        (
            ["--ask", 'regression: y ~ C(died, levels=["a", "b"])'],
            "which is a flag",
            "describe it",
            2,
        ),
        (["--ask", "solve: sex, age; response=y"], "a category in the dictionary", "", 2),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_that_were_typed(
    place: Path, words: list[str], message: str, hint: str, status: int
) -> None:
    done = titan(*NEW, *RANGES, *words, cwd=place)
    assert done.returncode == status
    assert message in done.stderr
    assert hint in done.stderr
    assert not (place / "study.toml").exists()


def test_a_file_is_advised_in_the_words_of_a_file(place: Path) -> None:
    assert titan(*NEW, *RANGES, cwd=place).returncode == 0
    text = (place / "study.toml").read_text()
    (place / "study.toml").write_text(text.replace("[columns.age]", "[columns.years]"))
    done = titan("study", "check", "study.toml", cwd=place)
    assert done.returncode == 1
    assert "does not say what 'age' is" in done.stderr
    assert 'range = ["0", "120"] of [columns.age]' in done.stderr
    assert 'kind = "flag" of [columns.age]' in done.stderr
    assert "--" not in done.stderr
    (place / "study.toml").write_text(text.replace('"titan"', '"lenient"'))
    assert "policy is 'lenient'" in titan("study", "check", "study.toml", cwd=place).stderr
