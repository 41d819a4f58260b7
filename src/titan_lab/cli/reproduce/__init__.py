"""titan reproduce: results of the paper and of the documentation, made again on this machine."""

from __future__ import annotations

import typer

from titan_lab.cli.reproduce import comparison, figure2, large, nist, scaling, tradeoff

app = typer.Typer(
    help="Make results of the paper and of the documentation again.", no_args_is_help=True
)
app.command("comparison")(comparison.command)
app.command("figure2")(figure2.command)
app.command("large")(large.command)
app.command("nist")(nist.command)
app.command("scaling")(scaling.command)
app.command("tradeoff")(tradeoff.command)


@app.callback()
def _several() -> None:
    """Make results of the paper and of the documentation again."""
