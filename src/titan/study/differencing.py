"""A study's questions beside the earlier ones of a ledger: whose rows or parties stand out."""

# Rule: only questions that share a column are compared. Two that share none have no sum in common.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from titan.errors import ReleaseError
from titan.listing import listing
from titan.study.crossing import Divided, read_divided
from titan.study.row_classes import (
    Class,
    Places,
    Rows,
    exposed_parties,
    exposed_rows,
    found_at,
    keys_of,
)
from titan.study.row_digests import Content, Counts, Mask, OwnRows, RowSet, Words, change

_SHOWN = 12  # hex digits of a study's digest
_SAME_INTERVALS = (
    "ask for the same groups, and for the same grid or a multiple of it, of proportional hazards "
    "for the same grid, ties and min_cell, on the same steps of the dictionary; "
)
Parties = Mapping[str, str]
"""From names to certificates' fingerprints."""


@dataclass(frozen=True)
class LedgerQuestion:
    """One question of one run, as a ledger sees it before anything has left."""

    study: str
    title: str
    run: int
    parties: Parties
    tau: int
    question: str
    model: str
    minimum: int
    """The fewest rows that may stand out."""
    columns: Mapping[str, Content]
    """Those that it uses, and what they are."""
    own: OwnRows = field(repr=False)
    divided: tuple[Divided, ...] = ()
    """How it divides rows by numbers."""

    @property
    def used(self) -> Mask:
        return self.own.used[self.question]

    @cached_property
    def rows(self) -> RowSet:
        return RowSet.of(self.own, self.question, tuple(self.columns))


