"""The page of every command: what `--help` prints, in the order of `titan --help`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MARK = "<!-- every command -->"


def on_source_read(_app: Any, _name: str, source: list[str]) -> None:
    """Sphinx's event; the one text in the list is replaced in place."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(helps()))


def helps() -> Iterator[str]:
    """Markdown: a heading and the help of everything that can be typed."""
    from typer.testing import CliRunner

    from titan.cli import app

    runner = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    for words in commands():
        shown = runner.invoke(app, [*words, "--help"], prog_name="titan")
        if shown.exit_code:
            raise RuntimeError(f"titan {' '.join(words)} --help: {shown.output}")
        yield f"## {' '.join(('titan', *words))}\n\n```text\n{shown.output.rstrip()}\n```\n"


def commands() -> list[tuple[str, ...]]:
    """Every command by its words; () is `titan` itself."""
    from typer.main import get_command

    from titan.cli import app

    return list(_below(get_command(app), ()))


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _below(command.get_command(None, name), (*words, name))
