"""To how many bits the steps of a GLM, or of Cox's model, are opened: as many as its tables allow.

All that steps tell of a table, and made columns beside them, is at most three tenths of it
(`budget`, `steps_told`). Where k such models of a study use the same number, each has 2/(k + 1) of
that: their steps tell much that is the same. With fewer than 8 bits nothing would be proven, so
that is refused.

An offset needs sums of the model of a constant alone, for what compares with it. They tell of the
offset's numbers, so no more of these may be told either; else they are left out. So do the
entries of the constant in the step at β = 0, which has as many bits as that allows, at least 8.

A coalition takes its own rows out of all sums. Nobody knows how many these are; but every party
looks at what is told of the rows that are left without its own: at most half of their table.
"""

# Rule 1: all of this is public: it follows from the study and the counts that its first sum opens.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from titan.errors import ReleaseError
from titan.generalised.families import Likelihood
from titan.listing import listing
from titan.moments.model import Model
from titan.release.budget import SHARE, Budget, Least, among
from titan.release.dictionary import Column, Number
from titan.release.made import Rounding
from titan.release.offsets_told import grid_counts, null_tables
from titan.release.steps_told import Names, StepTable, step_tables

LEAST_BITS = 8
WITHOUT = Fraction(1, 2)
"""Of a table of the rows that are left without a party's own, at most."""
_MOST_ROWS = 10_000_000
_NEAR = 20  # rows are told to a part of so many


@dataclass(frozen=True)
class Told:
    """Of one table: what steps of so many bits tell of it, with what stands beside them."""

    table: str
    numbers: int
    rows: int
    bits: float
    limit: float

    @property
    def allowed(self) -> bool:
        return self.bits <= self.limit

    @property
    def limit_without(self) -> float:
        """Where a party's own rows are not among them."""
        return self.limit * float(WITHOUT / SHARE)


