"""Invariant: a file that is there and cannot be read is our own error, with status 1, in whatever
option of whatever command it stands; it is not wrong usage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import titan
from tests.cli.test_help import COMMANDS
from tests.cli.typed_words import make
from tests.without_rights import where_modes_count

LEAVES = {words: one for words, one in COMMANDS.items() if not hasattr(one, "list_commands")}


def test_no_option_of_any_command_asks_whether_a_file_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs this, root or not: the system is played, and says no."""
    place, seen = tmp_path / "mine", []
    place.write_text("")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    for words, command in LEAVES.items():
        context = command.context_class(command, info_name=" ".join(words))
        for parameter in command.params:
            value: Any = str(place)
            if getattr(parameter, "multiple", False) or parameter.nargs == -1:
                value = [value]
            try:
                found = parameter.process_value(context, value)
            except Exception as error:  # a number, say: what it is called depends on typer
                assert "readable" not in str(error), (words, parameter.name)  # noqa: PT017
                continue
            named = found if isinstance(found, list | tuple) else [found]
            if [str(each) for each in named] == [str(place)]:  # words that are no paths, too
                seen.append((words, parameter.name))
    assert {((one,), "save") for one in ("fit", "join")} < set(seen)
    assert len(seen) > 40, "all paths of all commands"


JOIN = ["join", "study.toml", "--as", "north", "--key", "north.key", "--data", "north.csv", "--yes"]
LINES = [
    ["fit", "{}", "--formula", "y ~ x"],
    ["average", "{}", "east.txt"],
    ["moments", "{}"],
    ["network", "check", "{}"],
    ["study", "check", "{}"],
    ["study", "sheet", "{}", "--out", "s.html"],
    ["study", "new", "--card", "{}", "--ask", "average", "--tau", "1", "--out", "new.toml"],
    ["keys", "show", "{}"],
    ["keys", "passphrase", "{}"],
    ["keys", "passphrase", "north.key", "--passphrase-file", "{}"],
    ["keys", "passphrase", "north.key", "--new-passphrase-file", "{}"],
    ["join", "{}", "--as", "north", "--key", "north.key", "--data", "north.csv", "--yes"],
    ["join", "study.toml", "--as", "north", "--key", "{}", "--data", "north.csv", "--yes"],
    ["join", "study.toml", "--as", "north", "--key", "north.key", "--data", "{}", "--yes"],
    ["join", "study.toml", "--as", "north", "--key", "north.key", "--part", "{}", "--yes"],
    ["prepare", "study.toml", "--data", "{}", "--out", "north.part"],
    ["prepare", "study.toml", "--data", "north.csv", "--out", "north.part", "--ledger", "{}"],
    ["rehearse", "{}", "--party", "site", "--formula", "y ~ x"],
    ["show", "{}"],
    ["verify", "{}"],
    ["audit", "{}"],
    ["report", "{}", "--out", "r.html"],
    ["status", "{}"],
    ["runs", "list", "{}"],
    ["ledger", "show", "{}"],
    [*JOIN, "--ledger", "{}"],
    [*JOIN, "--runs", "{}"],
    ["fit", "north.csv", "--formula", "y ~ x", "--save", "{}"],
    ["fit", "north.csv", "--formula", "y ~ x", "--save", "{}", "--force"],
]
FOLDERS = {"status", "runs", "--runs"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("unreadable")
    make(found)
    (found / "sealed").write_text("mine")
    (found / "sealed").chmod(0)
    (found / "shut").mkdir(mode=0)
    return found


@pytest.fixture(scope="module")
def elsewhere(place: Path) -> Iterator[Pool]:
    with where_modes_count(place / "sealed") as found:
        yield found


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_it_is_our_own_error(place: Path, elsewhere: Pool, line: list[str]) -> None:
    sealed = "shut" if FOLDERS & set(line) else "sealed"
    done = elsewhere.apply(titan, [word.format(sealed) for word in line], {"cwd": place})
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "titan: error: " in done.stderr
    assert sealed in done.stderr
    assert "permission denied" in done.stderr.lower()
    assert "Usage:" not in done.stderr
