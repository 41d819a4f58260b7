"""The laboratory adds commands, and titan does not depend on it.

Without it titan has its own commands; with it, a command of titan's own never loads it.
"""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
import typer

from tests.cli.test_commands import titan
from titan.cli import added_commands

OWN = [
    "network show cycle:3",
    "join --help",
    "fit --help",
    "rehearse --help",
    "--version",
]


def run_here(words: str) -> str:
    """Which modules of the laboratory a command has loaded, in a process of its own."""
    code = (
        "import contextlib, io, sys, titan.cli\n"
        f"sys.argv = ['titan', *{words.split()!r}]\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    titan.cli.main()\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'titan_lab'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("words", OWN)
def test_a_command_of_titan_s_own_never_loads_the_laboratory(words: str) -> None:
    assert run_here(words) == "[]"


def test_the_laboratory_s_own_command_does() -> None:
    assert "titan_lab.cli.compare" in run_here("compare --help")


def remove_laboratory(patch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "titan_lab"]:
        patch.delitem(sys.modules, name)
    patch.setitem(sys.modules, "titan_lab", None)


def test_titan_works_without_the_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\n  compare " in titan("--help").stdout
    remove_laboratory(monkeypatch)
    listed = titan("--help")
    assert listed.returncode == 0
    assert "\n  join " in listed.stdout
    assert "\n  compare " not in listed.stdout
    assert "\n  reproduce " not in listed.stdout
    assert titan("network", "show", "cycle:3").returncode == 0
    for name in ("compare", "demo", "privacy"):
        missing = titan(name)
        assert missing.returncode == 2
        assert f"No such command '{name}'" in missing.stderr


def test_a_package_that_is_broken_is_not_taken_for_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remove_laboratory(monkeypatch)
    monkeypatch.delitem(sys.modules, "titan_lab")
    monkeypatch.setitem(sys.modules, "titan_lab.cli.compare", None)
    with pytest.raises(ModuleNotFoundError, match=r"titan_lab\.cli\.compare"):
        titan("compare", "--help")


def test_an_added_command_cannot_replace_one_of_titan_s(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer(rich_markup_mode=None)

    @app.command("verify")
    def another() -> None:
        print("not titan's")

    @app.command("greet")
    def greet() -> None:
        """Say hello."""
        print("hello")

    module = ModuleType("further.cli")
    module.__dict__["app"] = app
    monkeypatch.setattr(added_commands, "PACKAGES", ("further",))
    monkeypatch.setitem(sys.modules, "further", ModuleType("further"))
    monkeypatch.setitem(sys.modules, "further.cli", module)
    assert "Say hello" in titan("--help").stdout
    assert titan("greet").stdout == "hello\n"
    assert "transcript" in titan("verify", "--help").stdout
