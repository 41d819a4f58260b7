"""The coefficients as a picture: points with their confidence intervals, and a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from titan.leastsquares.regression import Regression

_INK, _QUIET = "#1b4f72", "#999999"
_HEIGHT = 0.36  # inches of a coefficient


def coefficient_plot(
    fit: Regression,
    alpha: float = 0.05,
    *,
    names: Sequence[str] | None = None,
    intercept: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Drawn on `ax`, or on a figure of its own: `.figure.savefig("fit.png")`.

    `names` chooses coefficients; without, all are drawn but the intercept, whose size would hide
    the others', unless `intercept` asks for it.
    """
    chosen = _chosen(fit, names, intercept)
    axes: Any = _new_axes(len(chosen)) if ax is None else ax
    limits = fit.conf_int(alpha)
    at = np.arange(len(chosen))
    values = np.array([fit.params[name] for name in chosen])
    ends = np.array([limits[name] for name in chosen], float).reshape(-1, 2)
    axes.axvline(0, color=_QUIET, linewidth=1, zorder=0)
    axes.hlines(at, ends[:, 0], ends[:, 1], color=_INK, linewidth=2)
    axes.plot(values, at, "o", color=_INK, markersize=6)
    axes.set_yticks(at, [name.replace("$", r"\$") for name in chosen])
    axes.set_ylim(len(chosen) - 0.5, -0.5)  # the first coefficient on top
    level = f"{100 * (1 - alpha):.4g} % confidence intervals"
    axes.set_xlabel(f"change of {fit.moments.response} per unit, with {level}".replace("$", r"\$"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    found: Axes = axes
    return found


def _chosen(fit: Regression, names: Sequence[str] | None, intercept: bool) -> list[str]:
    if names is not None:
        given = [names] if isinstance(names, str) else list(names)
        if not given:
            raise InputError("no coefficient is named", hint="leave names out to draw all")
        return [fit.names[fit.moments.index(name)] for name in given]
    shown = [name for name in fit.names if intercept or name != fit.intercept]
    return shown or list(fit.names)


def _new_axes(count: int) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "matplotlib is not installed, and pictures need it",
            hint='pip install "titan-consensus[plot]"',
        ) from None
    figure = Figure(figsize=(6.4, 0.9 + _HEIGHT * count), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()
