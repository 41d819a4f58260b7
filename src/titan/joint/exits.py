"""Who leaves when, and with or without the event: what one party's rows say of survival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.errors import DataError
from titan.joint.times_asked import TimesAsked
from titan.moments import Source, arithmetic
from titan.moments.reading import Reading
from titan.moments.rows import Count, ModelRows
from titan.moments.sources import Block

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ExitsCounted:
    """Of some rows: those in every cell, and the events in every interval of every group."""

    counts: Counts = field(repr=False)
    events: Counts = field(repr=False)
    count: Count

    def __add__(self, other: ExitsCounted) -> ExitsCounted:
        counts, events = self.counts + other.counts, self.events + other.events
        return ExitsCounted(counts, events, self.count + other.count)


@dataclass(frozen=True)
class CountExits(Reading[ExitsCounted, ExitsCounted]):
    """One pass over the rows."""

    asked: TimesAsked
    rows: ModelRows

    @property
    def columns(self) -> Sequence[str]:
        return self.asked.model.columns_needed

    def block(self, rows: Block) -> ExitsCounted:
        cells, exits = self.asked.cells, self.asked.cells.tables[0]
        readings, count = self.rows.complete(rows)
        if readings is None:
            none = np.zeros(cells.of_rows, np.int64), np.zeros(prod(exits.shape), np.int64)
            return ExitsCounted(*none, count)
        happened = self.asked.happened.codes(readings) == 1
        early = happened & arithmetic.equals(readings.numbers[self.asked.time], Fraction(0))
        if early.any():
            step = self.asked.column.step or self.asked.grid
            raise at_start(readings.place(int(early.argmax())), self.asked.time, step)
        events = exits.count(readings.take(np.flatnonzero(happened)))
        return ExitsCounted(cells.count(readings), events, count)

    def finish(self, whole: ExitsCounted, label: str) -> ExitsCounted:
        whole.count.check(label, self.rows.missing)
        return whole


def at_start(place: str, time: str, step: Fraction) -> DataError:
    wrong = DataError(
        f'{place}, column "{time}": the event at time 0, before anybody is at risk',
        hint=f"if it came later than the start, write the first step, {decimal_text(step)}; "
        "else leave the row out",
    )
    wrong.column = time
    return wrong


@dataclass(frozen=True)
class ExitsPart:
    """What one party brings."""

    owner: str
    counts: tuple[int, ...] = field(repr=False)
    events: tuple[int, ...] = field(repr=False)
    rows: int
    dropped: int = 0
    rounded: Mapping[str, int] = field(default_factory=dict)
    source: Source | None = field(default=None, repr=False)
