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
