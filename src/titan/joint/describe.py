"""A Table 1 of all parties' rows: counts, missing values, means, standard deviations, histograms.

Two sums. The first opens counts alone: rows, and for every column its missing values, the rows of
each level, the rows in each cell of a histogram. Where one of them is too small, everything stops
there. The second opens Σx and Σx² of the columns of numbers, as integers on the study's grid: of a
known size, and exact.

A row that lacks a value in one column is counted in the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Unpack

from titan.errors import InputError, PlanError
from titan.inputs import by_party, network_for
from titan.joint.computation import Fold, Sum
from titan.joint.described import Bins, ColumnAsked, Levels, Numbers
from titan.joint.description import ColumnSummary, Description
from titan.joint.equations import MOST_ROWS
from titan.joint.explanations import Explanation, Item
from titan.joint.kinds import TEXTS, Asked, Setting, kind
from titan.joint.settings import SumOptions, SumSettings, refuse_without_network
from titan.joint.together import together
from titan.listing import listing
from titan.moments import Source, open_source
from titan.moments.reading import Reading, read
from titan.moments.sources import Block
from titan.network import Network
from titan.privacy.limits import Limits, limits_for
from titan.release import Column, Dictionary
from titan.release.draft import draft
from titan.ring import Residues, Ring

Totals = tuple[Sequence[int], ...]
BinsGiven = Mapping[str, str] | Sequence[str]


@dataclass(frozen=True)
class RowsCounted:
    """What some rows of a party add to the two sums."""

    rows: int
    counts: tuple[int, ...] = field(repr=False)
    totals: tuple[int, ...] = field(repr=False)
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many values of a column lay between grid points; only their owner is told."""
    owner: str = ""

    def __add__(self, other: RowsCounted) -> RowsCounted:
        counts = map(sum, zip(self.counts, other.counts, strict=True))
        totals = map(sum, zip(self.totals, other.totals, strict=True))
        rounded = Counter(self.rounded) + Counter(other.rounded)
        return RowsCounted(self.rows + other.rows, tuple(counts), tuple(totals), rounded)


@dataclass(frozen=True)
class CountRows(Reading[RowsCounted, RowsCounted]):
    """One pass over the rows."""

    asked: tuple[ColumnAsked, ...]

    @property
    def columns(self) -> Sequence[str]:
        return [each.name for each in self.asked]

    def block(self, rows: Block) -> RowsCounted:
        found = {each.name: each.read(rows.cells[each.name]) for each in self.asked}
        return RowsCounted(
            rows.rows,
            tuple(n for counts, _, _ in found.values() for n in counts),
            tuple(n for _, totals, _ in found.values() for n in totals),
            {name: rounded for name, (_, _, rounded) in found.items() if rounded},
        )


