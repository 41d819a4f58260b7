"""What a question about survival asks: a time on a public grid, an event, and perhaps groups.

    intervals    [0, g], (g, 2g], …: a time is rounded up to the next multiple of the grid
    until        where the last of them ends; who leaves later is still there then
    cells        the rows that leave in each interval, with or without the event, in each group; and
                 the rows with the event and without it, in each group

An interval tells when people left, so it is a cell like any other: few rows, or rows of few
parties, are refused before anything is said of the event.
"""

# Rule: which cells there are follows from the question and the dictionary alone.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import ceil
from typing import Any, Self

import numpy as np

from titan.decimals import decimal_text, read_decimal
from titan.errors import InputError
from titan.joint.coarser_grid import COARSER
from titan.moments import Model, arithmetic
from titan.moments.arithmetic import as_integers
from titan.moments.columns import Column as Numbers
from titan.moments.expressions import quoted
from titan.moments.model import Readings
from titan.release import Column, Dictionary, Flag, Number
from titan.release.cells import CellCounts, Codes, Cut, Table
from titan.release.model_cells import FEW, cut_of_levels, cut_of_number

MOST_CELLS = 50_000
_LIMIT = 1 << 62


@dataclass(frozen=True)
class IntervalCut(Cut):
    """Rows by the interval in which they leave; with an end, those who leave later come last."""

    grid: Fraction = Fraction(1)
    until: Fraction | None = None

    @classmethod
    def of(cls, time: str, grid: Fraction, last: Fraction, until: Fraction | None) -> Self:
        """Up to the last time, or until an earlier one."""
        count = max(1, ceil((last if until is None else until) / grid))
        ends = [decimal_text(grid * at) for at in range(count + 1)]
        said = [f"{time} over {a} to {b}" for a, b in pairwise(ends)]
        later = [] if until is None else [f"{time} over {decimal_text(until)}"]
        return cls(time, (f"{time} to {ends[1]}", *said[1:], *later), grid=grid, until=until)

    @property
    def intervals(self) -> int:
        return len(self.labels) - (self.until is not None)

    def codes(self, readings: Readings) -> Codes:
        column = as_integers(readings.numbers[self.column])
        found = np.clip(rounded_up(column, self.grid) - 1, 0, self.intervals - 1)
        if self.until is not None:
            found = np.where(rounded_up(column, self.until) > 1, self.intervals, found)
        return np.asarray(found, np.int64)


