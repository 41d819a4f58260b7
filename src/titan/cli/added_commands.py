"""Commands that other packages add: the laboratory's `titan compare` and `titan reproduce`."""

# Rule 1: nothing in titan imports such a package: its name stands here as text, and where it is
#         not installed, titan has its own commands and no others.
# Rule 2: it is loaded when all commands are listed, or when what was typed is not a command of
#         titan's own: no command that reads an organisation's rows runs its code.
# Rule 3: it cannot replace a command of titan's.

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

PACKAGES = ("titan_lab",)
"""Each has a module `cli` whose `app` holds its commands."""


class Commands(TyperGroup):
    """titan's own commands; those of `PACKAGES` behind them."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add()
        return super().get_command(ctx, cmd_name)

    def _add(self) -> None:
        for package in PACKAGES:
            added = _app(f"{package}.cli")
            for name, command in get_group(added).commands.items() if added else ():
                self.commands.setdefault(name, command)


def _app(module: str) -> typer.Typer | None:
    """None if the package is not installed; any other failure is an error of its own."""
    try:
        found = import_module(module).app
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        return None
    return found if isinstance(found, typer.Typer) else None
