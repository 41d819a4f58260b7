"""A picture: parties on a circle, each connected group of honest ones in a colour.

Colours are those of Okabe and Ito, told apart by colour-blind eyes, and every group has a marker of
its own besides. Links of the coalition are grey: without them the groups are what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titan.errors import FileError, InputError
from titan.listing import listing

if TYPE_CHECKING:
    from titan.network import Network
    from titan_lab.privacy.audit import Inference

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_MARKERS = ("o", "^", "D", "v", "p", "h")
_CURIOUS = "#000000"
_FAINT = "#9A9A9A"
_LABELLED = 60  # parties up to which names can be read
_MOST_LINKS = 20_000
_IN_LEGEND = 6

Place = tuple[float, float]


def draw(network: Network, learned: Inference | None, file: Path) -> None:
    """Write a picture of what a coalition learns; the file's ending says in which format."""
    if len(network.senders) > _MOST_LINKS:
        raise InputError(
            f"a picture of {len(network.senders)} links would be black",
            hint=f"at most {_MOST_LINKS} links are drawn",
        )
    groups = learned.components if learned is not None else (network.parties,)
    coalition = learned.coalition if learned is not None else ()
    places = _places(network)
    with picture(file, (8, 8), dpi=150, bbox_inches="tight", pad_inches=0.3) as figure:
        axes = figure.subplots()
        group_of = {party: g for g, group in enumerate(groups) for party in group}
        _links(axes, network, places, group_of)
        _parties(axes, groups, coalition, places)
        _finish(axes, learned)


@contextmanager
def picture(file: Path, inches: tuple[float, float], **how: Any) -> Iterator[Any]:
    """A matplotlib figure, which is in the file afterwards; its ending says in which format."""
    pyplot = plotting()
    figure = pyplot.figure(figsize=inches)
    try:
        yield figure
        figure.savefig(file, **how)
    except (ValueError, OSError) as error:
        raise FileError(
            f"{file} cannot be drawn: {str(error).splitlines()[0]}", hint="end it in .png or .svg"
        ) from None
    finally:
        pyplot.close(figure)


def plotting() -> Any:
    """matplotlib's pyplot, drawing to files alone; an error says what to install."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "matplotlib is not installed, and pictures need it",
            hint="install it: python -m pip install 'titan-consensus[plot]'",
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _places(network: Network) -> dict[str, Place]:
    """All on one circle, in an order in which links are short: a ring is a ring."""
    order = network.circle_order()
    turns = ((party, 2 * math.pi * at / len(order)) for at, party in enumerate(order))
    return {party: (math.sin(turn), math.cos(turn)) for party, turn in turns}


def _links(axes: Any, network: Network, places: dict[str, Place], group_of: dict[str, int]) -> None:
    """One arrow for each link; bent only where there is one back, so that both are seen."""
    edges, small = set(network.edges), len(network) <= _LABELLED
    for sender, receiver in network.edges:
        bent = 0.12 if (receiver, sender) in edges else 0.0
        inside = sender in group_of and receiver in group_of
        axes.annotate(
            "",
            xy=places[receiver],
            xytext=places[sender],
            arrowprops={
                "arrowstyle": "-|>" if small else "-",
                "color": _COLOURS[group_of[sender] % len(_COLOURS)] if inside else _FAINT,
                "linewidth": (1.8 if inside else 1.0) if small else 0.4,
                "linestyle": "-" if inside else (0, (4, 3)),
                "shrinkA": 13 if small else 2,
                "shrinkB": 13 if small else 2,
                "connectionstyle": f"arc3,rad={bent}",
            },
        )


def _parties(
    axes: Any,
    groups: tuple[tuple[str, ...], ...],
    coalition: tuple[str, ...],
    places: dict[str, Place],
) -> None:
    size = 320 if len(places) <= _LABELLED else 18
    for g, group in enumerate(groups):
        name = (
            f"learned: sum of {listing(group)}" if len(groups) > 1 or len(group) == 1 else "honest"
        )
        style = {"color": _COLOURS[g % len(_COLOURS)], "marker": _MARKERS[g % len(_MARKERS)]}
        label = name if g < _IN_LEGEND else None
        axes.scatter(*_columns(group, places), s=size, label=label, zorder=3, **style)
    if coalition:
        name = f"coalition: {listing(coalition)}"
        xs, ys = _columns(coalition, places)
        axes.scatter(xs, ys, s=size, color=_CURIOUS, marker="s", label=name, zorder=3)
    if len(places) <= _LABELLED:
        _names(axes, places)


def _names(axes: Any, places: dict[str, Place]) -> None:
    """Outside the circle, where no link is."""
    for party, (x, y) in places.items():
        across = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        axes.text(
            1.1 * x, 1.1 * y, party.replace("$", r"\$"),
            ha=across, va="center", fontsize=10, zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
        )  # fmt: skip


def _columns(group: tuple[str, ...], places: dict[str, Place]) -> tuple[list[float], list[float]]:
    return [places[party][0] for party in group], [places[party][1] for party in group]


def _finish(axes: Any, learned: Inference | None) -> None:
    if learned is None:
        title = "no coalition"
    elif learned.harmless:
        title = "harmless: the honest parties stay connected without the coalition"
    else:
        title = "not harmless: the coalition learns the sum of each group"
    axes.set_title(title, fontsize=12)
    axes.set_aspect("equal")
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.25, 1.25)
    axes.axis("off")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False, markerscale=0.6)