def rounded_up(column: Numbers, unit: Fraction) -> Codes:
    """To so many units."""
    times, numbers = column.unit / unit, column.numbers
    if len(numbers) and int(abs(numbers).max()) * times.numerator >= _LIMIT:
        numbers = numbers.astype(object)
    return np.asarray(-((-numbers * times.numerator) // times.denominator))


@dataclass(frozen=True)
class EventCut(Cut):
    """Rows with the event by the end of the last interval, and all others."""

    left: IntervalCut | None = None

    def codes(self, readings: Readings) -> Codes:
        assert self.left is not None  # noqa: S101 - always given
        ones = arithmetic.equals(readings.numbers[self.column], Fraction(1))
        return np.asarray(ones & (self.left.codes(readings) < self.left.intervals), np.int64)


@dataclass(frozen=True)
class TimesAsked:
    """A question, checked against the dictionary."""

    time: str
    event: str
    by: tuple[str, ...]
    grid: Fraction
    until: Fraction | None
    columns: Dictionary
    """Of these columns alone."""

    @classmethod
    def of(cls, asked: Mapping[str, Any], columns: Mapping[str, Column]) -> Self:
        """InputError where a column cannot be what it is asked to be."""
        time, event, by = str(asked["time"]), str(asked["event"]), tuple(asked.get("by", ()))
        named = (time, event, *by)
        check_named(named, columns)
        column, grid = time_asked(asked, columns)
        until = _multiple("until", asked["until"], grid) if "until" in asked else None
        if until is not None and until >= column.high:
            until = None  # nobody leaves later
        found = cls(time, event, by, grid, until, Dictionary.of({n: columns[n] for n in named}))
        if len(found.groups) * (found.intervals + 1) > MOST_CELLS:
            raise InputError(
                f"{found.intervals} intervals in {len(found.groups)} groups",
                hint=f"at most {MOST_CELLS} cells: ask for a coarser grid, or fewer groups",
            )
        return found

    @property
    def settled(self) -> dict[str, Any]:
        """The same question in its one form."""
        by = {"by": self.by} if self.by else {}
        until = {} if self.until is None else {"until": decimal_text(self.until)}
        names = {"time": self.time, "event": self.event}
        return names | by | {"grid": decimal_text(self.grid)} | until

    @property
    def column(self) -> Number:
        found = self.columns[self.time]
        assert isinstance(found, Number)  # noqa: S101 - looked at before
        return found

    @property
    def intervals(self) -> int:
        return self.left.intervals

    @property
    def ends(self) -> tuple[Fraction, ...]:
        """Of every interval."""
        return tuple(self.grid * at for at in range(1, self.intervals + 1))

    # -- rows -----------------------------------------------------------------------------------

    @cached_property
    def model(self) -> Model:
        """What reads these columns, as numbers or levels."""
        terms = " + ".join(map(quoted, (self.time, *self.by)))
        return self.columns.model(f"{quoted(self.event)} ~ {terms}")

    @cached_property
    def left(self) -> IntervalCut:
        return self._left(1)

    def _left(self, times: int) -> IntervalCut:
        return IntervalCut.of(self.time, self.grid * times, self.column.high, self.until)

    @cached_property
    def happened(self) -> EventCut:
        labels = tuple(f"{self.event} = {n}" for n in (0, 1))
        values = Fraction(0), Fraction(1)
        return EventCut(self.event, labels, None, values, self.left)

    @cached_property
    def group_cuts(self) -> tuple[Cut, ...]:
        levels = {each.column: each for each in self.model.categories}
        return tuple(
            cut_of_levels(levels[name]) if name in levels else _few(name, self.columns)
            for name in self.by
        )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The levels of every group, in the order of the cells."""
        texts = [[label.partition(" = ")[2] for label in _labels(cut)] for cut in self.group_cuts]
        return tuple(product(*texts))

    @cached_property
    def checked(self) -> CellCounts:
        """The cells that must not be small: of groups by interval, and by event."""
        return self._counts(self.left, self.happened)

    @cached_property
    def coarser(self) -> tuple[int, ...]:
        """So many intervals in one, for which parties are counted too: to name a grid that does."""
        return tuple(n for n in COARSER if n < self.intervals)

    @cached_property
    def cells(self) -> CellCounts:
        """All that is counted; first what is checked. If that is large, what is coarser is."""
        return self._counts(self.left, self.happened, *map(self._left, self.coarser))

    def _counts(self, *cuts: Cut) -> CellCounts:
        tables = tuple(Table((*self.group_cuts, cut)) for cut in cuts)
        told = [(cut.column, len(cut.labels)) for cut in (*self.group_cuts, self.left)]
        return CellCounts(tables, held=tables, told=tuple(told))


def check_named(named: Sequence[str], columns: Mapping[str, Column]) -> None:
    """InputError where a column is named twice, or is not described."""
    for name in named:
        if named.count(name) > 1:
            hint = "time, event and groups differ"
            raise InputError(f"{name!r} stands twice", hint=hint, choice="time")
    for name in named:
        if name not in columns:
            raise InputError(f"the data dictionary does not say what {name!r} is", hint=_HOW)


def time_asked(asked: Mapping[str, Any], columns: Mapping[str, Column]) -> tuple[Number, Fraction]:
    """The column of times, and the grid; InputError where it, or the event, cannot be that."""
    time, event = str(asked["time"]), str(asked["event"])
    column = _time(time, columns[time])
    if not isinstance(columns[event], Flag):
        raise InputError(
            f"{event!r} is a {columns[event].kind} in the dictionary, and an event is a flag",
            hint=f"--flag {event}: 1 where it happened, 0 where it had not when the row ends",
        )
    return column, _multiple("grid", asked.get("grid"), column.step)


def _labels(cut: Cut) -> Sequence[str]:
    """Without the column's name, which may have anything in it."""
    start = len(cut.column)
    return [label[start:] for label in cut.labels]


_HOW = (
    "a time: --range months=0:120 --step months=1; an event: --flag died; "
    "groups: --levels arm=a,b or --flag treated"
)


def _time(name: str, column: Column) -> Number:
    if not isinstance(column, Number):
        raise InputError(
            f"{name!r} is a {column.kind} in the dictionary, and a time is a number with a step",
            hint=f'kind = "time", or --range {name}=0:120 --step {name}=1',
        )
    if column.step is None:
        raise InputError(
            f"the data dictionary does not say the step of {name!r}", hint=f"--step {name}=1"
        )
    if column.low < 0:
        raise InputError(
            f"{name!r} can be below 0, by its range or its rows, and a time counts from its start",
            hint=f"correct the rows below 0; a study says --range {name}=0:120",
        )
    return column


def _few(name: str, columns: Mapping[str, Column]) -> Cut:
    cut = cut_of_number(name, columns)
    if cut is None:
        raise InputError(
            f"groups by {name!r}, which is a {columns[name].kind} of more than {FEW} values",
            hint=f"describe it as a category, or make a column of a few classes: --levels {name}=…",
        )
    return cut


def _multiple(what: str, given: Any, unit: Fraction | None) -> Fraction:
    """A positive multiple of the unit; the unit itself where nothing is given."""
    assert unit is not None  # noqa: S101 - a time has a step
    if given is None:
        return unit
    try:
        found = read_decimal(repr_decimal(given))
    except InputError as error:
        raise InputError(f"{what} is {error.message}", hint=error.hint, choice=what) from None
    if found <= 0 or found % unit:
        raise InputError(
            f"{what} is {decimal_text(found)}, which is not a whole number of steps of "
            f"{decimal_text(unit)}",
            hint=f"such as {what}={decimal_text(max(1, round(found / unit)) * unit)}",
            choice=what,
        )
    return found


def repr_decimal(given: Any) -> Any:
    """A float stands for the decimal that was written."""
    return Decimal(repr(given)) if type(given) is float else given


def names_of(by: Any) -> tuple[str, ...]:
    """One name, or several."""
    if by is None:
        return ()
    several = [by] if isinstance(by, str) else by
    if not isinstance(several, Sequence) or not all(isinstance(name, str) for name in several):
        raise InputError(f"by={by!r} is not the name of a column", hint='by="arm", or a list')
    return tuple(several)
