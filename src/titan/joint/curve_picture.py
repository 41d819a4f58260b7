"""The picture of survival curves: steps with their limits, and the numbers at risk below.

Groups differ by the dash and the grey of their line as well as by its colour, so that a copy in
black and white can be read. The curve of an interval falls at its end, where its events are known
to have happened by.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titan.errors import FileError, InputError
from titan.joint.kaplan_meier import Scale
from titan.leastsquares.balls import nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from titan.joint.survival_curve import Curve
    from titan.joint.survived import Survival

_STYLES = (
    ("#000000", "-"), ("#b2182b", "--"), ("#2166ac", "-."), ("#4d9221", ":"),
    ("#762a83", (0, (5, 1, 1, 1, 1, 1))), ("#8c510a", (0, (8, 2))),
)  # fmt: skip
"""Dark colours that differ in grey too, each with its dash."""
_MOST_TICKS = 9
_ROW = 0.22  # inches of a line of the table


def picture(
    found: Survival,
    path: str | PathLike[str] | None = None,
    *,
    alpha: float = 0.05,
    scale: Scale = "log-log",
    title: str | None = None,
    censored: bool = False,
) -> Figure:
    """A figure; with a path, also its file, of the kind that the name ends in (.png, .pdf, .svg).

    `censored` marks the intervals in which somebody leaves without the event.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "matplotlib is not installed, so there is no picture",
            hint="pip install 'titan-consensus[plot]'",
        ) from None
    curves = [curve for curve in found.curves if curve.nobs]
    below = _ROW * (len(curves) + 1)
    figure = Figure(figsize=(7.2, 4.3 + below), layout="constrained")
    axes, table = figure.subplots(2, 1, sharex=True, height_ratios=[4.3, below + 0.25])
    for at, curve in enumerate(curves):
        _draw(axes, curve, at, alpha, scale, censored)
    _frame(axes, found, title)
    _at_risk(table, found, curves)
    if path is not None:
        _save(figure, path)
    return figure


def _draw(axes: Axes, curve: Curve, at: int, alpha: float, scale: Scale, censored: bool) -> None:
    colour, dash = _STYLES[at % len(_STYLES)]
    times, survival = [0.0, *curve.time], [1.0, *curve.survival]
    limits = [(1.0, 1.0), *curve.conf_int(alpha, scale)]
    known = [not math.isnan(low) for low, _ in limits]
    style: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.8}
    axes.step(times, survival, where="post", label=curve.name, zorder=3, **style)
    low, high = ([pair[end] for pair in limits] for end in (0, 1))
    axes.fill_between(
        times, low, high, where=known, step="post", color=colour, alpha=0.13, linewidth=0
    )
    for end in (low, high):
        axes.step(times, end, where="post", color=colour, linewidth=0.5, alpha=0.6)
    if censored:
        marks = [
            (t, s) for t, s, c in zip(curve.time, curve.survival, curve.censored, strict=True) if c
        ]
        axes.plot([t for t, _ in marks], [s for _, s in marks], "+", color=colour, markersize=6)


def _frame(axes: Axes, found: Survival, title: str | None) -> None:
    axes.set_ylim(0, 1.02)
    axes.set_ylabel(f"survival: {found.event} has not come")
    unit = f" ({found.unit})" if found.unit not in ("", found.time) else ""
    axes.set_xlabel(found.time + unit)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelbottom=True)
    if title:
        axes.set_title(title)
    if len(found.curves) > 1:
        p = found.logrank().p_value
        test = (
            "" if math.isnan(p) else f"log-rank p = {p:.2g}" if p >= 1e-4 else "log-rank p < 0.0001"
        )
        axes.legend(frameon=False, title=test or None, loc="best", handlelength=3.4)


def _at_risk(axes: Axes, found: Survival, curves: list[Curve]) -> None:
    """Who enters the interval that begins at a tick."""
    step, ticks = nearest(found.grid), _ticks(curves)
    axes.set_ylim(len(curves) - 0.4, -1.2)
    axes.set_yticks(range(len(curves)), [curve.name for curve in curves])
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.set_xticks([tick * step for tick in ticks])
    axes.text(0.0, 1.0, "at risk", transform=axes.transAxes, va="top", ha="right", style="italic")
    for row, curve in enumerate(curves):
        for tick in ticks:
            risk = (*curve.at_risk, *[0] * len(curve.ends))
            known = tick < len(curve.ends) or not curve.later
            shown = f"{risk[tick]:,}" if known else f"{curve.later:,}"
            axes.text(tick * step, row, shown, ha="center", va="center")


def _ticks(curves: list[Curve]) -> list[int]:
    """Where intervals begin, and the end of the last: at most so many, evenly."""
    last = max((len(curve.at_risk) for curve in curves), default=1)
    every = max(1, math.ceil(last / _MOST_TICKS))
    return list(range(0, last + 1, every))


def _save(figure: Figure, path: str | PathLike[str]) -> None:
    kinds = figure.canvas.get_supported_filetypes()
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in kinds:
        raise FileError(
            f"{path}: no picture is written with such an ending", hint="such as .png, .pdf or .svg"
        )
    figure.savefig(path, dpi=160)
