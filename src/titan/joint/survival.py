"""Survival on a public time grid: Kaplan and Meier's curves, by group.

Two sums. The first opens counts alone: in every group the rows that leave in each interval, with or
without the event; the rows with the event and without; how many parties have rows in each of these
cells. Where one is too small, everything stops there, and the error names a coarser grid. The
second opens the events in each interval. All else follows: who is at risk, the curves, their
errors, the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, PlanError, ReleaseError
from titan.inputs import network_for, sources
from titan.joint.coarser_grid import COARSER, CoarserGrid
from titan.joint.computation import Sum
from titan.joint.describe import checked_dictionary
from titan.joint.equations import MOST_ROWS
from titan.joint.exits import CountExits, ExitsCounted, ExitsPart
from titan.joint.explanations import Explanation, Item
from titan.joint.kinds import TEXT, TEXTS, Asked, Setting, kind
from titan.joint.settings import SumOptions, SumSettings, refuse_without_network
from titan.joint.survived import Survival
from titan.joint.times_asked import TimesAsked, names_of
from titan.joint.together import alone, together
from titan.listing import listing
from titan.moments import Model, Source, open_source
from titan.moments.reading import read
from titan.moments.rows import Missing, ModelRows
from titan.network import Network
from titan.release import Column, Dictionary, Flag, Number, Time
from titan.release.cells import CellCounts
from titan.release.draft import draft
from titan.release.evidence import Check, checks_of
from titan.release.policy import NONE, Policy, policy_for
from titan.release.sent_counts import SentCounts
from titan.ring import Residues, Ring

Counts = npt.NDArray[np.int64]


# -- the computation --------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """What the sums so far have opened."""

    counts: tuple[int, ...] = ()
    events: tuple[int, ...] | None = None


@dataclass(frozen=True)
class CountingExits:
    """The computation."""

    asked: TimesAsked
    parties: int
    policy: Policy
    missing: Missing = "refuse"
    tau: int = 0
    stages = (0, 2)

    @property
    def model(self) -> Model:
        return self.asked.model

    @property
    def cells(self) -> CellCounts:
        return self.asked.cells

    @cached_property
    def sent(self) -> SentCounts:
        return SentCounts(self.cells, self.parties)

    @property
    def _shape(self) -> tuple[int, int]:
        """Groups, and intervals with those who leave later."""
        return len(self.asked.groups), len(self.asked.left.labels)

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        ring, one = Ring(MOST_ROWS.bit_length() + 1), Fraction(1)
        counts, events, _ = self.explanation.items
        entries = len(self.asked.groups) * self.asked.intervals
        return (
            Sum("counts", self.sent.entries, ring, one, counts.sentence),
            Sum("events", entries, ring, one, events.sentence),
        )

    @property
    def explanation(self) -> Explanation:
        asked = self.asked
        by = f", by {listing(asked.by)}" if asked.by else ""
        leave = f"in each of {asked.intervals} intervals of {asked.time}{by}"
        counted = (
            f"how many rows there are; how many leave, with {asked.event} or without, {leave}; how "
            f"many have {asked.event} = 1{by}; how many parties have rows in each of these"
        )
        if asked.coarser:
            said = listing(asked.coarser, len(COARSER))
            counted += f", and in {said} intervals taken as one"
        happened = f"how many rows have {asked.event} = 1 {leave}"
        curves = "by computing: rows at risk, survival curves, their standard errors, tests"
        numbers = len(asked.groups) * asked.intervals
        items = (
            Item("counts", self.sent.entries, counted),
            Item("events", numbers, happened),
            Item("curves", 0, curves + (", also by fewer of these columns" if asked.by else "")),
        )
        return Explanation(items, self.model.columns_needed, counts_levels=True)

    # -- one party ------------------------------------------------------------------------------

    @property
    def rows(self) -> ModelRows:
        return ModelRows(self.model, self.missing, self.asked.columns.place)

    @property
    def reading(self) -> CountExits:
        return CountExits(self.asked, self.rows)

    def part(self, found: ExitsCounted, source: Source) -> ExitsPart:
        counts, count = tuple(self.cells.of_party(found.counts.tolist())), found.count
        events = found.events.reshape(self._shape)[:, : self.asked.intervals]
        told = tuple(events.ravel().tolist())
        used = count.used, count.dropped, count.rounded
        return ExitsPart(source.label, counts, told, *used, source)

    def prepare(self, rows: Source) -> ExitsPart:
        return self.part(read(rows, self.reading), rows)

    def own_cells(self, part: ExitsPart) -> Iterator[tuple[str, int]]:
        """Every cell that is checked, and the rows of one party in it."""
        return self.asked.checked.cells(part.counts)

    def secret(self, n: int, known: Opened, part: ExitsPart) -> Residues:
        if n == 0:
            self.policy.check_own(part.rows, part.owner)
            self.policy.check_local(self.own_cells(part))
            return self.sums[0].ring.from_ints(self.sent.numbers(part.counts))
        pairs = zip(self.asked.checked.cells(known.counts), self.own_cells(part), strict=True)
        with self._naming_a_grid(known.counts, part.counts):
            self.policy.check_others((cell, rows, own) for (cell, rows), (_, own) in pairs)
        return self.sums[1].ring.from_ints(part.events)

    # -- all ------------------------------------------------------------------------------------

    def begin(self) -> Opened:
        return Opened()

    def learn(self, n: int, known: Opened, total: Residues) -> Opened:
        """Between the sums all parties look at the counts, before the events leave them."""
        numbers = self.sums[n].ring.to_signed(total)
        if n == 0:
            known = Opened(tuple(self.sent.counts(numbers)))
            self._check(known.counts)
            return known
        known = replace(known, events=tuple(numbers))
        self.policy.check_possible(self._possible(known))
        return known

    def _check(self, counts: Sequence[int]) -> None:
        self.policy.check_pooled(counts[0], 0, self.parties)
        self.policy.check_possible(self.cells.possible(counts, self.parties))
        with self._naming_a_grid(counts):
            self.policy.check_cells(self.asked.checked.cells(counts))
            self.policy.check_parties(self.cells.parties(counts), self.tau)

    @contextmanager
    def _naming_a_grid(self, counts: Sequence[int], own: Sequence[int] = ()) -> Iterator[None]:
        """A refusal of an interval says which grid would do; with own rows, for these."""
        try:
            yield
        except ReleaseError as refusal:
            if any(label in refusal.cell for label in self.asked.left.labels):
                found = self._coarser(counts)
                found = replace(found, own=self._tables(own)[0]) if own else found
                if advice := found.advice():
                    refusal.hint = f"{advice}; else {refusal.hint}"
            raise

    def _coarser(self, counts: Sequence[int]) -> CoarserGrid:
        exits, _ = self._tables(counts)
        parties, start = dict[int, Any](), self.cells.of_rows
        for times, table in zip((1, 0, *self.asked.coarser), self.cells.tables, strict=True):
            stop = start + prod(table.shape)
            there = np.array(counts[start:stop], object).reshape(len(self.asked.groups), -1)
            parties |= {times: there} if times else {}  # the second is by event
            start = stop
        later = self.asked.until is not None
        return CoarserGrid(exits, parties, self.asked.grid, later, self.policy, self.tau)

    def _tables(self, counts: Sequence[int]) -> tuple[Any, Any]:
        """The exits by group and interval; rows without the event and with it, by group."""
        grids = [grid for _, grid in self.asked.checked.grids(counts, 1)]
        return grids[0].reshape(self._shape), grids[1].reshape(-1, 2)

    def _events(self, known: Opened) -> Any:
        shape = len(self.asked.groups), self.asked.intervals
        return np.array(known.events, object).reshape(shape)

    def _possible(self, known: Opened) -> bool:
        """Whether rows can have these events: no more than leave, and as many as were counted."""
        exits, happened = self._tables(known.counts)
        events = self._events(known)
        within = (events >= 0) & (events <= exits[:, : self.asked.intervals])
        return bool(within.all() and (events.sum(axis=1) == happened[:, 1]).all())

    def answer(self, known: Opened) -> Survival | None:
        """Without any event there is nothing else to ask."""
        if not known.counts:
            return None
        asked, (exits, happened) = self.asked, self._tables(known.counts)
        if known.events is None:
            if happened[:, 1].any():
                return None
            known = replace(known, events=(0,) * (len(asked.groups) * asked.intervals))
        events, j = self._events(known), asked.intervals
        groups = {
            levels: (exits[g, :j].tolist(), events[g].tolist(), int(exits[g, j:].sum()))
            for g, levels in enumerate(asked.groups)
        }
        return Survival.of(
            (asked.time, asked.event, asked.by, asked.column.unit), asked.ends, groups
        )

    def opened_bits(self, rows: int) -> int:
        """Of all numbers that its sums open: ⌈log₂ of the possible values⌉ of each."""
        return self.sent.opened_bits(rows) + self.sums[1].entries * rows.bit_length()

    def evidence(self, known: Opened, sums: int) -> Iterator[Check]:
        """What has been checked after so many sums."""
        counts = known.counts
        return checks_of(
            self.policy,
            sums,
            rows=counts[0] if counts else None,
            parties=self.parties,
            cells=[n for _, n in self.asked.checked.in_tables(counts)] if counts else [],
            held=[n for _, n in self.cells.parties(counts)] if counts else [],
            tau=self.tau,
        )


# -- as a question ----------------------------------------------------------------------------


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    return TimesAsked.of(asked, columns).settled


@kind(
    "survival",
    options={"time": TEXT, "event": TEXT, "by": TEXTS, "grid": TEXT, "until": TEXT},
    first="time",
    second="event",
    required=("time", "event"),
    settle=_settle,
)
def question(asked: Asked, setting: Setting) -> CountingExits:
    """Kaplan and Meier's curves by group, and the log-rank test."""
    found = TimesAsked.of(asked, setting.columns)
    parties, missing = len(setting.parties), setting.missing
    return CountingExits(found, parties, setting.policy, missing, setting.tau)


