"""Two kinds of pictures: how the error falls, family by family, and what 1e-10 costs at a glance.

A method that ends has no answer before: it is a point where it ends, not a line. TITAN's points are
in every panel, in black and open so that none hides another: each family is read against them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from titan_lab.experiments.comparison import TOLERANCE, Result, Row
from titan_lab.experiments.comparison_cases import Setting
from titan_lab.experiments.comparison_methods import FAMILIES
from titan_lab.experiments.report import COLOURS, MARKERS, Draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOOR = 1e-17  # errors of zero are drawn here
_PLANNED = 1e-13  # height of what was counted and not run: no error was measured
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_AXES = {"rounds": "Rounds", "sent": "Numbers sent, busiest node"}
_TITAN = {"titan-paper": "x", "titan-topk": "o", "titan-flood": "+", "titan-tree": "D"}
_MARKS = {"consistent": "†", "dominant": "‡"}
_FOOTNOTE = {
    "*": "* every link both ways",
    "†": "† consistent version, same answer",
    "‡": "‡ a random dominant system",
}


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
    figure = Figure(figsize=(max(3.7 * len(families), 8), 11))
    grid: Any = figure.subplots(2, len(families), sharey=True, sharex="row", squeeze=False)
    titan = [row for row in rows if row.entry.family == "TITAN"]
    for column, family in enumerate(families):
        members = [row for row in rows if row.entry.family == family != "TITAN"]
        for axes, what in zip(grid[:, column], _AXES, strict=True):
            _panel(axes, what, members, titan)
        grid[0, column].set_title(family)
        _legend(grid[1, column], members)
    for axes in grid[:, 0]:
        axes.set_ylabel("Relative error, worst node")
    figure.suptitle(f"{setting.title}\n{setting.links}", fontsize=17)
    _foot(figure, rows, titan)
    return figure


def _panel(axes: Axes, what: str, members: list[Row], titan: list[Row]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(_FLOOR, 30)
    axes.set_yticks([10.0**power for power in (0, -5, -10, -15)])
    axes.set_xlabel(_AXES[what])
    axes.axhline(TOLERANCE, color="#888888", linewidth=1.2)
    for at, row in enumerate(members):
        _draw(axes, what, row, _look(row, at))
    for row in titan:
        _draw(axes, what, row, _titan_look(row))


def _look(row: Row, at: int) -> dict[str, Any]:
    """A line, or for a method that ends a mark; an open one if it was counted and not run."""
    colour = COLOURS[at % 6]
    if not row.entry.method.about.finite:
        return {"color": colour, "linestyle": _DASHES[at % 6], "marker": ""}
    fill = "none" if row.planned else "full"
    return {
        "color": colour, "linestyle": "", "marker": "^", "markersize": 12, "fillstyle": fill,
    }  # fmt: skip


def _titan_look(row: Row) -> dict[str, Any]:
    return {
        "color": "#000000", "linestyle": "", "marker": _TITAN[row.entry.name], "markersize": 13,
        "fillstyle": "none", "markeredgewidth": 2.2,
    }  # fmt: skip


def _draw(axes: Axes, what: str, row: Row, look: dict[str, Any]) -> None:
    if row.planned is not None:
        at = row.planned.rounds if what == "rounds" else row.planned.sent
        axes.plot([at], [_PLANNED], **look)
        return
    finite = row.entry.method.about.finite
    points = [p for p in row.trace if getattr(p, what) > 0][-1 if finite else 0 :]
    x = [getattr(point, what) for point in points]
    if len(x) == 1 and not finite:  # there at once: a dot, since a line would not be seen
        look = look | {"marker": ".", "markersize": 12}
    axes.plot(x, [min(max(point.error, _FLOOR), 20.0) for point in points], **look)


def _legend(axes: Axes, members: list[Row]) -> None:
    """Below the column."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=_label(r), **_look(r, at)) for at, r in enumerate(members)]
    if handles:
        where: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
        axes.legend(handles=handles, handlelength=2.6, **where)


def _foot(figure: Figure, rows: list[Row], titan: list[Row]) -> None:
    """TITAN's marks once for all panels, and what the other marks mean."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=row.entry.short, **_titan_look(row)) for row in titan]
    labels = "".join(map(_label, rows))
    meant = "      ".join(text for mark, text in _FOOTNOTE.items() if mark in labels)
    if handles or meant:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=4, title=meant, fontsize=15
        )


def _label(row: Row) -> str:
    marks = ("*" if row.record.made_undirected else "") + _MARKS.get(row.version, "")
    if row.planned is not None:
        marks += " (not run)"
    elif not row.entry.method.about.finite and row.record.rounds <= 1:
        marks += f" (rounds: {row.record.rounds})"  # no line to be seen
    return row.entry.short + marks


# -- at a glance --------------------------------------------------------------------------------


def overview(result: Result) -> Figure:
    """A line for each method, a mark for each problem: filled where 1e-10 was reached."""
    from matplotlib.figure import Figure

    names = list(result.entries)
    figure = Figure(figsize=(13, 1.8 + 0.42 * len(names)))
    grid: Any = figure.subplots(1, 2, sharey=True)
    for axes, what in zip(grid, _AXES, strict=True):
        axes.set_xscale("log")
        axes.set_xlabel(_AXES[what])
        for at, setting in enumerate(result.settings):
            for row in result.of(setting):
                _dot(axes, what, row, names.index(row.entry), at, len(result.settings))
        axes.grid(axis="y", color="#EEEEEE")
        low, high = axes.get_xlim()
        axes.set_xlim(low / 2, high * 2)  # room for arrows
    _name_rows(grid[0], result)
    _overview_legend(figure, result)
    return figure


def _dot(axes: Axes, what: str, row: Row, line: int, at: int, settings: int) -> None:
    if row.record.status == "refused":
        return
    cost, reached = _cost(row, what)
    y = line + (at - (settings - 1) / 2) * 0.18
    look: dict[str, Any] = {"color": COLOURS[at % 6], "marker": MARKERS[at % 6], "markersize": 8}
    look["markerfacecolor"] = COLOURS[at % 6] if reached else "white"
    if cost == 0:  # a logarithm has no place for it: at the edge, with its number
        axes.plot([0.012], [y], transform=axes.get_yaxis_transform(), **look)
        axes.text(0.03, y, "0", va="center", fontsize=12, transform=axes.get_yaxis_transform())
        return
    axes.plot([cost], [y], **look)
    if not reached and row.record.status != "finished":
        more: dict[str, Any] = {"arrowstyle": "->", "color": COLOURS[at % 6], "shrinkA": 5}
        axes.annotate("", (cost * 2.5, y), (cost, y), arrowprops=more)


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