@dataclass(frozen=True)
class Describing:
    """The computation. What is known are the totals so far."""

    asked: tuple[ColumnAsked, ...]
    parties: int
    limits: Limits

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(
            Sum(name, sum(item.numbers for item in items), ring, Fraction(1), _said(items))
            for name, ring, items in (
                ("counts", Ring(MOST_ROWS.bit_length() + 1), self._counted),
                ("totals", Ring(self._most.bit_length() + 1), self._summed),
            )
            if items
        )

    @property
    def _counted(self) -> list[Item]:
        levels = {each.name: each.counts - 1 for each in self.asked if isinstance(each, Levels)}
        bins = {each.name: each.counts - 1 for each in self._numbers if each.bins is not None}
        every = listing(each.name for each in self.asked)
        found = [
            Item("rows", 1, "the number of rows of all parties together"),
            Item("missing values", len(self.asked), f"how many values are missing in {every}"),
        ]
        if levels:
            said = f"how many rows have each level of {listing(levels)}"
            found.append(Item("levels", sum(levels.values()), said))
        if bins:
            said = f"how many rows are in each cell of a histogram of {listing(bins)}"
            found.append(Item("histograms", sum(bins.values()), said))
        return found

    @property
    def _summed(self) -> list[Item]:
        names = listing(each.name for each in self._numbers)
        said = f"the sums over all rows of {names} and of their squares"
        return [Item("Σx, Σx²", 2 * len(self._numbers), said)] if names else []

    @property
    def _numbers(self) -> list[Numbers]:
        return [each for each in self.asked if isinstance(each, Numbers)]

    @property
    def _most(self) -> int:
        """No total is larger, in units of the columns'."""
        return max((each.size.most for each in self._numbers), default=0) ** 2 * MOST_ROWS

    @property
    def explanation(self) -> Explanation:
        by_computing = "by computing: the means and standard deviations of these columns"
        known = [*self._counted, *self._summed]
        known += [Item("means", 0, by_computing)] if self._numbers else []
        columns = tuple(each.name for each in self.asked)
        return Explanation(tuple(known), columns, counts_levels=True)

    @property
    def reading(self) -> CountRows:
        return CountRows(self.asked)

    def part(self, found: RowsCounted, source: Source) -> RowsCounted:
        return replace(found, owner=source.label)

    def prepare(self, rows: Source) -> RowsCounted:
        return self.part(read(rows, self.reading), rows)

    def begin(self) -> Totals:
        return ()

    def secret(self, n: int, known: Totals, part: RowsCounted) -> Residues:
        if n == 0:
            self.limits.check_own(part.rows, part.owner)
        return self.sums[n].ring.from_ints(part.totals if n else [part.rows, *part.counts])

    def learn(self, n: int, known: Totals, total: Residues) -> Totals:
        known = (*known, self.sums[n].ring.to_signed(total))
        if n == 0:
            self._check(known[0][0], self._columns(known))
        return known

    def _check(self, rows: int, columns: Sequence[ColumnSummary]) -> None:
        """Between the sums: all parties look at the counts, before anything else leaves them."""
        self.limits.check_pooled(rows, 0, self.parties)
        for each, column in zip(self.asked, columns, strict=True):
            cells = {f"{each.name} = {label}": n for label, n in column.cells()}
            self.limits.check_cells(cells)
            if isinstance(each, Numbers):
                self.limits.check_values(column.count, each.name)

    def _columns(self, known: Totals) -> list[ColumnSummary]:
        rows, *counts = known[0]
        counted, totals = iter(counts), iter(known[1] if len(known) > 1 else ())
        return [
            each.summary(
                rows, list(islice(counted, each.counts)), list(islice(totals, each.totals))
            )
            for each in self.asked
        ]

    def answer(self, known: Totals) -> Description | None:
        if len(known) < len(self.sums):
            return None
        return Description(known[0][0], tuple(self._columns(known)))


def _said(items: Sequence[Item]) -> str:
    return "; ".join(item.sentence for item in items)


# -- as a question ----------------------------------------------------------------------------


def columns_asked(
    names: Sequence[str], bins: Mapping[str, Bins], known: Dictionary
) -> tuple[ColumnAsked, ...]:
    """What everybody knows of each column; InputError where the dictionary does not say enough."""
    twice = [name for name in names if list(names).count(name) > 1]
    if twice or not names:
        found = f"the column {twice[0]!r} stands twice" if twice else "no column is named"
        raise InputError(found, hint="name every column once")
    asked = tuple(_column_asked(name, known, bins.get(name)) for name in names)
    for name in bins:
        if not any(each.name == name and isinstance(each, Numbers) for each in asked):
            raise InputError(
                f"bins of {name!r}, which is not a column of numbers here",
                hint="name it among the columns; levels and flags are counted without bins",
            )
    return asked


