"""What `titan` finds of the laboratory (see titan/cli/added_commands.py): its commands."""

from __future__ import annotations

from titan.cli.help import App
from titan_lab.cli import compare, demo, privacy, reproduce

app = App(rich_markup_mode=None)
app.command("compare")(compare.command)
app.command("demo")(demo.command)
app.command("privacy")(privacy.command)
app.add_typer(reproduce.app, name="reproduce")
