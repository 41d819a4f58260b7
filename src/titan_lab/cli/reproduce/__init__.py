"""titan reproduce: results of the paper and of the documentation, made again on this machine."""

from __future__ import annotations

from titan.cli.help import App
from titan_lab.cli.reproduce import comparison, figure2, large, nist, scaling, tradeoff

app = App(help="Make results of the paper and of the documentation again.")
app.command("comparison")(comparison.command)
app.command("figure2")(figure2.command)
app.command("large")(large.command)
app.command("nist")(nist.command)
app.command("scaling")(scaling.command)
app.command("tradeoff")(tradeoff.command)


@app.callback()
def _several() -> None:
    """Make results of the paper and of the documentation again."""
