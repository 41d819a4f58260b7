"""Two kinds of pictures: how the error falls, family by family, and what 1e-10 costs at a glance.

A method that ends has no answer before: it is a point where it ends, not a line. TITAN's three
points are in every panel, in black, so that each family can be read against them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from titan.experiments.comparison import TOLERANCE, Result, Row
from titan.experiments.comparison_cases import Setting
from titan.experiments.comparison_methods import FAMILIES
from titan.experiments.report import COLOURS, MARKERS, Draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOOR = 1e-17  # errors of zero are drawn here
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_AXES = {"rounds": "Rounds", "sent": "Numbers sent by the busiest node"}


def pictures(result: Result) -> dict[str, Draw]:
    """By file name."""
    drawn: dict[str, Draw] = {}
    for setting in result.settings:
        rows = [row for row in result.of(setting) if row.trace or row.planned]
        if rows:
            drawn[f"comparison-{setting.name}"] = lambda s=setting, r=rows: curves(s, r)  # type: ignore[misc]
    if any(row.trace for row in result.rows):
        drawn["comparison-costs"] = lambda: overview(result)
    return drawn


# -- how the error falls ------------------------------------------------------------------------


def curves(setting: Setting, rows: list[Row]) -> Figure:
    """A column for each family, a row for rounds and one for numbers sent."""
    from matplotlib.figure import Figure

    families = [f for f in FAMILIES if f != "TITAN" and any(r.entry.family == f for r in rows)]
    families = families or ["TITAN"]
    figure = Figure(figsize=(4.6 * len(families), 11))
    grid: Any = figure.subplots(2, len(families), sharey=True, sharex="row", squeeze=False)
    titan = [row for row in rows if row.entry.family == "TITAN"]
    for column, family in enumerate(families):
        members = [row for row in rows if row.entry.family == family and family != "TITAN"]
        for axes, what in zip(grid[:, column], _AXES, strict=True):
            _panel(axes, what, members, titan)
        grid[0, column].set_title(family)
        _legend(grid[1, column], members, titan)
    for axes in grid[:, 0]:
        axes.set_ylabel("Relative error, worst node")
    figure.suptitle(f"{setting.title}\n{setting.links}", fontsize=17)
    return figure


def _panel(axes: Axes, what: str, members: list[Row], titan: list[Row]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(_FLOOR / 3, 30)
    axes.set_xlabel(_AXES[what])
    axes.axhline(TOLERANCE, color="#888888", linewidth=1.2)
    for at, row in enumerate(members):
        _line(axes, what, row, COLOURS[at % 6], _DASHES[at % 6], MARKERS[at % 6])
    for row, marker in zip(titan, "X*PD", strict=False):
        _line(axes, what, row, "#000000", "-", marker)


def _line(axes: Axes, what: str, row: Row, colour: str, dashes: Any, marker: str) -> None:
    if row.planned is not None:
        at = row.planned.rounds if what == "rounds" else row.planned.sent
        axes.plot([at], [1e-15], marker, color=colour, markersize=11, fillstyle="none")
        return
    finite = row.entry.method.about.finite
    points = [p for p in row.trace if getattr(p, what) > 0][-1 if finite else 0 :]
    x = [getattr(point, what) for point in points]
    y = [min(max(point.error, _FLOOR), 20.0) for point in points]
    if finite:
        size = 13 if row.entry.family == "TITAN" else 11
        axes.plot(x, y, marker, color=colour, markersize=size, markeredgecolor="white")
    else:
        axes.plot(x, y, linestyle=dashes, marker="", color=colour)


def _legend(axes: Axes, members: list[Row], titan: list[Row]) -> None:
    """Below the column: lines as they are drawn, points as points."""
    from matplotlib.lines import Line2D

    handles = []
    for at, row in enumerate(members):
        finite = row.entry.method.about.finite
        look: dict[str, Any] = {"color": COLOURS[at % 6], "label": _label(row)}
        if finite:
            fill = "none" if row.planned else "full"
            look |= {"marker": MARKERS[at % 6], "linestyle": "none", "fillstyle": fill}
        else:
            look |= {"linestyle": _DASHES[at % 6], "marker": ""}
        handles.append(Line2D([], [], **look))
    for row, marker in zip(titan, "X*PD", strict=False):
        handles.append(
            Line2D([], [], color="black", marker=marker, linestyle="none", label=_label(row))
        )
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2), handlelength=2.6)


def _label(row: Row) -> str:
    marks = "*" if row.record.made_undirected else ""
    marks += {"consistent": "†", "dominant": "‡"}.get(row.version, "")
    return row.entry.short + marks + (" (not run)" if row.planned else "")


# -- at a glance --------------------------------------------------------------------------------


def overview(result: Result) -> Figure:
    """A line for each method, a mark for each problem: filled where 1e-10 was reached."""
    from matplotlib.figure import Figure

    names = list(result.entries)
    figure = Figure(figsize=(13, 1.8 + 0.42 * len(names)))
    grid: Any = figure.subplots(1, 2, sharey=True)
    for axes, what in zip(grid, _AXES, strict=True):
        axes.set_xscale("symlog", linthresh=1) if what == "rounds" else axes.set_xscale("log")
        axes.set_xlabel(_AXES[what])
        for at, setting in enumerate(result.settings):
            for row in result.of(setting):
                _dot(axes, what, row, names.index(row.entry), at, len(result.settings))
        axes.grid(axis="y", color="#EEEEEE")
    _name_rows(grid[0], result)
    _overview_legend(figure, result)
    return figure


def _dot(axes: Axes, what: str, row: Row, line: int, at: int, settings: int) -> None:
    if row.record.status == "refused":
        return
    x, reached = _cost(row, what)
    y = line + (at - (settings - 1) / 2) * 0.18
    face = COLOURS[at % 6] if reached else "white"
    look: dict[str, Any] = {"markerfacecolor": face, "markersize": 8, "linestyle": "none"}
    axes.plot([x], [y], marker=MARKERS[at % 6], color=COLOURS[at % 6], **look)
    if not reached and row.record.status != "finished":
        more: dict[str, Any] = {"arrowstyle": "->", "color": COLOURS[at % 6]}
        axes.annotate("", (x * 2.2, y), (x * 1.15, y), arrowprops=more)


def _cost(row: Row, what: str) -> tuple[int, bool]:
    if row.planned is not None:
        return (row.planned.rounds if what == "rounds" else row.planned.sent), True
    record = row.record
    cost = record.rounds if what == "rounds" else record.sent_most
    return cost, record.status == "reached"


def _name_rows(axes: Axes, result: Result) -> None:
    """Names to the left, families apart by a line."""
    axes.set_yticks(range(len(result.entries)), [entry.short for entry in result.entries])
    axes.set_ylim(len(result.entries) - 0.4, -0.6)
    figure: Any = axes.figure
    before = None
    for at, entry in enumerate(result.entries):
        if before not in (None, entry.family):
            for other in figure.axes:
                other.axhline(at - 0.5, color="#888888", linewidth=1)
        before = entry.family


def _overview_legend(figure: Figure, result: Result) -> None:
    from matplotlib.lines import Line2D

    looks = [
        Line2D([], [], color=COLOURS[at % 6], marker=MARKERS[at % 6], ls="none", label=s.name)
        for at, s in enumerate(result.settings)
    ]
    open_mark: dict[str, Any] = {"color": "#555555", "markerfacecolor": "white", "ls": "none"}
    looks.append(Line2D([], [], marker="o", label="1e-10 not reached", **open_mark))
    figure.legend(handles=looks, loc="outside upper center", ncols=5)
