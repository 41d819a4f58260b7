"""A party's rows for Cox's model: its own risk sets, which never leave it.

Rows are read once, and kept as float64 where they are few; a step needs two sweeps over them
(`titan.generalised.hazards`). Events that come when fewer than k rows are at risk do not count: the
follow-up of a party ends there, as a survival curve does. Of the rows it takes the k that leave
last to know where that is.
"""

# Rule 1: nothing here leaves its owner's machine.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from heapq import nlargest

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.generalised.elementary import UNIT, Floats
from titan.generalised.exact_hazards import ExactTimes, Frame
from titan.generalised.hazards import TimedRows
from titan.generalised.risk_sets import Ties, Timeline, Whole
from titan.generalised.rows import At, transformed
from titan.generalised.steps import Problem
from titan.joint.exits import at_start
from titan.joint.glm_rows import Collect, PartialRows, Ranges, RawRows, ends_of, floats_of
from titan.joint.pooled_model import RowsPart
from titan.joint.times_asked import rounded_up
from titan.moments import Moments, arithmetic
from titan.moments.arithmetic import as_integers
from titan.moments.columns import Column
from titan.moments.floats import floats
from titan.moments.model import Readings
from titan.moments.reading import Reading, read
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block, Source
from titan.release.cells import CellCounts, Counts

Happened = Mapping[int, int]
"""How many events there are at each time."""
Ends = tuple[Floats, Floats]
"""The least values, and the largest, column by column."""


@dataclass(frozen=True)
class TimeGrid:
    """The column of times, that of the event, and the public grid."""

    time: str
    event: str
    grid: Fraction
    step: Fraction
    """In which times are written."""

    def exits(self, readings: Readings) -> tuple[Whole, npt.NDArray[np.bool_]]:
        """The interval in which each row leaves, and whether with the event."""
        column = as_integers(readings.numbers[self.time])
        happened = arithmetic.equals(readings.numbers[self.event], Fraction(1))
        self._check(readings, column, happened)
        return np.maximum(rounded_up(column, self.grid), 1), happened

    def _check(self, readings: Readings, column: Column, happened: Whole) -> None:
        below = np.asarray(column.numbers < 0, bool)
        if below.any():
            place = readings.place(int(below.argmax()))
            raise DataError(f'{place}, column "{self.time}": a time below 0')
        early = happened & np.asarray(column.numbers == 0, bool)
        if early.any():
            raise at_start(readings.place(int(early.argmax())), self.time, self.step)


# -- one pass over the rows -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RawTimes(RawRows):
    """Some rows as float64, the constant among the columns left out; and when each leaves."""

    exits: Whole = field(kw_only=True, repr=False)
    happened: npt.NDArray[np.bool_] = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class PartialTimes(PartialRows):
    """Of some rows: moments, ranges, the rows as far as they are kept, and when events come."""

    latest: tuple[int, ...] = field(default=(), repr=False)
    """The last k exits, the last one first."""
    happened: Happened = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> tuple[RawTimes, ...] | None:
        """Those that are kept."""
        if self.kept is None:
            return None
        return tuple(each for each in self.kept if isinstance(each, RawTimes))


@dataclass(frozen=True)
class CollectTimes(Collect[PartialTimes]):
    """The one pass over the rows."""

    grid: TimeGrid
    least: int
    """k: the fewest at risk when an event counts."""

    def block(self, rows: Block) -> PartialTimes:
        batch, count = self.moments.rows.batch(rows)
        found = self.moments.of_batch(batch, count)
        if batch is None or not batch.rows:
            return PartialTimes(found, None, ())
        kept = raw_times(batch, self.grid)
        ranges = Ranges(tuple(map(ends_of, batch.columns[1:-1])), (Fraction(0), Fraction(1)))
        events = Counter(kept.exits[kept.happened].tolist())
        latest = tuple(nlargest(self.least, kept.exits.tolist()))
        return PartialTimes(found, ranges, (kept,), latest, events)

    def merge(self, one: PartialTimes, other: PartialTimes) -> PartialTimes:
        latest = nlargest(self.least, (*one.latest, *other.latest))
        events = Counter(one.happened) + Counter(other.happened)
        both = PartialRows.__add__(one, other)
        return PartialTimes(**vars(both), latest=tuple(latest), happened=events)


def raw_times(batch: Batch, grid: TimeGrid) -> RawTimes:
    exits, happened = grid.exits(batch.readings)
    a = np.stack([floats(column) for column in batch.columns[1:-1]], axis=1)
    return RawTimes(
        a, happened.astype(float), None, None, batch.readings.place, exits=exits, happened=happened
    )


@dataclass(frozen=True)
class WithoutEvents(Reading[Counts, Counts]):
    """The counts as if no event had happened: those of a party none of whose events count."""

    rows: ModelRows
    cells: CellCounts
    event: str

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    def block(self, rows: Block) -> Counts:
        readings, _ = self.rows.complete(rows)
        assert readings is not None  # noqa: S101 - gaps refused these rows before
        none = Column(np.zeros(readings.rows, np.int64))
        return self.cells.count(
            replace(readings, numbers=dict(readings.numbers) | {self.event: none})
        )


