"""What `titan` finds of the laboratory (see titan/cli/added_commands.py): commands, a picture."""

from __future__ import annotations

import typer

from titan_lab.cli import compare, demo, reproduce
from titan_lab.pictures.network import draw as draw_network

__all__ = ["app", "draw_network"]

app = typer.Typer(rich_markup_mode=None)
app.command("compare")(compare.command)
app.command("demo")(demo.command)
app.add_typer(reproduce.app, name="reproduce")