# -- in one process ---------------------------------------------------------------------------


def survival(
    data: Any,
    network: Network | str | None = None,
    *,
    time: str,
    event: str,
    by: str | Sequence[str] | None = None,
    grid: Any = None,
    until: Any = None,
    dictionary: Mapping[str, Column] | None = None,
    csv: Any = None,
    missing: Missing = "refuse",
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Survival:
    """Kaplan and Meier's curves of all parties' rows: every party learns them, and nothing else.

    `data` and `csv` are as for `titan.fit`: one table per party, or one where there is no network.
    A float stands for the decimal that was written.

    time         a column of times from 0 on, event a column of 1 (it happened then) and 0 (it had
                 not when the row ends)
    by           one column or several: a curve for each level, or for each combination
    grid         how wide intervals are, in the unit of `time`: a whole number of its steps. Without
                 one, its step. Times are rounded up to the next end of an interval
    until        where the last interval ends: who leaves later is still there then
    dictionary   what every column is: {"months": titan.release.Time.read(0, 120, 1)}. Without one
                 it is made up from the tables themselves
    allow_small  with a network, an interval that 1 or 2 rows of a group leave in, or rows of one
                 party alone, is refused unless this is True; the error names a coarser grid

    `options` are those of the private sums (see `titan.average`), but for `bits`.
    """
    policy = policy_for(allow_small)
    asked = {"time": time, "event": event, "by": names_of(by), "grid": grid, "until": until}
    asked = {key: value for key, value in asked.items() if value is not None}
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        own = open_source(data, decimal=dictionary is None, csv=csv)
        found = _asked(asked, [own], dictionary)
        computation = CountingExits(found, 1, NONE, missing)
        return alone(computation, computation.prepare(own))
    net = network_for(network, data)
    if "bits" in options:
        raise PlanError(
            "survival does not take bits",
            hint="leave them out: counts need no more than theirs",
            choice="bits",
        )
    settings = SumSettings.of(net, options)
    tables = sources(data, net, dictionary is None, csv)
    found = _asked(asked, tables, dictionary)
    computation = CountingExits(found, len(tables), policy, missing, settings.tau or 0)
    pairs = zip(net.parties, map(computation.prepare, tables), strict=True)
    parts = [replace(part, owner=party) for party, part in pairs]
    outcome = together(computation, parts, settings)
    return replace(outcome.answer, cost=outcome.cost, record=outcome.record)


def _asked(asked: Asked | Mapping[str, Any], tables: Sequence[Source], given: Any) -> TimesAsked:
    for name in ("time", "event"):
        if not isinstance(asked.get(name), str):
            raise InputError(f"{name}={asked.get(name)!r} is not the name of a column")
    if given is not None:
        return TimesAsked.of(asked, checked_dictionary(given))
    names = (str(asked["time"]), str(asked["event"]), *asked.get("by", ()))
    return TimesAsked.of(asked, as_asked(draft(tables, tuple(dict.fromkeys(names))), *names[:2]))


def as_asked(drafted: Mapping[str, Column], time: str, event: str) -> dict[str, Column]:
    """A draft in which times begin at 0 and an event is a flag, as far as they can."""
    found = dict(drafted)
    column = found.get(time)
    if isinstance(column, Number) and column.step is not None and column.high >= 0:
        low = min(column.low, Fraction(0))
        found[time] = Time(low, max(column.high, column.step), column.step, column.unit)
    if isinstance(found.get(event), Number):
        found[event] = Flag()
    return found