@dataclass(frozen=True)
class EndsAtRisk(Reading[Ends, Ends]):
    """The least and the largest value of every column among the rows at risk at the first event:
    those at risk later are among them."""

    rows: ModelRows
    grid: TimeGrid
    timeline: Timeline

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def block(self, rows: Block) -> Ends:
        batch, _ = self.rows.batch(rows)
        assert batch is not None  # noqa: S101 - gaps refused these rows before
        return self.of(raw_times(batch, self.grid))

    def of(self, raw: RawTimes) -> Ends:
        there = raw.a[self.timeline.until(raw.exits) > 0]
        return there.min(axis=0, initial=np.inf), there.max(axis=0, initial=-np.inf)

    def merge(self, one: Ends, other: Ends) -> Ends:
        return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])

    def differ(self, kept: Sequence[RawTimes] | None, source: Source) -> list[bool]:
        """Which columns are not the same in all of these rows, kept or read again."""
        low, high = read(source, self) if kept is None else reduce(self.merge, map(self.of, kept))
        return [bool(differs) for differs in low < high]


# -- what a party brings --------------------------------------------------------------------------


@dataclass(frozen=True)
class CoxPart(RowsPart):
    """What one party brings."""

    kept: tuple[RawTimes, ...] | None = field(default=None, repr=False)
    ranges: Ranges | None = field(default=None, repr=False)
    timeline: Timeline = field(default_factory=lambda: Timeline.of({}, None, "efron"), repr=False)
    uncounted: int = field(default=0, repr=False)
    """Events that came when too few were at risk."""
    alike: tuple[str, ...] = field(default=(), repr=False)
    """Columns that are the same in all rows at risk, at every event."""
    scaled: dict[Problem, list[TimedRows]] = field(
        default_factory=dict, repr=False, compare=False, hash=False
    )
    """The rows in the coordinates of a problem, once it is known."""

    @property
    def events(self) -> int:
        """As they are counted: all, unless none is in the likelihood."""
        return self.timeline.total + self.uncounted if len(self.timeline) else 0


def horizon(latest: Sequence[int], least: int) -> int | None:
    """The last exit before which `least` rows are at risk; None where any number will do."""
    if least < 2:
        return None
    return latest[least - 1] if len(latest) >= least else 0


def timeline_of(found: PartialTimes, least: int, ties: Ties) -> Timeline:
    return Timeline.of(found.happened, horizon(found.latest, least), ties)


@dataclass(frozen=True)
class Stratum:
    """One party's rows in the coordinates of a problem."""

    problem: Problem
    timeline: Timeline
    grid: TimeGrid
    mean: tuple[float, ...] = field(repr=False)
    """Of its own rows, after the transform."""

    @classmethod
    def of(cls, part: CoxPart, problem: Problem, grid: TimeGrid) -> Stratum:
        moments = part.moments
        assert isinstance(moments, Moments)  # noqa: S101 - made of rows
        n = problem.columns
        means = [moments.fraction(0, 1 + j) / max(moments.rows, 1) for j in range(n)]
        scaled = [m / Fraction(2) ** s for m, s in zip(means, problem.scales, strict=True)]
        pairs = [zip(row, scaled, strict=True) for row in problem.transform]
        mean = tuple(float(sum((t * m for t, m in pair), Fraction(0))) for pair in pairs)
        return cls(problem, part.timeline, grid, mean)

    def rows(self, raw: RawTimes) -> TimedRows:
        scales = np.ldexp(1.0, [-s for s in self.problem.scales])
        image = transformed(raw.a * scales, floats_of(self.problem), raw.y, None, None)
        a: Floats = image.a - np.array(self.mean)
        doubt = image.doubt + 1.01 * UNIT * np.abs(a).max(axis=0, initial=0.0)
        return TimedRows.of(a, *self._when(raw.exits, raw.happened), doubt)

    def exactly(self, batch: Batch) -> ExactTimes:
        return ExactTimes(batch.columns[1:-1], *self._when(*self.grid.exits(batch.readings)))

    def _when(self, exits: Whole, happened: Whole) -> tuple[Whole, Whole]:
        return self.timeline.until(exits), self.timeline.counts(exits, happened)

    def blocks(self, part: CoxPart) -> Iterator[tuple[RawTimes, TimedRows]]:
        """Those that are kept."""
        assert part.kept is not None  # noqa: S101 - asked before
        if self.problem not in part.scaled:
            part.scaled.clear()
            part.scaled[self.problem] = list(map(self.rows, part.kept))
        return zip(part.kept, part.scaled[self.problem], strict=True)

    def frame(self, at: At) -> Frame:
        mean = tuple(map(Fraction, self.mean))
        return Frame(at, self.problem.scales, self.problem.transform, mean)
