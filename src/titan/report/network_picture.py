"""A network as an SVG picture: parties on a circle, an arrow for each link, some parties marked.

It has no colour of its own and needs none: it is drawn in the page's ink. Up to 24 parties have
their names beside them, up to 100 their numbers, up to 300 a dot; beyond that there is no picture.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from titan.markup import Html, tag
from titan.network import Network

NAMED, NUMBERED, DRAWN = 24, 100, 300
"""Up to so many parties have names, numbers, a picture at all."""
_ROUND = 15.0  # of a party's disc, in pixels
_DOT = 3.0
_APART = 46.0  # along the circle, from one party to the next
_NAMES_APART = 62.0
_LETTER = 7.4
_LONGEST = 22  # letters of a name
_MARGIN = 6.0
_HEAD = 9.0  # of an arrow

Place = tuple[float, float]


def network_picture(network: Network, marked: Collection[str] = ()) -> Html | None:
    """The picture, with some parties marked (filled); None where there are too many for one."""
    if len(network) > DRAWN:
        return None
    places = _places(network)
    names = len(network) <= NAMED
    parts = [*_links(network, places), *_parties(network, places, set(marked), names)]
    left, top, right, bottom = _frame(places, names)
    said = f"{len(network)} parties and {len(network.edges)} links"
    return tag(
        "svg", tag("title", said), *parts, kind="network", role="img", width=right - left,
        viewBox=f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}",
    )  # fmt: skip


def _places(network: Network) -> dict[str, Place]:
    m = len(network)
    apart = _NAMES_APART if m <= NAMED else _APART if m <= NUMBERED else 4 * _DOT
    radius = max(88.0, apart * m / math.tau)
    turns = ((party, math.tau * at / m) for at, party in enumerate(network.circle_order()))
    return {party: (radius * math.sin(turn), -radius * math.cos(turn)) for party, turn in turns}


def _size(parties: Collection[str]) -> float:
    return _ROUND if len(parties) <= NUMBERED else _DOT


# -- links ------------------------------------------------------------------------------------


def _links(network: Network, places: dict[str, Place]) -> Iterator[Html]:
    """One line for two parties; where both send, with a head at either end."""
    edges = set(network.edges)
    for sender, receiver in network.edges:
        back = (receiver, sender) in edges
        if not back or sender < receiver:
            yield _arrow(places[sender], places[receiver], _size(places), both=back)


def _arrow(start: Place, end: Place, size: float, *, both: bool) -> Html:
    (x, y), (u, v) = start, end
    length = math.hypot(u - x, v - y)
    dx, dy = (u - x) / length, (v - y) / length
    first, last = (x + size * dx, y + size * dy), (u - size * dx, v - size * dy)
    if size == _DOT:
        return _line(first, last)
    heads = [_head(last, dx, dy)] + ([_head(first, -dx, -dy)] if both else [])
    return tag("g", _line(first, last), *heads)


def _line(start: Place, end: Place) -> Html:
    return tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], kind="link")


def _head(tip: Place, dx: float, dy: float) -> Html:
    """A triangle that points along (dx, dy)."""
    x, y = tip[0] - _HEAD * dx, tip[1] - _HEAD * dy
    wide = _HEAD * 0.4
    corners = (tip, (x - wide * dy, y + wide * dx), (x + wide * dy, y - wide * dx))
    return tag("polygon", points=" ".join(f"{a:.2f},{b:.2f}" for a, b in corners), kind="head")


# -- parties ----------------------------------------------------------------------------------


def _parties(
    network: Network, places: dict[str, Place], marked: set[str], names: bool
) -> Iterator[Html]:
    size = _size(places)
    for number, party in enumerate(network.parties, 1):
        x, y = places[party]
        kind = "party marked" if party in marked else "party"
        parts = [tag("title", party), tag("circle", cx=x, cy=y, r=size)]
        if party in marked and size == _ROUND:
            parts.append(tag("circle", cx=x, cy=y, r=size + 3.5, kind="around"))
        if size == _ROUND:
            parts.append(tag("text", str(number), x=x, y=y + 4.5, kind="number"))
        if names:
            across, down, anchor = _beside(x, y)
            parts.append(tag("text", _short(party), x=across, y=down, text_anchor=anchor))
        yield tag("g", *parts, kind=kind)


def _beside(x: float, y: float) -> tuple[float, float, str]:
    """Where a name stands: outside the circle."""
    radius = math.hypot(x, y)
    away = (radius + _ROUND + 11) / radius
    if abs(x) < radius / 4:
        return x, y * away + (11 if y > 0 else -1), "middle"
    return x * away, y * away + 4.5, "start" if x > 0 else "end"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _frame(places: dict[str, Place], names: bool) -> tuple[float, float, float, float]:
    """Left, top, right and bottom, the names included."""
    left, top, right, bottom = [], [], [], []
    for party, (x, y) in places.items():
        around = _size(places) + 4
        ends = [x - around, x + around]
        if names:
            across, down, anchor = _beside(x, y)
            wide = _LETTER * len(_short(party))
            begin = across - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            ends += [begin, begin + wide]
            top.append(down - 12)
            bottom.append(down + 5)
        left.append(min(ends))
        right.append(max(ends))
        top.append(y - around)
        bottom.append(y + around)
    return min(left) - _MARGIN, min(top) - _MARGIN, max(right) + _MARGIN, max(bottom) + _MARGIN
