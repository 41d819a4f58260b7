"""A Table 1 of all parties' rows: counts, missing values, means, standard deviations, histograms.

Two sums. The first opens counts alone: rows, and for every column its missing values, the rows of
each level, the rows in each cell of a histogram. Where one of them is too small, everything stops
there. The second opens Σx and Σx² of the columns of numbers, as integers on the study's grid: of a
known size, and exact.

A row that lacks a value in one column is counted in the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from operator import add
from typing import Any, Unpack

from titan.errors import InputError, PlanError
from titan.inputs import network_for, sources, texts
from titan.joint.column_asked import ColumnAsked, columns_asked
from titan.joint.computation import Sum
from titan.joint.description import ColumnSummary, Description
from titan.joint.equations import MOST_ROWS
from titan.joint.explanations import Explanation, Item
from titan.joint.kinds import TEXTS, Asked, Setting, kind
from titan.joint.on_grid import Bins, BinsGiven
from titan.joint.settings import SumOptions, SumSettings, refuse_without_network
from titan.joint.together import alone, together
from titan.leastsquares.dependence import no_rows
from titan.listing import listing
from titan.moments import Model, Source, open_source
from titan.moments.expressions import quoted
from titan.moments.reading import Reading, read
from titan.moments.rows import ModelRows
from titan.moments.sources import Block
from titan.network import Network
from titan.release import Column, Dictionary, Flag, Number
from titan.release.draft import draft
from titan.release.evidence import OFF_GRID, Check, checks_of
from titan.release.policy import NONE, Policy, policy_for
from titan.ring import Residues, Ring

Totals = tuple[Sequence[int], ...]


# -- one party's rows -------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsCounted:
    """What some rows of a party put into each of the sums."""

    numbers: tuple[tuple[int, ...], ...] = field(repr=False)
    rounded: Mapping[str, int]
    """How many values of a column lay between grid points; only their owner is told."""
    owner: str = ""
    source: Source | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        return self.numbers[0][0]

    def __add__(self, other: RowsCounted) -> RowsCounted:
        pairs = zip(self.numbers, other.numbers, strict=True)
        rounded = Counter(self.rounded) + Counter(other.rounded)
        return RowsCounted(tuple(tuple(map(add, *pair)) for pair in pairs), rounded)


@dataclass(frozen=True)
class CountRows(Reading[RowsCounted, RowsCounted]):
    """One pass over the rows."""

    asked: tuple[ColumnAsked, ...]

    @property
    def columns(self) -> Sequence[str]:
        return [each.name for each in self.asked]

    def block(self, rows: Block) -> RowsCounted:
        found = [each.read(rows.cells[each.name]) for each in self.asked]
        counts = (rows.rows, *(n for counts, _, _ in found for n in counts))
        totals = tuple(n for _, totals, _ in found for n in totals)
        pairs = zip(self.columns, found, strict=True)
        return RowsCounted((counts, totals), {name: n for name, (_, _, n) in pairs if n})


# -- the computation --------------------------------------------------------------------------


@dataclass(frozen=True)
class Describing:
    """The computation. What is known are the totals so far."""

    asked: tuple[ColumnAsked, ...]
    parties: int
    policy: Policy
    tau: int = 0

    @property
    def stages(self) -> tuple[int, ...]:
        """Sums may be those of an outcome of another question, and so travel with those."""
        return (0, 2)[: len(self.sums)]

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        counts, totals = self._items
        largest = max((each.numbers.size.most for each in self.asked if each.numbers), default=0)
        both = _sum("counts", 1, counts), _sum("totals", largest**2, totals)
        return both if totals else both[:1]

    @property
    def _items(self) -> tuple[list[Item], list[Item]]:
        """What the two sums open."""
        levels = {each.name: each.cells for each in self.asked if each.levels}
        bins = {each.name: each.cells for each in self.asked if each.bins is not None}
        numbers = [each.name for each in self.asked if each.numbers is not None]
        few = {each.name: len(each.values) for each in self.asked if each.values}
        every = listing(each.name for each in self.asked)
        of_levels = f"how many rows have each level of {listing(levels)}"
        cells = f"how many rows are in each cell of a histogram of {listing(bins)}"
        digits = f"the rows and parties off coarser grids of {listing(numbers)}"
        whose = "their squares" if numbers[1:] else "its square"
        squares = f"the sums over all rows of {listing(numbers)} and of {whose}"
        counts = [
            Item("rows", 1, "the number of rows of all parties together"),
            Item("missing values", len(self.asked), f"how many values are missing in {every}"),
            Item("levels", sum(levels.values()), of_levels),
            Item("histograms", sum(bins.values()), cells),
            Item("values", sum(few.values()), f"how many rows have each value of {listing(few)}"),
            Item(
                "parties",
                sum(each.held for each in self.asked),
                f"how many have {listing(numbers)}",
            ),
            Item("digits", 2 * sum(len(each.digits) for each in self.asked), digits),
        ]
        totals = [Item("Σx, Σx²", 2 * len(numbers), squares)]
        return [i for i in counts if i.numbers], [i for i in totals if i.numbers]

    @property
    def explanation(self) -> Explanation:
        counts, totals = self._items
        by_computing = "by computing: the means and standard deviations of these columns"
        means = [Item("means", 0, by_computing)] if totals else []
        columns = tuple(each.name for each in self.asked)
        return Explanation((*counts, *totals, *means), columns, counts_levels=True)

    @property
    def reading(self) -> CountRows:
        return CountRows(self.asked)

    def part(self, found: RowsCounted, source: Source) -> RowsCounted:
        rows, *counts = found.numbers[0]
        given = iter(counts)
        own = [
            n for each in self.asked for n in each.of_party(list(islice(given, each.entries)), rows)
        ]
        numbers = ((rows, *own), *found.numbers[1:])
        return replace(found, numbers=numbers, owner=source.label, source=source)

    @property
    def beside(self) -> list[ModelRows]:
        """The numbers whose sums are opened, on their grid, for what others make of the same."""
        summed = [each for each in self.asked if isinstance(each.column, Flag | Number)]
        return [
            ModelRows(
                Model(f"{quoted(each.name)} ~ 1"),
                "drop",
                Dictionary.of({each.name: each.column}).place,
            )
            for each in summed
        ]

    def prepare(self, rows: Source) -> RowsCounted:
        return self.part(read(rows, self.reading), rows)

    def own_cells(self, part: RowsCounted) -> Iterator[tuple[str, int]]:
        """Every cell that is counted, and the rows of one party in it."""
        return self._cells(part.numbers)

    def begin(self) -> Totals:
        return ()

    def secret(self, n: int, known: Totals, part: RowsCounted) -> Residues:
        if n == 0:
            self.policy.check_own(part.rows, part.owner)
            self.policy.check_local(self._cells(part.numbers))
        else:
            own = dict(self._cells(part.numbers))
            pooled = self._cells(known)
            self.policy.check_others((cell, rows, own.get(cell, 0)) for cell, rows in pooled)
        return self.sums[n].ring.from_ints(part.numbers[n])

    def learn(self, n: int, known: Totals, total: Residues) -> Totals:
        """Between the sums all parties look at the counts, before anything else leaves them."""
        known = (*known, self.sums[n].ring.to_signed(total))
        if n == 0:
            self.policy.check_pooled(known[0][0], 0, self.parties)
            self.policy.check_possible(self._possible(known[0]))
            self.policy.check_cells(self._cells(known))
            for what, _, parties in self._off(known):
                self.policy.check_off_grid(what, parties, self.tau + 2)
            self.policy.check_parties(self._held(known), self.tau)
            for each, column in zip(self.asked, self._columns(known), strict=True):
                if each.numbers is not None:
                    self.policy.check_values(column.count, each.name)
        elif not all(column.possible for column in self._columns(known)):
            raise no_rows("squares whose mean is below that of their roots squared")
        return known

    def _possible(self, counts: Sequence[int]) -> bool:
        """Whether rows can have these counts: levels hold all but the missing values."""
        rows, start, fits = counts[0], 1, all(n >= 0 for n in counts)
        for each in self.asked:
            there = sum(counts[start : start + 1 + each.cells])
            fits &= there == rows if each.levels else there <= rows
            own = counts[start : start + each.entries]
            if each.values:
                fits &= sum(n for _, n in each.few(own)) == rows - own[0]
            off = each.off(own)
            fits &= all(n <= rows and who <= min(n, self.parties) for _, n, who in off)
            if each.held:
                fits &= (rows > own[0]) <= own[-1] <= min(rows - own[0], self.parties)
            start += each.entries
        return fits

    def _held(self, known: Totals) -> Iterator[tuple[str, int]]:
        """The numbers that are summed, and how many parties have some."""
        counts = iter(known[0][1:])
        for each in self.asked:
            own = list(islice(counts, each.entries))
            if each.held:
                yield f"a value of {each.name}", own[-1]

    def _cells(self, known: Totals) -> Iterator[tuple[str, int]]:
        """Every level and every cell of a histogram, and its rows; the rows with a number."""
        for each, column in zip(self.asked, self._columns(known[:1]), strict=True):
            for label, rows in column.cells():
                yield f"{each.name} = {label}", rows
            if each.numbers is not None:  # what is summed is that of these
                yield f"{each.name} is there", column.count
        counts = iter(known[0][1:])
        for each in self.asked:
            yield from each.few(list(islice(counts, each.entries)))
        for what, rows, _ in self._off(known):
            yield what, rows

    def _off(self, known: Totals) -> Iterator[tuple[str, int, int]]:
        """What lies off coarser grids: its name, the rows and the parties."""
        counts = iter(known[0][1:])
        for each in self.asked:
            yield from each.off(list(islice(counts, each.entries)))

    def _columns(self, known: Totals) -> list[ColumnSummary]:
        rows, *counts = known[0]
        counted, totals = iter(counts), iter(known[1] if len(known) > 1 else ())
        return [
            each.summary(
                rows,
                list(islice(counted, each.entries)),
                list(islice(totals, 0 if each.numbers is None else 2)),
            )
            for each in self.asked
        ]

    def opened_bits(self, rows: int) -> int:
        """Of all numbers that its sums open: ⌈log₂ of the possible values⌉ of each."""
        sizes = [each.numbers.size for each in self.asked if each.numbers is not None]
        totals = sum(size.bits(rows) + (size**2).bits(rows) for size in sizes)
        of_parties = sum(len(each.digits) + each.held for each in self.asked)
        of_rows = self.sums[0].entries - of_parties
        return of_rows * rows.bit_length() + of_parties * self.parties.bit_length() + totals

    def evidence(self, known: Totals, sums: int) -> Iterator[Check]:
        """What has been checked after so many sums."""
        every = list(self._cells(known)) if known else []
        fine = any(each.digits for each in self.asked)
        return checks_of(
            self.policy,
            sums,
            rows=known[0][0] if known else None,
            parties=self.parties,
            cells=[n for cell, n in every if OFF_GRID not in cell],
            held=([n for _, n in self._held(known)] if known else [])
            if any(each.held for each in self.asked)
            else None,
            off_grid=[n for cell, n in every if OFF_GRID in cell] if fine else None,
            digits=([n for *_, n in self._off(known)] if known else []) if fine else None,
            tau=self.tau,
        )

    def answer(self, known: Totals) -> Description | None:
        if len(known) < len(self.sums):
            return None
        return Description(known[0][0], tuple(self._columns(known)))


def _sum(name: str, most: int, items: Sequence[Item]) -> Sum:
    """Of numbers to which a row adds at most so much."""
    entries, said = sum(item.numbers for item in items), [item.sentence for item in items]
    return Sum(
        name, entries, Ring((most * MOST_ROWS).bit_length() + 1), Fraction(1), "; ".join(said)
    )


# -- as a question ----------------------------------------------------------------------------


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    """All columns, where none is named; bins in their one form."""
    names = tuple(asked.get("columns") or columns)
    bins = Bins.by_column(asked.get("bins", ()))
    columns_asked(names, bins, columns)
    told = tuple(f"{name}={each}" for name, each in sorted(bins.items()))
    return {"columns": names} | ({"bins": told} if told else {})


@kind("describe", options={"columns": TEXTS, "bins": TEXTS}, first="columns", settle=_settle)
def description(asked: Asked, setting: Setting) -> Describing:
    """Counts, missing values, means, standard deviations and histograms."""
    bins = Bins.by_column(asked.get("bins", ()))
    found = columns_asked(tuple(asked["columns"]), bins, setting.columns)
    columns = tuple(each.checked(setting.columns) for each in found)
    return Describing(columns, len(setting.parties), setting.policy, setting.tau)


# -- in one process ---------------------------------------------------------------------------


def describe(
    data: Any,
    network: Network | str | None = None,
    *,
    columns: Sequence[str] | None = None,
    bins: BinsGiven | None = None,
    dictionary: Mapping[str, Column] | None = None,
    csv: Any = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Description:
    """A Table 1 of all parties' rows together: every party learns it, and nothing else.

    `data` and `csv` are as for `titan.fit`: one table per party, or one where there is no network.
    A float stands for the decimal that was written.

    columns      those to describe; all, if none are named
    bins         histograms: {"age": "0:120:10"}, from 0 to 120 in cells 10 wide
    dictionary   what every column is: {"age": titan.release.Number.read(0, 120, 1)}. Without
                 one it is made up from the tables themselves
    allow_small  with a network, parties of fewer than 10 rows, cells and levels of 1 or 2 rows in
                 all and columns of fewer than 6 values are refused unless this is True

    `options` are those of the private sums (see `titan.average`), but for `bits`: the sizes of the
    sums follow from the dictionary.
    """
    policy = policy_for(allow_small)
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        own = open_source(data, decimal=dictionary is None, csv=csv)
        computation = _computation([own], columns, bins, dictionary, NONE)
        return alone(computation, computation.prepare(own))
    net = network_for(network, data)
    if "bits" in options:
        hint = "leave them out: the dictionary sets them"
        raise PlanError("describe does not take bits", hint=hint, choice="bits")
    settings = SumSettings.of(net, options)
    tables = sources(data, net, dictionary is None, csv)
    computation = _computation(tables, columns, bins, dictionary, policy)
    pairs = zip(net.parties, map(computation.prepare, tables), strict=True)
    parts = [replace(part, owner=party) for party, part in pairs]
    found = together(computation, parts, settings)
    return replace(found.answer, cost=found.cost, record=found.record)


def _computation(
    tables: Sequence[Source], columns: Any, bins: Any, dictionary: Any, policy: Policy
) -> Describing:
    """Of what was asked for, checked."""
    names = texts("columns", columns)
    binned = Bins.by_column(bins if isinstance(bins, Mapping) else texts("bins", bins))
    known = draft(tables, names or None) if dictionary is None else checked_dictionary(dictionary)
    names = names or [name for name in tables[0].column_names if name in known]
    return Describing(columns_asked(names, binned, known), len(tables), policy)


def checked_dictionary(dictionary: Any) -> Dictionary:
    """What a caller says of columns, by name."""
    found = dictionary.values() if isinstance(dictionary, Mapping) else [None]
    if not all(isinstance(column, Column) for column in found):
        raise InputError(
            "the dictionary does not say by name what columns are",
            hint='{"age": Number.read(0, 120, 1), "sex": Category(("f", "m"))} of titan.release',
        )
    return Dictionary.of(dictionary)
