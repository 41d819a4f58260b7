"""Invariant: what is wrong in the words typed is wrong usage, status 2, and the option is named;
what is wrong in a file, the rows, the study or the network is not.

Every option of every command has words here that cannot be right, so that a new one needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from tests.cli.test_help import COMMANDS
from tests.cli.typed_words import (
    LINES,
    MORE,
    NAMES_OF_COLUMNS,
    NAMES_OF_FILES,
    OTHERWISE,
    WRONG,
    make,
    with_query,
)

OPTIONS = {
    (" ".join(words), max(parameter.opts, key=len))
    for words, command in COMMANDS.items()
    if not hasattr(command, "list_commands")
    for parameter in command.params
    if parameter.param_type_name == "option" and not parameter.is_flag
}


def typed() -> Iterator[tuple[str, str, str]]:
    """Every option of every command at least once, and all words of an option at least once."""
    for option, wrong in WRONG.items():
        of = sorted(c for c, o in OPTIONS if o == option and (c, o) not in OTHERWISE)
        for at in range(max(len(of), len(wrong))):
            yield of[at % len(of)], option, wrong[at % len(wrong)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("typed")
    make(found)
    return found


def test_every_option_of_every_command_is_here() -> None:
    known = {*WRONG, *NAMES_OF_FILES, *NAMES_OF_COLUMNS}
    assert {option for _, option in OPTIONS} <= known, "give the new option words that are wrong"
    assert known <= {option for _, option in OPTIONS}
    assert {command for command, _ in OPTIONS} <= set(LINES)


@pytest.mark.parametrize(("command", "option", "words"), list(typed()))
def test_words_that_cannot_be_right(place: Path, command: str, option: str, words: str) -> None:
    before = {file.name for file in place.iterdir()}
    line = with_query(LINES[command]) if option == "--from" else LINES[command]
    more = MORE.get((command, option), ())
    done = titan(*command.split(), *line, *more, f"{option}={words}", cwd=place)
    assert done.returncode == 2, done.stderr
    assert re.search(rf"{option}\b", done.stderr), "the option is named"
    assert done.stdout == ""
    assert {file.name for file in place.iterdir()} == before, "nothing was begun"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('kind = "regression"', 'kind = "mars"'),
        ('"y ~ 1 + x"', '"y ~ ("'),
        ('recovery = "auto"', 'recovery = "mars"'),
        ('missing = "refuse"', 'missing = "mars"'),
        ("tau = 1", "tau = -1"),
        ("bits = 128", "bits = 0"),
    ],
)
def test_the_same_in_a_study_is_not_wrong_usage(place: Path, right: str, wrong: str) -> None:
    text = (place / "study.toml").read_text()
    assert right in text
    (place / "other.toml").write_text(text.replace(right, wrong, 1))
    done = titan("study", "check", "other.toml", cwd=place)
    assert done.returncode == 1, done.stderr
    assert "other.toml: " in done.stderr


def test_two_questions_of_one_name_typed_and_in_a_file(place: Path) -> None:
    line = (*LINES["study new"], "--ask", "describe: x; name=main")
    done = titan("study", "new", *line, cwd=place)
    assert done.returncode == 2
    assert "--ask 'describe: x; name=main': another question is called 'main'" in done.stderr
    text = (place / "study.toml").read_text()
    (asked,) = (line for line in text.splitlines() if 'kind = "regression"' in line)
    (place / "other.toml").write_text(text.replace(asked, f"{asked}\n{asked}"))
    done = titan("study", "check", "other.toml", cwd=place)
    assert done.returncode == 1
    assert "another question is called 'main'" in done.stderr


def test_a_variable_is_as_good_as_typed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITAN_FIT_RECOVERY", "mars")
    done = titan("fit", *LINES["fit"], cwd=place)
    assert done.returncode == 2
    assert "--recovery 'mars' is unknown" in done.stderr


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_path_that_names_no_file(place: Path, path: str) -> None:
    """As --key "$KEY" does where there is no such variable."""
    joined = ["join", "study.toml", "--as", "north", "--data", "north.csv", "--key", path, "--yes"]
    done = titan(*joined, cwd=place)
    assert (done.returncode, "cannot be read: is a directory" in done.stderr) == (1, True)
    done = titan("study", "sheet", "study.toml", "--out", path, cwd=place)
    assert (done.returncode, "does not end in .html" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        "fit nowhere.csv east.csv --formula y~x",
        "fit north.csv east.csv --formula y~nosuch",
        "fit north.csv east.csv --formula y~x --network nowhere.csv",
        "fit north.csv east.csv --formula y~x --tau 1",
        "fit all.csv --party nosuch --formula y~x",
        "survival north.csv east.csv --time nosuch --event d",
        "study check nowhere.toml",
        "network check cycle:5 --tau 2",
        "keys show nowhere.card",
    ],
)
def test_what_is_wrong_in_files_rows_and_networks(place: Path, words: str) -> None:
    done = titan(*words.split(), cwd=place)
    assert done.returncode == 1, done.stderr
