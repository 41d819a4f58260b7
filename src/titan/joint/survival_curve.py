"""The survival curve of one group.

Counts are exact, and every number made of them is a ball of proven radius (`kaplan_meier`); what is
shown is the double nearest to its middle, and `error_bound` says how far that may be off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan.errors import InputError
from titan.joint.kaplan_meier import SCALES, Estimate, Scale, normal_quantile, product_limit
from titan.leastsquares.balls import Ball, nearest
from titan.leastsquares.named import Quantity, error_of
from titan.listing import check_choice

ALPHA = 0.05


@dataclass(frozen=True)
class Curve:
    """Kaplan and Meier's estimate for one group, interval by interval.

    `time` is where an interval ends, `at_risk` who is there when it begins. It ends with the last
    interval in which somebody is at risk.
    """

    name: str
    levels: tuple[str, ...]
    ends: tuple[Fraction, ...] = field(repr=False)
    exits: tuple[int, ...] = field(repr=False)
    """Who leaves in each interval, with or without the event."""
    happened: tuple[int, ...] = field(repr=False)
    """Who has the event in it."""
    later: int = 0
    """Who leaves after the last."""

    @property
    def nobs(self) -> int:
        return sum(self.exits) + self.later

    @cached_property
    def _risk(self) -> tuple[int, ...]:
        found, left = [], self.nobs
        for gone in self.exits:
            found.append(left)
            left -= gone
        return tuple(found)

    @cached_property
    def _length(self) -> int:
        return sum(1 for n in self._risk if n)

    @property
    def time(self) -> tuple[float, ...]:
        return tuple(nearest(end) for end in self.ends[: self._length])

    @property
    def at_risk(self) -> tuple[int, ...]:
        return self._risk[: self._length]

    @property
    def events(self) -> tuple[int, ...]:
        return self.happened[: self._length]

    @property
    def censored(self) -> tuple[int, ...]:
        """Who leaves without the event."""
        pairs = zip(self.exits[: self._length], self.events, strict=True)
        return tuple(gone - d for gone, d in pairs)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """As balls."""
        return tuple(product_limit(self.at_risk, self.events))

    @property
    def survival(self) -> tuple[float, ...]:
        """The part of the group that is still without the event when an interval ends."""
        return tuple(float(each.survival) for each in self.estimates)

    @property
    def se(self) -> tuple[float, ...]:
        """Greenwood's standard error; NaN where nobody is left."""
        return tuple(float(each.se) for each in self.estimates)

    @property
    def error_bound(self) -> dict[str, float]:
        """How far `survival` and `se` are off at most."""
        survival = max((each.survival.error for each in self.estimates), default=0.0)
        errors = (error_of(each.se) for each in self.estimates)
        return {
            "survival": survival,
            "se": max((e for e in errors if not math.isnan(e)), default=0.0),
        }

    def conf_int(
        self, alpha: float = ALPHA, scale: Scale = "log-log"
    ) -> tuple[tuple[float, float], ...]:
        """(lower, upper) for every interval, by Greenwood's formula; pointwise, not a band."""
        return tuple((float(a), float(b)) for a, b in self._limits(alpha, scale))

    def _limits(self, alpha: float, scale: Scale) -> list[tuple[Quantity, Quantity]]:
        check_choice("scale", scale, SCALES)
        z = normal_quantile(alpha)
        return [each.interval(z, scale) for each in self.estimates]

    # -- quantiles ------------------------------------------------------------------------------

    def quantile(self, p: float) -> float:
        """The first time by which a part p has had the event; inf if that is not reached."""
        rest = self._rest(p)
        return self._when(self._reaches(at, rest) for at in range(self._length))

    def _reaches(self, at: int, rest: Fraction) -> bool:
        """S ≤ rest, decided by the fraction itself where its ball does not tell."""
        found = self.estimates[at].survival
        if rest not in found:
            return found.mid <= rest
        pairs = zip(self.at_risk[: at + 1], self.events, strict=False)
        return math.prod(Fraction(n - d, n) for n, d in pairs) <= rest

    def quantile_ci(
        self, p: float, alpha: float = ALPHA, scale: Scale = "log-log"
    ) -> tuple[float, float]:
        """Between these: where the limits of `conf_int` reach what the curve must."""
        rest, limits = self._rest(p), self._limits(alpha, scale)
        low = [not isinstance(a, Ball) or a.upper <= rest for a, _ in limits]
        high = [isinstance(b, Ball) and b.upper <= rest for _, b in limits]
        return self._when(low), self._when(high)

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    def _rest(self, p: float) -> Fraction:
        if not isinstance(p, float) or not 0 < p < 1:
            raise InputError(f"p={p!r} is not between 0 and 1", hint="as 0.5 for the median")
        return 1 - Fraction(repr(p))

    def _when(self, reached: Iterable[bool]) -> float:
        return next((t for t, yes in zip(self.time, reached, strict=True) if yes), math.inf)

    # -- for people and programs ----------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Lists of one length, and single numbers: what is not defined is None."""
        limits = self.conf_int()
        return {
            "nobs": self.nobs,
            "events_total": sum(self.happened),
            "time": list(self.time),
            "at_risk": list(self.at_risk),
            "events": list(self.events),
            "censored": list(self.censored),
            "survival": list(self.survival),
            "se": list(self.se),
            "lower": [low for low, _ in limits],
            "upper": [high for _, high in limits],
            "median": self.median,
            "median_ci": list(self.quantile_ci(0.5)),
            "error_bound": self.error_bound,
        }

    def lines(self) -> Iterator[tuple[str, ...]]:
        """Of its table: the intervals in which somebody leaves."""
        rows = zip(
            self.time, self.at_risk, self.events, self.censored, self.survival, self.se,
            self.conf_int(), strict=True,
        )  # fmt: skip
        for t, n, d, c, s, se, (low, high) in rows:
            if d or c:
                numbers = ("" if math.isnan(x) else f"{x:.4f}" for x in (s, se, low, high))
                yield (f"  {t:g}", f"{n:,}", f"{d:,}", f"{c:,}", *numbers)
