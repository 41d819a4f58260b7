"""The laboratory's commands, as `titan` finds them: see titan/cli/added_commands.py."""

from __future__ import annotations

import typer

from titan_lab.cli import compare, reproduce

app = typer.Typer(rich_markup_mode=None)
app.command("compare")(compare.command)
app.add_typer(reproduce.app, name="reproduce")
