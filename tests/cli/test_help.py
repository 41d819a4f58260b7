"""Invariant: help is whole at 80 columns, the options that matter stand first, shells can complete,
and whoever types nothing but `titan` is told what to do next, in commands that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tests.cli.test_commands import titan
from titan.cli import app

WIDE = 80


def walk(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(None, name), *words, name)


COMMANDS = dict(walk(get_command(app)))
ONES = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDE))


def shown_by(words: tuple[str, ...]) -> str:
    """The help of a command, without going through a whole command line for each."""
    command, name = COMMANDS[words], " ".join(("titan", *words))
    context = command.context_class(command, info_name=name, auto_envvar_prefix="TITAN_X")
    return str(command.get_help(context))


def test_that_is_what_the_command_line_shows() -> None:
    expected = shown_by(("study", "new")).replace("TITAN_X_", "TITAN_STUDY_NEW_")
    assert titan("study", "new", "--help").stdout == f"{expected}\n"


def plain(text: str) -> str:
    """Without line breaks, and without those that a hyphen let in."""
    return re.sub(r"(?<=\w-) (?=\w)", "", " ".join(text.split()))


def panels(text: str) -> dict[str, list[str]]:
    """Heading → the options below it."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            found[line.removesuffix(":")] = []
        elif found and (option := re.match(r"  (?:-\w, )?(--[\w-]+)", line)):
            found[list(found)[-1]].append(option[1])
    return found


@ONES
def test_help_is_whole(words: tuple[str, ...]) -> None:
    shown, command = shown_by(words), COMMANDS[words]
    assert max(map(len, shown.splitlines())) <= WIDE
    told = plain(shown)
    assert "env var" not in told
    first = plain((command.help or "").split("\n\n")[0])
    assert first in told
    for parameter in command.params:
        assert plain(parameter.help or "").removesuffix("]") in told, parameter.name
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        inner = command.get_command(None, name)
        said = plain(inner.help.split("\n\n")[0]).removesuffix(".")
        assert f" {name} {said}" in told


@ONES
def test_every_command_has_an_example_and_few_options_first(words: tuple[str, ...]) -> None:
    command, shown = COMMANDS[words], shown_by(words)
    if hasattr(command, "list_commands"):
        return
    assert "Example:" in shown
    there = [option for options in panels(shown).values() for option in options]
    expected = [max(p.opts, key=len) for p in command.params if p.param_type_name == "option"]
    assert sorted(there) == sorted([*expected, "--help"]), "each once"
    assert len(panels(shown)["Options"]) <= 5, "the five that matter"
    required = {max(p.opts, key=len) for p in command.params
                if p.required and p.param_type_name == "option"}  # fmt: skip
    assert required <= {*panels(shown).get("Options", ())}, "what must be given stands first"


def test_nothing_typed_says_what_to_do_next(tmp_path: Path) -> None:
    done = titan(cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= WIDE
    assert "In this folder" not in done.stdout
    typed = re.findall(r"^  titan (.+)$", done.stdout, re.MULTILINE)
    assert len(typed) >= 6
    for line in typed:
        words = tuple(word for word in line.split()[:2] if not word.startswith("-"))
        known = [words[:n] for n in (2, 1) if words[:n] in COMMANDS]
        options = {option for p in COMMANDS[known[0]].params for option in p.opts}
        assert set(re.findall(r"--[\w-]+", line)) <= options, line


def test_what_lies_in_the_folder_is_named(tmp_path: Path) -> None:
    for name in ("study.toml", "north.key", "pyproject.toml", "runs/x y/journal.db",
                 "runs/x y/result.json", "kept/runs/north/a/result.json"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    said = titan(cwd=tmp_path).stdout.partition("In this folder:")[2].splitlines()
    assert [line.strip() for line in said[1:8]] == [
        "titan study check study.toml",
        "titan join study.toml --as north --data north.csv --key north.key",
        "titan status",
        "titan show 'runs/x y'",
        "titan report 'runs/x y' --out report.html",
        "titan show kept",
        "titan report kept --out report.html",
    ]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("titan stu", {"study"}),
        ("titan study ", {"new", "check", "sheet"}),
        ("titan fit --for", {"--formula", "--force"}),
        ("titan dem", {"demo"}),
    ],
)
def test_shells_complete(typed: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TITAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    assert set(titan().stdout.split()) == expected