@dataclass(frozen=True)
class StepBudget:
    """Of one model."""

    model: Model
    rounding: Rounding
    columns: Mapping[str, Column] = field(repr=False)
    family: Likelihood
    models: int = 1
    """That share a number with it, itself included."""
    made: Callable[[], Budget] | None = field(default=None, compare=False, repr=False)
    """What made columns of the whole study tell."""
    time: str | None = None
    """Of Cox's model."""
    intervals: int = 1
    """Of its grid."""
    parties: int = 1

    @cached_property
    def tables(self) -> tuple[StepTable, ...]:
        return step_tables(self.model, self.rounding, self.columns, self.family, self.time)

    @cached_property
    def null_tables(self) -> tuple[StepTable, ...]:
        """What it tells with the sums of the model of a constant alone, which an offset needs: of
        the offset's numbers, and of all."""
        found = list[StepTable]()
        for null in self._of_offset:
            wider = [
                replace(table, curves=table.curves + null.curves) for table in self.tables
                if table.linear == null.linear and not table.within
                and set(null.raw) <= set(table.raw)
            ]  # fmt: skip
            found += wider if any(table.raw == null.raw for table in wider) else [null, *wider]
        return tuple(found)

    @cached_property
    def first_tables(self) -> tuple[StepTable, ...]:
        """Of the offset's numbers: what entries of the constant tell in the step at β = 0, beside
        the counts of rows off coarser grids."""
        found = list[StepTable]()
        for table in self._of_offset:
            first = [c._replace(digits="late") for c in table.curves if c.digits == "first"]
            beside = () if table.linear else grid_counts(table.raw, self.columns)
            found.append(replace(table, curves=(*first, *beside)))
        return tuple(found)

    @cached_property
    def _of_offset(self) -> tuple[StepTable, ...]:
        return null_tables(self.model, self.columns, self.family)

    def times(self, events: int) -> int:
        """At how many of them a party has events, if all have as many of these, and they come half
        as evenly as can be."""
        return max(1, (min(self.intervals, events // self.parties) + 1) // 2)

    @property
    def numbers(self) -> frozenset[str]:
        """That its steps are functions of: not flags, nor an outcome that is not a regressor."""
        factors = [factor for term in self.model.terms for factor in term]
        factors += [self.model.offset_factor] if self.model.offset_factor else []
        found = {name for factor in factors for name in factor.columns_needed()}
        found |= {self.model.weights} if self.model.weights else set()
        found |= {self.time} if self.time else set()
        return frozenset(n for n in found if isinstance(self.columns.get(n), Number))

    def bits(
        self,
        most: int,
        rows: int,
        least: Least = lambda _: None,
        counted: Collection[frozenset[str]] = (),
        times: int | None = None,
    ) -> int:
        """The most that are allowed, at most `most`; ReleaseError where that is too few."""

        def passes(bits: int) -> bool:
            return all(each.allowed for each in self.told(bits, rows, least, counted, times))

        if passes(most):
            return most
        if not passes(LEAST_BITS):
            found = self.told(LEAST_BITS, rows, least, counted, times)
            raise self._refusal(max(found, key=lambda each: each.bits - each.limit))
        low, high = LEAST_BITS, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if passes(middle) else (low, middle)
        return low

    def first_bits(
        self, most: int, rows: int, least: Least, counted: Collection[frozenset[str]]
    ) -> int:
        """Of the step at β = 0: at least 8, since without it there is none. The whole table is what
        counts; where an offset is a peak over a few rows, their owners look at leverage."""
        there, part = self._rows(rows, least), 2 * SHARE / (self.models + 1)
        tables = [each for each in self.first_tables if not among(each.raw, counted)]
        for bits in range(most, LEAST_BITS, -1):
            shares = [table.share(bits, there, part) for table in tables]
            if all(share.told(rows) <= share.limit(rows) for share in shares):
                return bits
        return LEAST_BITS

    def told(
        self,
        bits: int,
        rows: int,
        least: Least = lambda _: None,
        counted: Collection[frozenset[str]] = (),
        times: int | None = None,
        left: tuple[int, Least] | None = None,
        tables: Sequence[StepTable] | None = None,
    ) -> Iterator[Told]:
        """Table by table; of each set `counted` all values are cells, and known. Without the number
        of times, as if half of all rows had the event. With `left` of the table of some rows alone:
        sums are rounded as those of all are."""
        there, times = self._rows(rows, least), times or self.times(rows // 2)
        rest = there if left is None else self._rows(*left)
        for table in self.tables if tables is None else tables:
            own = rest[frozenset(table.within)]
            if own and not among(table.raw, counted):
                share = table.share(bits, there, 2 * SHARE / (self.models + 1), times)
                found = share.measured(own, self._beside(table, own))
                yield Told(str(share), share.entries, own, *found)

    def least_rows(
        self, bits: int, rows: int = 1, counted: Collection[frozenset[str]] = ()
    ) -> int | None:
        """About with how many, from `rows` on, all steps have so many bits, if cells are equally
        large; None if never."""

        def passes(rows: int) -> bool:
            return all(each.allowed for each in self.told(bits, rows, counted=counted))

        most = rows
        while not passes(most):
            most *= 2
            if most > _MOST_ROWS:
                return None
        least = most // 2 if most > rows else rows
        while most - least > least // _NEAR:
            middle = (least + most) // 2
            least, most = (least, middle) if passes(middle) else (middle, most)
        return most

    def _rows(self, rows: int, least: Least) -> dict[Names, int]:
        """In the smallest cell by each set of columns."""
        found = {Names(): 1} | {frozenset(table.within): table.cells for table in self.tables}
        known = {cells: least(cells) if cells else rows for cells in found}
        return {
            cells: rows // found[cells] if count is None else count
            for cells, count in known.items()
        }

    def _beside(self, table: StepTable, rows: int) -> float:
        shares = self.made().shares if self.made is not None else ()
        return sum(
            share.told(rows) for share in shares
            if share.linear == table.linear and share.within == table.within
            and set(share.raw) <= set(table.raw)
        )  # fmt: skip

    def _refusal(self, told: Told) -> ReleaseError:
        needed = self.least_rows(LEAST_BITS, told.rows)
        more = f"use about {needed} rows, " if needed else ""
        finer = "choose a finer grid of times, " if self.time else ""
        return ReleaseError(
            f"the steps of a model of {listing(map(repr, sorted(self.numbers)))} tell "
            f"{told.bits:.0f} bits of {told.table} over {told.rows} rows, even with {LEAST_BITS} "
            f"bits each, where {told.limit:.0f} are the most",
            hint=f"{more}{finer}merge small levels, or make categories of a number with few values",
            rule="bits",
            cell=told.table,
        )