def _column_asked(name: str, known: Dictionary, bins: Bins | None) -> ColumnAsked:
    if name not in known:
        raise InputError(
            f"the data dictionary does not say what {name!r} is",
            hint=f"a number: --range {name}=0:120 --step {name}=1; a category: --levels {name}=a,b",
        )
    column: Column = known[name]
    levels = Levels.of(name, column)
    return Numbers.of(name, column, bins) if levels is None else levels


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
    columns = columns_asked(tuple(asked["columns"]), bins, setting.columns)
    return Describing(columns, len(setting.parties), setting.limits)


# -- in one process ---------------------------------------------------------------------------


def describe(
    data: Any,
    network: Network | str | None = None,
    *,
    columns: Sequence[str] | None = None,
    bins: BinsGiven | None = None,
    dictionary: Mapping[str, Column] | None = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Description:
    """A Table 1 of all parties' rows together: every party learns it, and nothing else.

    `data` is as for `titan.fit`: one table per party, or one table where there is no network. A
    float stands for the decimal that was written.

    columns      those to describe; all, if none are named
    bins         histograms: {"age": "0:120:10"}, from 0 to 120 in cells 10 wide
    dictionary   what every column is: {"age": titan.release.Number.read(0, 120, 1)}. Without
                 one it is made up from the tables themselves
    allow_small  with a network, parties of fewer than 10 rows, cells and levels of 1 or 2 rows in
                 all and columns of fewer than 6 values are refused unless this is True

    `options` are those of the private sums (see `titan.average`), but for `bits`: the sizes of the
    sums follow from the dictionary.
    """
    limits = limits_for(allow_small)
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        alone = {"the table": open_source(data, decimal=dictionary is None)}
        return _alone(*_prepared(alone, columns, bins, dictionary, limits_for(True)))
    net = network_for(network, data)
    if "bits" in options:
        raise PlanError("bits of a description", hint="leave them out: the dictionary sets them")
    settings = SumSettings.of(net, options)
    sources = {
        party: open_source(table, decimal=dictionary is None, label=f"the table of {party!r}")
        for party, table in zip(net.parties, by_party(data, net), strict=True)
    }
    found = together(*_prepared(sources, columns, bins, dictionary, limits), settings)
    return replace(found.answer, cost=found.cost, record=found.record)


def _prepared(
    sources: Mapping[str, Source],
    columns: Sequence[str] | None,
    bins: BinsGiven | None,
    dictionary: Mapping[str, Column] | None,
    limits: Limits,
) -> tuple[Describing, list[RowsCounted]]:
    """The computation, and every party's part."""
    names = _texts("columns", columns)
    binned = Bins.by_column(bins if isinstance(bins, Mapping) else _texts("bins", bins))
    known = draft(sources.values(), names or None) if dictionary is None else _checked(dictionary)
    of_first = next(iter(sources.values())).column_names
    asked = columns_asked(names or [name for name in of_first if name in known], binned, known)
    computation = Describing(asked, len(sources), limits)
    parts = [replace(computation.prepare(source), owner=p) for p, source in sources.items()]
    return computation, parts


def _texts(what: str, given: Any) -> list[str]:
    """A list of texts; a text alone is not one, though Python may think so."""
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    texts = [*given] if listed else [given]
    if given is not None and not (listed and all(isinstance(text, str) for text in texts)):
        raise InputError(f"{what}={given!r} is not a list of texts", hint=f"such as {what}=[…, …]")
    return texts if listed else []


def _checked(dictionary: Any) -> Dictionary:
    found = dictionary.values() if isinstance(dictionary, Mapping) else [None]
    if not all(isinstance(column, Column) for column in found):
        raise InputError(
            "the dictionary does not say by name what columns are",
            hint='{"age": Number.read(0, 120, 1), "sex": Category(("f", "m"))} of titan.release',
        )
    return Dictionary.of(dictionary)


def _alone(computation: Describing, parts: Sequence[RowsCounted]) -> Description:
    """One table's totals are its own parts."""
    fold = Fold(computation)
    while not fold.over:
        fold.learn(fold.secret(parts[0]))
    return fold.answer()
