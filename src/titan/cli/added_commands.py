"""What other packages add: the laboratory's commands, such as `titan demo`."""

# Rule 1: nothing in titan imports such a package: its name stands here as text, and where it is
#         not installed, titan has its own commands and no others.
# Rule 2: it is loaded when all commands are listed, or when what was typed is not a command of
#         titan's own: no command that reads an organisation's rows runs its code.
# Rule 3: it cannot replace a command of titan's.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from typer.main import get_group

from titan.cli.help import Group

PACKAGES = ("titan_lab",)
"""Each has a module `cli` whose `app` holds its commands."""


class Commands(Group):
    """titan's own commands; those of `PACKAGES` behind them."""

    command_panels: Mapping[str, Sequence[str]] = {
        "Rows of all parties, here in one process": (
            "fit",
            "survival",
            "cox",
            "solve",
            "average",
        ),
        "A study, each party on its own machine": (
            "keys",
            "study",
            "rehearse",
            "prepare",
            "join",
            "status",
            "web",
        ),
        "What a run left": ("show", "report", "verify", "audit", "runs", "ledger"),
        "Tools": ("network", "moments"),
        "To try it and to learn": ("demo", "privacy", "compare", "reproduce"),
    }

    def list_commands(self, ctx: Any) -> list[str]:
        self._add()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add()
        return super().get_command(ctx, cmd_name)

    def _add(self) -> None:
        for module in _installed():
            for name, command in get_group(module.app).commands.items():
                self.commands.setdefault(name, command)


def _installed() -> Iterator[Any]:
    """A package that is not installed is passed over; any other failure is its own error."""
    for module in (f"{package}.cli" for package in PACKAGES):
        try:
            yield import_module(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise
