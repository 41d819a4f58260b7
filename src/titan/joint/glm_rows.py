"""A party's rows for a generalised linear model: read once, and kept as float64 where they are few.

What a step needs of them are sums at an estimate that all know (`titan.generalised.rows`). Rows
that would take more than a quarter of a gigabyte are not kept but read again in every step.
"""

# Rule 1: nothing here leaves its owner's machine.

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.generalised.elementary import Floats
from titan.generalised.exact_rows import ExactRows
from titan.generalised.families import FamilyName
from titan.generalised.rows import At, FloatRows, Layout, Totals, transformed
from titan.generalised.steps import Problem
from titan.joint.pooled_model import RowsPart
from titan.moments import Source, arithmetic
from titan.moments.collecting import Collected, CollectMoments, PartialMoments
from titan.moments.columns import Column
from titan.moments.floats import floats
from titan.moments.reading import Part, Reading, read
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block

MOST_KEPT = 1 << 25
"""Numbers, of 8 bytes each."""
TOLERANCE = 2.0**-10
"""A cell of exactly k rows is allowed, whatever the rounding."""
Ends = tuple[Fraction, Fraction]
Above = tuple[int, tuple[str, ...]]
"""How many rows, and where the first of them are."""


@dataclass(frozen=True)
class Ranges:
    """Where the numbers lie: of every column of A, then the response, weights, the offset."""

    columns: tuple[Ends, ...] = field(repr=False)
    response: Ends = field(repr=False)
    weights: Ends = field(default=(Fraction(1), Fraction(1)), repr=False)
    offset: Ends = field(default=(Fraction(0), Fraction(0)), repr=False)

    def __or__(self, other: Ranges) -> Ranges:
        pairs = zip(self.columns, other.columns, strict=True)
        return Ranges(
            tuple(_both(*pair) for pair in pairs),
            _both(self.response, other.response),
            _both(self.weights, other.weights),
            _both(self.offset, other.offset),
        )


def _both(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1])


@dataclass(frozen=True, eq=False)
class RawRows:
    """Some rows as float64, each number within three roundings; not scaled yet."""

    a: Floats = field(repr=False)
    y: Floats = field(repr=False)
    weights: Floats | None = field(repr=False)
    offset: Floats | None = field(repr=False)
    place: Callable[[int], str] = field(repr=False)

    def scaled(self, problem: Problem, transform: Floats) -> FloatRows:
        scales = np.ldexp(1.0, [-s for s in problem.scales])
        return transformed(self.a * scales, transform, self.y, self.weights, self.offset)


@dataclass(frozen=True)
class PartialRows:
    """Of some rows: moments, ranges, and the rows themselves as far as they are kept."""

    moments: PartialMoments
    ranges: Ranges | None = field(repr=False)
    kept: tuple[RawRows, ...] | None = field(repr=False)

    def __add__(self, other: PartialRows) -> PartialRows:
        known = [each for each in (self.ranges, other.ranges) if each is not None]
        ranges = known[0] | known[-1] if known else None
        kept = None if self.kept is None or other.kept is None else self.kept + other.kept
        if kept is not None and sum(each.a.size for each in kept) > MOST_KEPT:
            kept = None
        return PartialRows(self.moments + other.moments, ranges, kept)


Partial = TypeVar("Partial", bound=PartialRows)


@dataclass(frozen=True)
class Collect(Reading[Partial, tuple[Collected, Partial]]):
    """The one pass over the rows."""

    moments: CollectMoments

    @property
    def columns(self) -> Sequence[str]:
        return self.moments.columns

    @property
    def size(self) -> int:
        return self.moments.size

    def finish(self, whole: Partial, label: str) -> tuple[Collected, Partial]:
        return self.moments.finish(whole.moments, label), whole


@dataclass(frozen=True)
class CollectRows(Collect[PartialRows]):
    """That of a generalised linear model."""

    family: FamilyName

    def block(self, rows: Block) -> PartialRows:
        batch, count = self.moments.rows.batch(rows)
        if batch is None or not batch.rows:
            return PartialRows(self.moments.of_batch(batch, count), None, ())
        offset = self.moments.rows.model.evaluate_offset(batch.readings)
        check_outcome(self.family, batch)
        ranges = Ranges(
            tuple(map(ends_of, batch.columns[:-1])),
            ends_of(batch.columns[-1]),
            *(ends_of(c) if c is not None else (Fraction(n), Fraction(n))
              for c, n in ((batch.weights, 1), (offset, 0))),
        )  # fmt: skip
        kept = raw_rows(batch, offset)
        return PartialRows(self.moments.of_batch(batch, count), ranges, (kept,))


def raw_rows(batch: Batch, offset: Column | None) -> RawRows:
    a = np.stack([floats(column) for column in batch.columns[:-1]], axis=1)
    weights = None if batch.weights is None else floats(batch.weights)
    added = None if offset is None else floats(offset)
    return RawRows(a, floats(batch.columns[-1]), weights, added, batch.readings.place)


def ends_of(column: Column) -> Ends:
    """The least and the largest number."""
    numbers, unit = column.numbers, column.unit
    if not len(numbers):
        return Fraction(0), Fraction(0)
    low, high = numbers.min(), numbers.max()
    if numbers.dtype == np.float64:
        return Fraction(float(low)) * unit, Fraction(float(high)) * unit
    return int(low) * unit, int(high) * unit


def check_outcome(family: FamilyName, batch: Batch) -> None:
    """DataError where an outcome is not one of the family's; its value is not shown."""
    column = batch.columns[-1]
    if family == "binomial":
        right = arithmetic.equals(column, Fraction(0)) | arithmetic.equals(column, Fraction(1))
        what = "an outcome that is neither 0 nor 1"
        hint = 'family="poisson" counts events; without a family, titan fit explains any number'
    else:
        right = _counts(column)
        what, hint = "an outcome that is not a count: 0, 1, 2, …", "see the column's values"
    if not right.all():
        raise DataError(f"{batch.readings.place(int(np.argmin(right)))}: {what}", hint=hint)


def _counts(column: Column) -> npt.NDArray[np.bool_]:
    whole = arithmetic.as_integers(column)
    numbers = whole.numbers
    under = 2 ** max(-whole.two, 0) * 5 ** max(-whole.five, 0)
    if under >= 2**62:
        numbers = numbers.astype(object)
    return np.asarray((numbers >= 0) & (numbers % under == 0), bool)


# -- in steps -----------------------------------------------------------------------------------


class Held:
    """The rows in the coordinates of a problem, once it is known."""

    def __init__(self, kept: tuple[RawRows, ...] | None) -> None:
        self._raw = kept
        self._scaled: tuple[Problem, list[tuple[RawRows, FloatRows]]] | None = None

    @property
    def there(self) -> bool:
        return self._raw is not None

    def rows(self, problem: Problem) -> list[tuple[RawRows, FloatRows]]:
        """As they were read, and scaled."""
        if self._scaled is None or self._scaled[0] != problem:
            assert self._raw is not None  # noqa: S101 - asked before
            transform = floats_of(problem)
            found = [(raw, raw.scaled(problem, transform)) for raw in self._raw]
            self._scaled = problem, found
        return self._scaled[1]


def floats_of(problem: Problem) -> Floats:
    """T, whose entries are doubles."""
    return np.array([[float(x) for x in row] for row in problem.transform])


@dataclass(frozen=True)
class GLMPart(RowsPart):
    """What one party brings."""

    held: Held = field(default_factory=lambda: Held(None), repr=False)
    ranges: Ranges | None = field(default=None, repr=False)


@dataclass(frozen=True)
class OverRows(Reading[Part | None, Part | None]):
    """What is made of all rows for one step, where they are not kept."""

    rows: ModelRows
    make: Callable[[Batch, Column | None], Part]

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def block(self, block: Block) -> Part | None:
        batch, _ = self.rows.batch(block)
        if batch is None or not batch.rows:
            return None
        return self.make(batch, self.rows.model.evaluate_offset(batch.readings))

    def merge(self, one: Part | None, other: Part | None) -> Part | None:
        if one is None or other is None:
            return other if one is None else one
        return super().merge(one, other)


@dataclass(frozen=True)
class _Transformed(Generic[Part]):
    """Rows as they are read, in the coordinates of a problem."""

    problem: Problem
    make: Callable[[RawRows, FloatRows], Part]

    def __call__(self, batch: Batch, offset: Column | None) -> Part:
        raw = raw_rows(batch, offset)
        return self.make(raw, raw.scaled(self.problem, floats_of(self.problem)))


def over_rows(
    part: GLMPart, rows: ModelRows, problem: Problem, make: Callable[[RawRows, FloatRows], Part]
) -> Part | None:
    """What is made of all rows, added up; None where there are none."""
    if not part.held.there:
        assert part.source is not None  # noqa: S101 - rows come from somewhere
        return read(part.source, OverRows(rows, _Transformed(problem, make)))
    found = [make(*each) for each in part.held.rows(problem)]
    return reduce(operator.add, found) if found else None


@dataclass(frozen=True)
class _FloatTotals:
    layout: Layout
    at: At

    def __call__(self, raw: RawRows, rows: FloatRows) -> Totals:
        return rows.totals(self.layout, self.at)


@dataclass(frozen=True)
class _ExactTotals:
    problem: Problem
    at: At

    def __call__(self, batch: Batch, offset: Column | None) -> Totals:
        *columns, response = batch.columns
        exact = ExactRows(columns, response, batch.weights, offset)
        problem = self.problem
        return exact.totals(problem.layout, self.at, problem.scales, problem.transform)


def step_totals(part: GLMPart, rows: ModelRows, problem: Problem, at: At) -> Totals:
    """A party's own sums, by float64."""
    found = over_rows(part, rows, problem, _FloatTotals(problem.layout, at))
    return found or _nothing(problem.layout)


def exact_totals(source: Source, rows: ModelRows, problem: Problem, at: At) -> Totals:
    """The same with as many digits as anybody can want."""
    found: Totals | None = read(source, OverRows(rows, _ExactTotals(problem, at)))
    return found or _nothing(problem.layout)


def _nothing(layout: Layout) -> Totals:
    return Totals((0,) * layout.entries, (0.0,) * layout.entries)
