"""A study's questions beside the earlier ones of a ledger: whose rows or parties stand out."""

# Rule: only questions that share a column are compared. Two that share none have no sum in common.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from titan.errors import ReleaseError
from titan.listing import listing
from titan.study.crossing import Divided, read_divided
from titan.study.digest_order import Counts
from titan.study.matched_rows import Before, Matched, SeveralFrames, common, match
from titan.study.row_classes import Class, Pattern, exposed_parties, exposed_rows
from titan.study.row_digests import Content, Names, OwnRows, RowSet, change

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
    rows: Before
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
        rows.columns, Before(-id(entry), len(rows), rows.stretches, lambda: rows.parts),
    )  # fmt: skip


# -- rows -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """Today's questions on one source of rows, beside the earlier ones."""

    own: OwnRows
    entries: Sequence[LedgerQuestion]
    earlier: tuple[EarlierQuestion, ...]

    @cached_property
    def _questions(self) -> list[str]:
        return [entry.question for entry in self.entries]

    # -- columns --------------------------------------------------------------------------------

    @cached_property
    def _here(self) -> dict[str, Counts]:
        names = dict.fromkeys(name for entry in self.entries for name in entry.columns)
        return {name: self.own.parts(name, self._questions) for name in names}

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
        parts, found = each.rows.parts(), {}
        for name in lost:
            if np.sqrt(parts[name]).sum() < 4 * needed:
                continue  # of so few values, or rows, that other columns are as near by chance
            differing, nearest = min((change(parts[name], self._here[it]), it) for it in new)
            if differing < needed:
                found[name] = nearest
        return found

    def _names(self, at: int) -> Names:
        """The columns of an earlier question that today's file has, by name before by values."""
        same = {name: name for name in self.earlier[at].columns if name in self.own.columns}
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
            if self._is_whole(at):
                frames.setdefault(names, []).append(at)
            elif 0 < self._least_change(entry, at, names) < needed:
                exposed.add(at)
        return exposed.union(*self._by_classes(entry, near, frames, needed))

    def _is_whole(self, at: int) -> bool:
        """Whether today's file has all columns of an earlier question, so that rows match."""
        return len(self._names(at)) == len(self.earlier[at].columns)

    def _least_change(self, entry: LedgerQuestion, at: int, names: Names) -> int:
        """Where an earlier column is gone rows cannot be matched; columns can, one by one."""
        before, question = self.earlier[at].rows.parts(), [entry.question]
        differing = (change(before[n], self.own.parts(here, question)) for n, here in names)
        return max(differing, default=0)

    def _by_classes(
        self,
        entry: LedgerQuestion,
        near: Sequence[LedgerQuestion],
        frames: Mapping[Names, Sequence[int]],
        needed: int,
    ) -> Iterator[set[int]]:
        today, mine = [self.own.questions.index(each.question) for each in near], near.index(entry)
        patterns = [tuple(each[n] for n in today) for each in self.own.uses.patterns]
        patterns.append((False,) * len(today))  # the last, which -1 is, of rows that are gone

        def named(classes: Iterable[Class], sets: Sequence[Sequence[int]]) -> Iterator[set[int]]:
            for each in classes:
                used = zip(sets, each.pattern[len(today) :], strict=True)
                others = [ats for ats, it in used if it != each.pattern[mine]]
                yield {-1} if not others else set().union(*others)

        certain: list[tuple[Names, int, Sequence[int]]] = []
        for names, ats in frames.items():
            matched, sets = self._matched[names], dict[int, list[int]]()
            for at in ats:
                sets.setdefault(self.earlier[at].rows.row_set, []).append(at)
            places = [matched.before[row_set] for row_set in sets]
            sizes: Counter[Pattern] = Counter()
            for kind, size in matched.sizes.items():
                sizes[patterns[kind.use] + tuple(kind.earlier[n] for n in places)] += size
            sure = matched.certain(sets)
            small = exposed_rows(_classes(sizes), needed, len(today), certain=sure)
            yield from named(small, list(sets.values()))
            if sure:
                pairs = zip(places, sets.values(), strict=True)
                certain += [(names, place, own) for place, own in pairs]
        if len(frames) != 1:  # rows of several frames are the same where today's are
            sizes = Counter()
            for use, earlier, size in self._in_all_frames if certain else self._today:
                if any(patterns[use]):
                    own = tuple(earlier[names][place] for names, place, _ in certain)
                    sizes[patterns[use] + own] += size
            small = exposed_rows(_classes(sizes), needed, len(today), certain=True)
            yield from named(small, [ats for *_, ats in certain])

    @cached_property
    def _today(self) -> list[tuple[int, Mapping[Names, Pattern], int]]:
        """How many rows there are of each use, whatever there was before."""
        return [(use, {}, int(size)) for use, size in enumerate(self.own.uses.counts)]

    @cached_property
    def _in_all_frames(self) -> list[tuple[int, Mapping[Names, Pattern], int]]:
        """The same, and of which earlier questions they are in every frame of different rows."""
        return [(use, dict(said), size) for (use, said), size in self._several.sizes().items()]

    @cached_property
    def _several(self) -> SeveralFrames:
        return SeveralFrames(self.own)

    @cached_property
    def _matched(self) -> Mapping[Names, Matched]:
        """Today's rows beside those of all earlier questions that can be matched, by frames."""
        frames = dict[Names, dict[int, Before]]()
        for at in sorted(set().union(*map(self.sharing, self.entries))):
            if self._is_whole(at):
                before = self.earlier[at].rows
                frames.setdefault(self._names(at), {})[before.row_set] = before
        several = self._several if len(frames) > 1 else None
        return {
            names: match(self.own, self._questions, names, list(before.values()), several)
            for names, before in frames.items()
        }


def _classes(sizes: Mapping[Pattern, int]) -> list[Class]:
    return [Class(pattern, size) for pattern, size in sizes.items() if any(pattern)]


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
            fewer = min(len(entry.rows), each.rows.rows)
            both = common(entry.own, names, each.rows)  # whatever a gap leaves out
            read = read if 0 < fewer <= 2 * both else {}
        elif read:
            parts, today = each.rows.parts(), source._here
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


_MOST_SAID = 3


def _several(found: Sequence[Conflict]) -> str:
    """The first of them; of many runs of one study it would be the same again and again."""
    shown = [*map(str, found[:_MOST_SAID])]
    more = len(found) - len(shown)
    return "; ".join(shown) + (f"; and so for {more} more" if more else "")


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
        "the answer could be subtracted from an earlier one: " + _several(found),
        hint=_SAME_INTERVALS
        * any(each.reason == "intervals" for each in found)
        + "use the same rows and parties as then; of an earlier run that ended without an "
        "answer only what it had opened is known, after too few rows or a small cell the counts; "
        "or, if what differs may be known to all parties, say so: allow_differencing=True",
        rule="differencing",
    )
