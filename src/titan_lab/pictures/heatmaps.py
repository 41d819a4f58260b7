"""The picture of a private sum: what each party holds above, what one of them saw of it below.

Both rows are drawn from numbers of a real run and add up to the same matrix, which all learn.
Above, colours show how large a sum is; below, where a residue lies between 0 and the ring's
modulus: that is noise, and in noise every colour is as likely as any other. The colours (viridis)
grow evenly in lightness, so that colour-blind eyes and grey printers keep them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from titan_lab.pictures.network import picture

Matrix = npt.NDArray[np.float64]
_COLOURS = "viridis"
_NOTHING = "#E8E8E8"  # a sum that is 0
_FRAME = "#D55E00"
_LARGE, _PLAIN, _SMALL = 21, 16, 13.5


@dataclass(frozen=True)
class Seen:
    """One party's AᵀA beside its Aᵀb, (n, n+1), and what the curious one saw in each place."""

    party: str
    private: Matrix = field(repr=False)
    masked: Matrix = field(repr=False)
    """Residues as parts of their ring, from 0 to below 1."""


@dataclass(frozen=True)
class Sight:
    """What one curious party saw of all, its own part first, and what everybody learned."""

    curious: str
    names: Sequence[str]
    parts: Sequence[Seen]
    pooled: Matrix = field(repr=False)


def draw_sight(sight: Sight, file: Path) -> None:
    """Write the picture; the file's ending says in which format."""
    with picture(file, (15, 7.5), dpi=100, facecolor="white") as figure:
        _draw(figure, sight)


def _draw(figure: Any, sight: Sight) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    count = len(sight.parts)
    colours = colormaps[_COLOURS].with_extremes(bad=_NOTHING)
    sizes = LogNorm(1, float(np.abs(sight.pooled).max()))
    grid = figure.add_gridspec(
        2, count + 1, width_ratios=[1] * count + [1.45], left=0.085, right=0.985, top=0.87,
        bottom=0.155, wspace=0.14, hspace=0.36,
    )  # fmt: skip
    for at, part in enumerate(sight.parts):
        held, masked = (figure.add_subplot(grid[row, at]) for row in (0, 1))
        above = held.imshow(_positive(part.private), cmap=colours, norm=sizes)
        below = masked.imshow(part.masked, cmap=colours, vmin=0, vmax=1)
        own = at == 0
        held.set_title(part.party, fontsize=_PLAIN, fontweight="bold" if own else "normal")
        masked.set_title("its own, masked" if own else part.party, fontsize=_PLAIN)
        for axes in (held, masked):
            _labels(axes, sight.names if own else ())
            figure.text(*_right_of(axes), "+" if at + 1 < count else "=", **_SIGN)
    _sum(figure, grid[:, count], sight, colours, sizes)
    _bars(figure, above, below)
    _words(figure, sight.curious)


_SIGN: dict[str, Any] = {"fontsize": _LARGE, "ha": "center", "va": "center"}


def _positive(matrix: Matrix) -> npt.NDArray[Any]:
    """Sizes; a sum that is 0 has no logarithm and a colour of its own."""
    sizes = np.abs(matrix)
    return np.ma.masked_where(sizes == 0, np.maximum(sizes, 1))


def _labels(axes: Any, names: Sequence[str]) -> None:
    axes.set_xticks([])
    axes.set_yticks(range(len(names)), names, fontsize=_SMALL)
    axes.tick_params(length=0)
    _, right = axes.get_xlim()
    axes.axvline(right - 1, color="white", linewidth=3)  # AᵀA to the left, Aᵀb to the right


def _right_of(axes: Any) -> tuple[float, float]:
    box = axes.get_position()
    return box.x1 + 0.0095, (box.y0 + box.y1) / 2


def _sum(figure: Any, place: Any, sight: Sight, colours: Any, sizes: Any) -> None:
    axes = figure.add_subplot(place)
    axes.imshow(_positive(sight.pooled), cmap=colours, norm=sizes)
    axes.set_title("The pooled sum:\nwhat all learn", fontsize=_LARGE, fontweight="bold", pad=12)
    _labels(axes, ())
    axes.set_xlabel("the same from both rows\n(AᵀA, and in the last column Aᵀb)", fontsize=_SMALL)
    for side in axes.spines.values():
        side.set(color=_FRAME, linewidth=3)


def _bars(figure: Any, above: Any, below: Any) -> None:
    left = figure.add_axes((0.085, 0.095, 0.28, 0.022))
    figure.colorbar(above, cax=left, orientation="horizontal")
    left.set_xlabel("what is held: size of the sum (grey: 0)", fontsize=_SMALL)
    right = figure.add_axes((0.43, 0.095, 0.28, 0.022))
    figure.colorbar(below, cax=right, orientation="horizontal", ticks=[0, 0.5, 1])
    right.set_xticklabels(["0", "half", "modulus"])
    right.set_xlabel("what was seen: residue, from 0 to the modulus", fontsize=_SMALL)
    for axes in (left, right):
        axes.tick_params(labelsize=_SMALL)


def _words(figure: Any, curious: str) -> None:
    figure.text(
        0.015, 0.945, "What each hospital holds: sums over its patients", fontsize=_LARGE,
        fontweight="bold",
    )  # fmt: skip
    figure.text(
        0.015, 0.495, f"What {curious} saw of it: noise", fontsize=_LARGE, fontweight="bold"
    )
