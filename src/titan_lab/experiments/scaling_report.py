"""The growth of sums as a table and three pictures: what ran, and what follows by formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from titan_lab.experiments.report import COLOURS, MARKERS, Report, Table, as_markdown
from titan_lab.experiments.scaling import RECOVERIES, Point, Result, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("network", "recovery", "m", "d", "D", "rounds", "bytes each", "messages", "", "time")
_TITLES: dict[Sweep, str] = {
    "parties": "With the parties: one entry each",
    "entries": "With the entries: ten parties",
    "diameter": "With the diameter: sixty parties, one entry each",
}
_CAPTION = (
    "full marks: counted, planned or measured; hollow ones: by formulas. "
    "Time: a line for real agents, another for arrays"
)
_STYLES = {"cycle": "--", "designed": "-", "circulant": "-"}
_PAGE = """\
# How sums grow

One private sum in a ring of 128 bits, masks sent, k = 10 of Top-k. Rounds are the recovery's.
"Bytes each" is what a party sends on average. How rounds, bytes and messages were found stands
behind them: *counted* by real agents, envelope by envelope, and equal to the plan; *planned*, which
is the same; or by *formula*. Times are processor time of this machine, of all parties together, by
real agents or by whole-network arrays; one with ~ did not run: it is that of the largest sum of its
kind that did, times what more is sent.

"""


def report(result: Result) -> Report:
    page = _PAGE
    for sweep, title in _TITLES.items():
        page += f"## {title}\n\n{as_markdown(HEADER, lines(result.of(sweep)))}\n"
    pictures: dict[str, Callable[[], Figure]] = {
        "scaling-parties": lambda: draw(result, "parties", "m", "parties m"),
        "scaling-entries": lambda: draw(result, "entries", "d", "entries d"),
        "scaling-diameter": lambda: draw(result, "diameter", "diameter", "diameter D"),
    }
    return Report("scaling", page, {"scaling": _table(result)}, pictures)


def lines(points: Sequence[Point]) -> list[tuple[str, ...]]:
    return [
        (
            point.network,
            point.recovery,
            f"{point.m:,}",
            f"{point.d:,}",
            f"{point.diameter:,}",
            f"{point.rounds:,}",
            amount(point.bytes_total / point.m, "B"),
            f"{point.messages:,}",
            point.costs,
            _time(point),
        )
        for point in points
    ]


def _time(point: Point) -> str:
    if point.seconds is None:
        return ""
    return f"{'' if point.measured else '~'}{duration(point.seconds)} ({point.engine})"


def amount(value: float, unit: str) -> str:
    """1.2 kB: three digits."""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 1000:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:.3g} P{unit}"


def duration(seconds: float) -> str:
    for size, unit in ((86_400 * 365, "years"), (86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds < 100 * size
                else f"{seconds / size:,.0f} {unit}"
            )
    if seconds >= 1:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"


def _table(result: Result) -> Table:
    columns = tuple(field.name for field in fields(Point))
    return Table(columns, tuple(astuple(point) for point in result.points))


# -- the pictures ---------------------------------------------------------------------------------


def draw(result: Result, sweep: Sweep, along: str, label: str) -> Figure:
    """Rounds, bytes and time. Full marks ran or were planned; hollow ones follow by formulas."""
    from matplotlib.figure import Figure

    points = result.of(sweep)
    figure = Figure(figsize=(14, 5.6))
    panels = figure.subplots(1, 3)
    _panel(panels[0], points, along, lambda p: p.rounds, lambda p: p.costs != "formula")
    _panel(panels[1], points, along, lambda p: p.bytes_total / p.m, lambda p: p.costs != "formula")
    for engine in ("agents", "arrays"):  # which are not to be compared by a line between them
        ran = [point for point in points if point.engine == engine]
        _panel(panels[2], ran, along, lambda p: p.seconds, lambda p: p.measured)
    for panel, title in zip(
        panels, ("rounds of recovery", "bytes sent by a party", "seconds of one core"), strict=True
    ):
        panel.set_title(title)
        panel.set_xlabel(label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3))
    figure.suptitle(_CAPTION, fontsize=12)
    return figure


def _panel(
    axis: Any,
    points: Sequence[Point],
    along: str,
    value: Callable[[Point], float | None],
    ran: Callable[[Point], bool],
) -> None:
    for network in dict.fromkeys(point.network for point in points):
        for at, recovery in enumerate(RECOVERIES):
            found = [p for p in points if p.series == (network, recovery) and value(p) is not None]
            found.sort(key=lambda p: getattr(p, along))
            xs, ys = [getattr(p, along) for p in found], [value(p) for p in found]
            colour = COLOURS[at]
            axis.plot(
                xs, ys, _STYLES[network], color=colour, marker="", label=f"{recovery}, {network}"
            )
            for full in (True, False):
                some = [(x, y) for x, y, p in zip(xs, ys, found, strict=True) if ran(p) == full]
                if some:
                    axis.plot(
                        *zip(*some, strict=True), MARKERS[at], color=colour, linestyle="",
                        fillstyle="full" if full else "none", markeredgewidth=1.6,
                    )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
