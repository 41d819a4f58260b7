"""Survival curves by group, and how they compare: what every party ends with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.errors import InputError, NotThereError
from titan.joint.kaplan_meier import WEIGHTS, Weights, log_rank
from titan.joint.survival_curve import ALPHA, Curve
from titan.leastsquares.balls import nearest
from titan.leastsquares.named import error_of
from titan.leastsquares.tails import chi2_tail
from titan.listing import aligned, check_choice, listing, ruled
from titan.results import Result
from titan.results.result import Recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 24  # intervals of a curve in the summary


@dataclass(frozen=True)
class LogRank:
    """Whether groups have one curve: chi-squared with `df` degrees of freedom."""

    statistic: float
    df: int
    p_value: float
    observed: dict[str, int]
    expected: dict[str, float]
    weights: Weights
    error_bound: dict[str, float]
    """How far statistic and p_value are off at most."""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def __str__(self) -> str:
        if math.isnan(self.statistic):
            return f"{_TESTS[self.weights]}: not defined, where nothing can differ"
        freedom = f"{self.df} degree{'s' * (self.df > 1)} of freedom"
        said = f"chi-squared {self.statistic:.4f} on {freedom}, p = {self.p_value:.4g}"
        return f"{_TESTS[self.weights]}: {said}"


_TESTS = {
    "logrank": "Log-rank test",
    "wilcoxon": "Gehan-Wilcoxon test",
    "tarone-ware": "Tarone-Ware test",
}


@dataclass(frozen=True, repr=False)
class Survival(Result, Mapping[str, Curve], kind="survival"):
    """A curve for every group, by name: "arm = a", or "all" without groups."""

    time: str
    event: str
    by: tuple[str, ...]
    unit: str
    grid: Fraction
    curves: tuple[Curve, ...]
    cost: Any = field(default=None, repr=False, compare=False)
    record: Recorded | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        names: tuple[str, str, tuple[str, ...], str],
        ends: Sequence[Fraction],
        groups: Mapping[tuple[str, ...], tuple[Sequence[int], Sequence[int], int]],
    ) -> Survival:
        """From time, event, groups' columns and unit; and of each group exits, events, later."""
        time, event, by, unit = names
        curves = tuple(
            Curve(group_name(by, levels), levels, tuple(ends), tuple(e), tuple(d), later)
            for levels, (e, d, later) in groups.items()
        )
        return cls(time, event, by, unit, ends[0], curves)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(curve.name for curve in self.curves)

    @property
    def nobs(self) -> int:
        """The rows of all parties together."""
        return sum(curve.nobs for curve in self.curves)

    @property
    def median(self) -> dict[str, float]:
        return {curve.name: curve.median for curve in self.curves}

    def __getitem__(self, name: str | tuple[str, ...]) -> Curve:
        """By its name, or by its level alone: "arm = a", "a", ("a", "f")."""
        levels = (name,) if isinstance(name, str) else name
        for curve in self.curves:
            if name == curve.name or levels == curve.levels:
                return curve
        hint = f"there are {listing(self.names)}"
        raise NotThereError(f"there is no group {name!r}", hint=hint)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.curves)

    # -- what follows from the counts -----------------------------------------------------------

    def logrank(self, weights: Weights = "logrank") -> LogRank:
        """Do all groups have one curve? `weights` may be "wilcoxon" or "tarone-ware"."""
        check_choice("weights", weights, WEIGHTS)
        if len(self.curves) < 2:
            raise InputError("a log-rank test compares groups, and there is one", hint="by=…")
        risk = [curve._risk for curve in self.curves]
        found = log_rank(risk, [curve.happened for curve in self.curves], weights)
        p = chi2_tail(found.statistic, found.freedom)
        bounds = {"statistic": error_of(found.statistic), "p_value": error_of(p)}
        observed = {curve.name: sum(curve.happened) for curve in self.curves}
        expected = {n: float(e) for n, e in zip(self.names, found.expected, strict=True)}
        numbers = float(found.statistic), found.freedom, float(p)
        return LogRank(*numbers, observed, expected, weights, bounds)

    def margin(self, *by: str) -> Survival:
        """The curves by some of the groups' columns only; by none, that of all rows."""
        for name in by:
            if name not in self.by:
                hint = f"there are {listing(self.by)}" if self.by else "there are none"
                raise NotThereError(f"there are no groups by {name!r}", hint=hint)
        kept = [self.by.index(name) for name in by]
        sums: dict[tuple[str, ...], tuple[Sequence[int], Sequence[int], int]] = {}
        for curve in self.curves:
            levels = tuple(curve.levels[at] for at in kept)
            before = sums.get(levels)
            mine = (curve.exits, curve.happened, curve.later)
            sums[levels] = mine if before is None else _added(before, mine)
        names = self.time, self.event, by, self.unit
        return replace(Survival.of(names, self.curves[0].ends, sums), cost=self.cost)

    def plot(self, path: Any = None, **options: Any) -> Figure:
        """The curves with their limits, and the numbers at risk below; written where `path` says.

        It needs the extra `plot`. Options: alpha, scale, title, censored.
        """
        from titan.joint.curve_picture import picture

        return picture(self, path, **options)

    # -- for people and programs ----------------------------------------------------------------

    def summary(self) -> str:
        """Groups with their medians, the test, and every curve as a table."""
        unit = f" {self.unit}" if self.unit else ""
        grid = f"intervals of {nearest(self.grid):g}{unit}"
        head = f"Kaplan-Meier: {self.time} to {self.event}, {self.nobs:,} rows, {grid}"
        groups: list[tuple[str, ...]] = [("", "rows", "events", "median", "[0.025", "0.975]")]
        for curve in self.curves:
            ends = (curve.median, *curve.quantile_ci(0.5))
            told = ("-" if math.isinf(x) else f"{x:g}" for x in ends)
            groups.append((curve.name, f"{curve.nobs:,}", f"{sum(curve.happened):,}", *told))
        lines = [head, *ruled(aligned(groups))]
        if len(self.curves) > 1:
            lines.append(str(self.logrank()))
        for curve in self.curves:
            lines += ["", curve.name, *ruled(_cut_short(curve))]
        lines.append("Greenwood's standard errors; limits at 95 % on the log-log scale.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        test = {"logrank": self.logrank().to_dict()} if len(self.curves) > 1 else {}
        return {
            "nobs": self.nobs,
            "time": self.time,
            "event": self.event,
            "by": list(self.by),
            "unit": self.unit,
            "grid": nearest(self.grid),
            "alpha": ALPHA,
            "scale": "log-log",
            "groups": {curve.name: curve.to_dict() for curve in self.curves},
            **test,
        }

    def to_state(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "event": self.event,
            "by": list(self.by),
            "unit": self.unit,
            "grid": exact_text(self.grid),
            "intervals": len(self.curves[0].ends),
            "curves": [
                {
                    "levels": list(curve.levels),
                    "exits": list(curve.exits),
                    "events": list(curve.happened),
                    "later": curve.later,
                }
                for curve in self.curves
            ],
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Survival:
        found = canonical.keys(state, _STATE)
        by = canonical.names(found["by"]) if found["by"] != [] else ()
        names = canonical.name(found["time"]), canonical.name(found["event"]), by
        grid, count = read_exact(found["grid"]), canonical.whole(found["intervals"], 1)
        if grid <= 0 or count > _MOST_INTERVALS:
            raise ValueError("its intervals are not those of a curve")
        groups: dict[tuple[str, ...], tuple[list[int], list[int], int]] = {}
        for each in canonical.listed(found["curves"]):
            curve = canonical.keys(each, ("levels", "exits", "events", "later"))
            levels = tuple(map(canonical.text, canonical.listed(curve["levels"], len(by))))
            exits, events = (
                list(map(canonical.whole, canonical.listed(curve[key], count)))
                for key in ("exits", "events")
            )
            if any(d > n for n, d in zip(exits, events, strict=True)):
                raise ValueError("more events than rows that leave")
            if levels in groups:
                raise ValueError("a group stands twice")
            groups[levels] = exits, events, canonical.whole(curve["later"])
        if not groups:
            raise ValueError("there are no groups")
        ends = [grid * at for at in range(1, count + 1)]
        return replace(cls.of((*names, canonical.name(found["unit"])), ends, groups), cost=cost)

    def __repr__(self) -> str:
        return f"Survival({self.time} to {self.event}, {', '.join(self.names)}, nobs={self.nobs})"


_STATE = ("time", "event", "by", "unit", "grid", "intervals", "curves")
_MOST_INTERVALS = 1 << 20


def group_name(by: Sequence[str], levels: Sequence[str]) -> str:
    """What a group is called: arm = a, sex = f; "all" where there is one."""
    return ", ".join(f"{name} = {level}" for name, level in zip(by, levels, strict=True)) or "all"


def _added(
    one: tuple[Sequence[int], Sequence[int], int], other: tuple[Sequence[int], Sequence[int], int]
) -> tuple[list[int], list[int], int]:
    exits, events = (
        [a + b for a, b in zip(one[at], other[at], strict=True)]  # type: ignore[arg-type]
        for at in (0, 1)
    )
    return exits, events, one[2] + other[2]


def _cut_short(curve: Curve) -> list[str]:
    rows = list(curve.lines())
    heading = ("  to", "at risk", "events", "censored", "survival", "std err", "[0.025", "0.975]")
    lines = aligned([heading, *rows[:_SHOWN]])
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more intervals (the curve and --json have all)")
    return lines
