"""titan reproduce: results of the paper and of the documentation, made again on this machine."""

from __future__ import annotations

import typer

from titan.cli.reproduce import comparison, figure2, nist

app = typer.Typer(
    help="Make results of the paper and of the documentation again.", no_args_is_help=True
)
app.command("comparison")(comparison.command)
app.command("figure2")(figure2.command)
app.command("nist")(nist.command)


@app.callback()
def _several() -> None:
    """Make results of the paper and of the documentation again."""
