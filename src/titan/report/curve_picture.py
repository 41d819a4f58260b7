"""Survival curves as an SVG picture: steps with their limits, and the numbers at risk below.

Groups differ by their dashes, so that a copy in black and white can be read; on a screen by colour
as well, which the page's style gives to the classes g0, g1, …
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from titan.markup import Html, tag
from titan.report.numbers import plain_text

_DASHES = ("", "7 3", "7 3 2 3", "2 3", "12 3", "12 3 2 3 2 3")
_WIDE, _HIGH = 640.0, 300.0  # of the curves
_TOP = 12.0
_ROW = 19.0  # of the table below
_NAME = 44.0  # where a group's name begins
_LETTER = 6.9
_MOST_TICKS = 8
_LONGEST = 28

Point = tuple[float, float]


def curve_picture(answer: Mapping[str, Any]) -> Html:
    """Of a survival answer's JSON."""
    groups = {name: group for name, group in answer["groups"].items() if group["nobs"]}
    ticks = _ticks(answer["grid"], [group["time"][-1] for group in groups.values()])
    left = _NAME + _LETTER * max((len(_short(name)) for name in groups), default=0) + 32
    draw = _Drawing(left, ticks[-1])
    bottom = _TOP + _HIGH
    under = bottom + 56
    parts = [*_frame(draw, ticks, answer)]
    for at, (name, group) in enumerate(groups.items()):
        parts += _curve(draw, group, at)
        parts += _at_risk(draw, ticks, answer["grid"], name, group, at, under + _ROW * (at + 1))
    parts.append(tag("text", "at risk", x=8, y=under, kind="quiet"))
    high = under + _ROW * len(groups) + 8
    said = f"survival curves of {len(groups)} groups over {answer['time']}"
    return tag(
        "svg", tag("title", said), *parts, kind="curves", role="img", width=left + _WIDE + 24,
        viewBox=f"0 0 {left + _WIDE + 24:.0f} {high:.0f}",
    )  # fmt: skip


class _Drawing:
    """From times and parts to places."""

    def __init__(self, left: float, last: float) -> None:
        self.left = left
        self.last = last

    def __call__(self, time: float, part: float) -> Point:
        return self.left + _WIDE * time / self.last, _TOP + _HIGH * (1 - part)

    def steps(self, times: Sequence[float], parts: Sequence[float | None]) -> list[Point]:
        """A stair that goes down where an interval ends, as far as it is defined."""
        found, before = [self(0.0, 1.0)], 1.0
        for time, part in zip(times, parts, strict=True):
            if part is None:
                break
            found += [self(time, before), self(time, part)]
            before = part
        return found


def _path(points: Sequence[Point], kind: str, dash: str = "") -> Html:
    places = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    dashed = {"stroke_dasharray": dash} if dash else {}
    return tag("polyline", points=places, kind=kind, **dashed)


def _curve(draw: _Drawing, group: Mapping[str, Any], at: int) -> Iterator[Html]:
    times, style = group["time"], f"g{at % len(_DASHES)}"
    for key in ("lower", "upper"):
        yield _path(draw.steps(times, group[key]), f"limit {style}")
    yield _path(draw.steps(times, group["survival"]), f"curve {style}", _DASHES[at % len(_DASHES)])


def _frame(draw: _Drawing, ticks: Sequence[float], answer: Mapping[str, Any]) -> Iterator[Html]:
    bottom = _TOP + _HIGH
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        (x, y), (u, _) = draw(0.0, part), draw(draw.last, part)
        yield tag("line", x1=x, x2=u, y1=y, y2=y, kind="grid" if part else "axis")
        yield tag("text", f"{part:.0%}".replace("%", " %"), x=x - 8, y=y + 4, text_anchor="end")
    for tick in ticks:
        x, _ = draw(tick, 0.0)
        yield tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, kind="axis")
        yield tag("text", plain_text(tick), x=x, y=bottom + 19, text_anchor="middle")
    unit = f" ({answer['unit']})" if answer["unit"] not in ("", answer["time"]) else ""
    middle = draw.left + _WIDE / 2
    yield tag("text", answer["time"] + unit, x=middle, y=bottom + 38, text_anchor="middle")


def _at_risk(
    draw: _Drawing,
    ticks: Sequence[float],
    grid: float,
    name: str,
    group: Mapping[str, Any],
    at: int,
    y: float,
) -> Iterator[Html]:
    """The group's line, its name, and who enters the interval that begins at a tick."""
    style = at % len(_DASHES)
    yield _path([(8, y - 4), (38, y - 4)], f"curve g{style}", _DASHES[style])
    yield tag("text", tag("title", name), _short(name), x=_NAME, y=y)
    later = group["nobs"] - sum(group["events"]) - sum(group["censored"])
    risk = [*group["at_risk"], later]
    for tick in ticks:
        place = round(tick / grid)
        shown = f"{risk[place]:,}" if place < len(risk) else "0" if not later else ""
        yield tag("text", shown, x=draw(tick, 0.0)[0], y=y, text_anchor="middle")


def _ticks(grid: float, ends: Sequence[float]) -> list[float]:
    """Where intervals begin, and the end of the last: at most so many, evenly."""
    last = max((round(end / grid) for end in ends), default=1)
    every = max(1, math.ceil(last / _MOST_TICKS))
    return [at * every * grid for at in range(math.ceil(last / every) + 1)]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
