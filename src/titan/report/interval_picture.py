"""Confidence intervals drawn beside a table's rows: all on one scale, and a line at zero."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from titan.markup import Html, tag
from titan.report.numbers import plain_text, shown

_WIDE, _HIGH = 190.0, 18.0
_EDGE = 10.0
_MOST_TICKS = 4


@dataclass(frozen=True)
class Scale:
    """From numbers to places across a picture, and round numbers to name below it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, numbers: Iterable[float], *, zero: bool = True) -> Scale | None:
        """That holds these numbers, and zero; None where they do not make a finite stretch."""
        found = [x for x in numbers if math.isfinite(x)] + ([0.0] if zero else [])
        if not found or not 0 < max(found) - min(found) < math.inf:
            return None
        step = _round_step((max(found) - min(found)) / _MOST_TICKS)
        low, high = math.floor(min(found) / step), math.ceil(max(found) / step)
        return cls(low * step, high * step, tuple(n * step for n in range(low, high + 1)))

    def at(self, x: float) -> float:
        return _EDGE + (_WIDE - 2 * _EDGE) * (x - self.low) / (self.high - self.low)


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def interval(scale: Scale, value: float, low: float, high: float) -> Html:
    """A point with its limits, and the line at zero."""
    middle = _HIGH / 2
    ends = [
        tag("line", x1=x, x2=x, y1=middle - 4, y2=middle + 4, kind="range")
        for x in (scale.at(low), scale.at(high))
    ]
    return _picture(
        f"{shown(low)} to {shown(high)}",
        _HIGH,
        _zero(scale, _HIGH),
        tag("line", x1=scale.at(low), x2=scale.at(high), y1=middle, y2=middle, kind="range"),
        *ends,
        tag("circle", cx=scale.at(value), cy=middle, r=3.6, kind="point"),
    )


def axis(scale: Scale) -> Html:
    """What stands below the intervals."""
    marks: list[Html] = []
    for tick in scale.ticks:
        x = scale.at(tick)
        marks.append(tag("line", x1=x, x2=x, y1=0, y2=5, kind="axis"))
        marks.append(tag("text", plain_text(tick + 0.0), x=x, y=17, text_anchor="middle"))
    line = tag("line", x1=_EDGE, x2=_WIDE - _EDGE, y1=0.5, y2=0.5, kind="axis")
    return _picture("the scale of the intervals", 21.0, line, *marks)


def _zero(scale: Scale, high: float) -> Html:
    if not scale.low <= 0 <= scale.high:
        return Html()
    return tag("line", x1=scale.at(0), x2=scale.at(0), y1=0, y2=high, kind="zero")


def _picture(said: str, high: float, *parts: Html) -> Html:
    return tag(
        "svg", tag("title", said), *parts, kind="intervals", role="img", width=_WIDE, height=high,
        viewBox=f"0 0 {_WIDE:.0f} {high:.0f}",
    )  # fmt: skip