@dataclass(frozen=True)
class EarlierQuestion:
    """One that was recorded, or another of the same study; its rows are read when needed."""

    study: str
    title: str
    run: int
    parties: Parties
    tau: int
    minimum: int
    columns: tuple[str, ...]
    row_set: int
    digests: Callable[[], Words] = field(repr=False)
    parts: Callable[[], Mapping[str, Counts]] = field(repr=False)
    divided: tuple[Divided, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """A study whose difference from this one would expose somebody."""

    study: str
    title: str
    run: int
    reason: Literal["parties", "rows", "intervals"]
    parties: tuple[str, ...] = ()  # who stands out
    in_both: bool = False

    def __str__(self) -> str:
        earlier = f"study {self.title!r} ({self.study[:_SHOWN]}, run {self.run})"
        if self.reason == "rows":
            return f"only a few of this party's rows differ from those it used in {earlier}"
        if self.reason == "intervals":
            return f"its intervals or groups cross those of {earlier}, on mostly the same rows"
        if self.in_both:
            return f"only {listing(self.parties)} take part in this study and in {earlier}"
        return f"its parties differ from those of {earlier} only by {listing(self.parties)}"


def conflicts(
    entries: Sequence[LedgerQuestion], earlier: Sequence[EarlierQuestion]
) -> list[Conflict]:
    """All, the earliest study first; of each its parties before its rows."""
    known, shared, exposed = list(earlier), set[int](), set[int]()
    for own in {id(entry.own): entry.own for entry in entries}.values():
        here = [entry for entry in entries if entry.own is own]
        source = _Source(own, here, tuple(known))
        known += map(_as_earlier, here)
        shared = shared.union(*map(source.sharing, here))
        exposed = exposed.union(*map(source.exposed_by, here))
    parties = _parties(entries[0], [earlier[at] for at in sorted(shared) if at < len(earlier)])
    found = []
    for at, each in enumerate(known):
        who = each.study, each.title, each.run
        found += [c for c in parties if (c.study, c.title, c.run) == who]
        found += [Conflict(*who, "rows")] if at in exposed else []
    if -1 in exposed:
        found.append(Conflict(entries[0].study, entries[0].title, entries[0].run, "rows"))
    return list(dict.fromkeys(found))


def _as_earlier(entry: LedgerQuestion) -> EarlierQuestion:
    """For the questions of the same study that read other files."""
    rows = entry.rows
    return EarlierQuestion(
        entry.study, entry.title, entry.run, entry.parties, entry.tau, entry.minimum,
        rows.columns, -id(entry), lambda: rows.digests, lambda: rows.parts,
    )  # fmt: skip


# -- rows -------------------------------------------------------------------------------------

Names = tuple[tuple[str, str], ...]
"""Columns of an earlier question, each with its name in today's file."""


@dataclass(frozen=True)
class _Frame:
    """Today's rows over the columns of earlier questions, and the rows of these among them."""

    keys: Words
    places: Places
    equal_rows: bool
    sets: dict[int, tuple[Words, Places, bool]] = field(default_factory=dict)

    def find(self, each: EarlierQuestion) -> tuple[Words, Places, bool]:
        """Its rows' keys, where each is among today's (-1: nowhere), whether any rows are equal."""
        if each.row_set not in self.sets:
            keys, _, equal_rows = keys_of(each.digests())
            places = found_at(self.keys, self.places, keys)
            self.sets[each.row_set] = keys, places, equal_rows or self.equal_rows
        return self.sets[each.row_set]


@dataclass(frozen=True)
class _Source:
    """Today's questions on one source of rows, beside the earlier ones."""

    own: OwnRows
    entries: Sequence[LedgerQuestion]
    earlier: tuple[EarlierQuestion, ...]
    _frames: dict[Names, _Frame] = field(default_factory=dict)

    @cached_property
    def _any(self) -> Mask:
        return np.asarray(np.logical_or.reduce([entry.used for entry in self.entries]))

    # -- columns --------------------------------------------------------------------------------

    @cached_property
    def _here(self) -> dict[str, Counts]:
        names = dict.fromkeys(name for entry in self.entries for name in entry.columns)
        return {name: self.own.parts(name, self._any) for name in names}

    @cached_property
    def _renamed(self) -> list[dict[str, str]]:
        """Columns of each earlier question that today's use under another name."""
        return [self._looked_for(each) for each in self.earlier]

    def _looked_for(self, each: EarlierQuestion) -> dict[str, str]:
        new = [name for name in self._here if name not in each.columns]
        lost = [name for name in each.columns if name not in self._here]
        if not new or not lost:
            return {}
        needed = max(each.minimum, *(entry.minimum for entry in self.entries))
        parts, found = each.parts(), {}
        for name in lost:
            if np.sqrt(parts[name]).sum() < 4 * needed:
                continue  # of so few values, or rows, that other columns are as near by chance
            differing, nearest = min((change(parts[name], self._here[it]), it) for it in new)
            if differing < needed:
                found[name] = nearest
        return found

    def _names(self, at: int) -> Names:
        """The columns of an earlier question that today's file has, by name before by values."""
        same = {name: name for name in self.earlier[at].columns if name in self.own.cells}
        return tuple(sorted({**self._renamed[at], **same}.items()))

    def sharing(self, entry: LedgerQuestion) -> set[int]:
        """Which of the earlier questions use a column of this one."""
        used = entry.columns.keys()
        return {
            at
            for at, each in enumerate(self.earlier)
            if not used.isdisjoint(each.columns) or not used.isdisjoint(self._renamed[at].values())
        }

    # -- classes --------------------------------------------------------------------------------

    def exposed_by(self, entry: LedgerQuestion) -> set[int]:
        """The questions from which this one differs by a few rows; -1 for one of the same study."""
        near = [each for each in self.entries if entry.columns.keys() & each.columns.keys()]
        sharing = sorted(self.sharing(entry))
        limits = [each.minimum for each in near] + [self.earlier[at].minimum for at in sharing]
        needed = max(limits)
        exposed, frames = set[int](), dict[Names, list[int]]()
        for at in sharing:
            names = self._names(at)
            if len(names) == len(self.earlier[at].columns):
                frames.setdefault(names, []).append(at)
            elif 0 < self._least_change(entry, at, names) < needed:
                exposed.add(at)
        return exposed.union(*self._by_classes(entry, near, frames, needed))

    def _least_change(self, entry: LedgerQuestion, at: int, names: Names) -> int:
        """Where an earlier column is gone rows cannot be matched; columns can, one by one."""
        before = self.earlier[at].parts()
        differing = (change(before[n], self.own.parts(here, entry.used)) for n, here in names)
        return max(differing, default=0)

    def _by_classes(
        self,
        entry: LedgerQuestion,
        near: Sequence[LedgerQuestion],
        frames: Mapping[Names, Sequence[int]],
        needed: int,
    ) -> Iterator[set[int]]:
        masks = {each.used.tobytes(): each.used for each in near}
        mine, today = list(masks).index(entry.used.tobytes()), list(masks.values())

        def named(classes: Sequence[Class], sets: Sequence[Sequence[int]]) -> Iterator[set[int]]:
            for each in classes:
                used = zip(sets, each.pattern[len(today) :], strict=True)
                others = [ats for ats, it in used if it != each.pattern[mine]]
                yield {-1} if not others else set().union(*others)

        certain: list[tuple[Sequence[int], Places]] = []
        for names, ats in frames.items():
            frame, sets = self._frame(names), dict[int, list[int]]()
            for at in ats:
                sets.setdefault(self.earlier[at].row_set, []).append(at)
            found = [frame.find(self.earlier[first]) for first, *_ in sets.values()]
            equal_rows = any(equal for _, _, equal in found)
            rows = Rows(today, [places for _, places, _ in found], [keys for keys, _, _ in found])
            small = exposed_rows(rows.classes(), needed, len(today), certain=not equal_rows)
            yield from named(small, list(sets.values()))
            if not equal_rows:
                certain += zip(sets.values(), (places for _, places, _ in found), strict=True)
        if len(frames) != 1:  # rows of several frames are the same where today's are
            rows = Rows(today, [places for _, places in certain])
            small = exposed_rows(rows.classes(), needed, len(today), certain=True)
            yield from named(small, [ats for ats, _ in certain])

    def _frame(self, names: Names) -> _Frame:
        if names not in self._frames:
            rows = np.flatnonzero(self._any)
            uses = sum(entry.used[rows].astype(np.int64) for entry in self.entries)
            rows = rows[
                np.argsort(-uses, kind="stable")
            ]  # of equal rows those most used come first
            keys, places, equal_rows = keys_of(self.own.over(dict(names))[rows])
            self._frames[names] = _Frame(keys, rows[places], equal_rows)
        return self._frames[names]


def read_before(entry: LedgerQuestion, earlier: Sequence[EarlierQuestion]) -> list[dict[str, str]]:
    """For each earlier question the columns of this one that it read, of mostly the same rows; each
    with the name it had then.

    Half of the fewer rows are most. Where a column of the earlier question is nowhere in today's
    file, rows cannot be matched; then a column's values must be all but the same.
    """
    source, found = _Source(entry.own, [entry], tuple(earlier)), []
    for at, each in enumerate(earlier):
        names = source._names(at)
        read = {here: then for then, here in names if here in entry.columns}
        if read and len(names) == len(each.columns):
            own, before = entry.own.over(dict(names)), each.digests()  # whatever a gap leaves out
            fewer = min(int(entry.used.sum()), len(before))
            common = int(np.isin(before, own).sum())
            read = read if 0 < fewer <= 2 * common else {}
        elif read:
            parts, today = each.parts(), source._here
            near = [h for n, h in names if h in read and change(parts[n], today[h]) < entry.minimum]
            read = {here: read[here] for here in near}
        found.append(read)
    return found


def crossing(
    entries: Sequence[LedgerQuestion], earlier: Sequence[tuple[EarlierQuestion, str]]
) -> Iterator[Conflict]:
    """Earlier questions, each in its words, whose intervals or groups cross those of today's."""
    told = [(each, each.divided or read_divided(w, each.columns)) for each, w in earlier]
    before = [(each, divided) for each, divided in told if divided]
    for entry in entries:
        mine = entry.divided or read_divided(entry.model, tuple(entry.columns))
        read = read_before(entry, [each for each, _ in before]) if mine else []
        for (each, divided), names in zip(before, read, strict=False):
            now = {then: here for here, then in names.items()}
            theirs = [it.under(now) for it in divided if it.time in now]
            if any(a.time == b.time and not a.fits(b) for a in mine for b in theirs):
                yield Conflict(each.study, each.title, each.run, "intervals")


# -- parties ----------------------------------------------------------------------------------


def _parties(entry: LedgerQuestion, earlier: Sequence[EarlierQuestion]) -> list[Conflict]:
    """The parties that stand out between this study and the earlier ones that share columns.

    A party is the same if its name or its certificate is: parties that were renamed, or have new
    certificates, must not drown the one that is really missing.
    """
    if not earlier:
        return []
    runs = list({(each.study, each.run): each for each in earlier}.values())
    took_part = _same([entry.parties, *(run.parties for run in runs)])
    patterns = {
        who: tuple(who in studies for studies in took_part) for who in frozenset().union(*took_part)
    }
    sizes = Counter(patterns.values())
    needed = max(entry.tau, *(run.tau for run in runs)) + 2
    small = exposed_parties([Class(pattern, size) for pattern, size in sizes.items()], needed)
    patterns = {who: p for who, p in patterns.items() if any(p == each.pattern for each in small)}
    found = []
    for at, run in enumerate(runs, 1):
        one_sided = [who for who, pattern in patterns.items() if pattern[0] != pattern[at]]
        in_both = (
            [who for who, p in patterns.items() if all(p)] if took_part[0] != took_part[at] else []
        )
        if one_sided or in_both:
            who = tuple(sorted(one_sided or in_both))
            found.append(
                Conflict(run.study, run.title, run.run, "parties", who, in_both=not one_sided)
            )
    return found


def _same(studies: Sequence[Parties]) -> list[frozenset[str]]:
    """Who took part in each, everybody under one name."""
    known: dict[str, str] = {}  # names and certificates, and whose they are

    def whose(it: str) -> str:
        while it != known.setdefault(it, it):
            it = known[it]
        return it

    for parties in studies:
        for name, certificate in parties.items():
            known[whose(f"certificate {certificate}")] = whose(f"name {name}")
    names = {whose(f"name {n}"): n for parties in reversed(studies) for n in parties}
    return [frozenset(names[whose(f"name {n}")] for n in parties) for parties in studies]


def refusal_of(entry: LedgerQuestion, found: Sequence[Conflict]) -> ReleaseError:
    """In words, for the party whose ledger found it."""
    if all((each.study, each.run) == (entry.study, entry.run) for each in found):
        return ReleaseError(
            "two questions of this study use rows of this party that differ by only a few",
            hint="agree on questions that leave out the same rows (gaps in other columns "
            "leave out others); or, if what differs may be known to all parties, say so: "
            "allow_differencing=True",
            rule="differencing",
        )
    return ReleaseError(
        "the answer could be subtracted from an earlier one: " + "; ".join(map(str, found)),
        hint=_SAME_INTERVALS
        * any(each.reason == "intervals" for each in found)
        + "use the same rows and parties as then; of an earlier run that ended without an "
        "answer only what it had opened is known, after too few rows or a small cell the counts; "
        "or, if what differs may be known to all parties, say so: allow_differencing=True",
        rule="differencing",
    )
