"""A party's own rows before it takes part: what was read, and what would keep or stop the run.

Nothing is sent and nothing is written. A rule of release that the own rows break would be a veto,
and cost everybody the run; a mistake in the file stops its owner's command. Both are found here,
all of them as far as that is known before anything of other parties is.
"""

# Rule: what is found is for the owner alone; no value is shown.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any, Literal

from titan.errors import DataError, ReleaseError, TitanError
from titan.joint.checking import check_own_leverage
from titan.joint.computation import Fold
from titan.joint.describe import RowsCounted
from titan.joint.exits import ExitsPart
from titan.joint.explanations import explained
from titan.joint.meeting import Parts
from titan.joint.pooled_model import PooledModel, RowsPart
from titan.joint.survival import CountingExits
from titan.moments import Source
from titan.moments.reading import read_all
from titan.moments.rows import ModelRows
from titan.party.preparing import check_columns, hints_in_study, rows_for
from titan.party.wrong_cells import Finding, LookAtCells, Wanted, mistake
from titan.release.policy import counted
from titan.study.manifest import Study

Rows = Source | Mapping[str, Source]

_ENOUGH = 1 << 20
"""Rows of others in a cell: more hide no row any better."""
_MOST_RARE = 8
"""Cells of few rows that are named."""


@dataclass(frozen=True)
class RowsOf:
    """How many rows there are for one question, how many are used and how many have gaps."""

    question: str
    rows: int
    used: int
    refused: bool = False
    """Whether rows with gaps refuse the whole file: then none is dropped."""

    @property
    def dropped(self) -> int:
        return self.rows - self.used


@dataclass(frozen=True)
class OwnRows:
    """What was found."""

    rows: tuple[RowsOf, ...] = ()
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many values of a column lie between the study's steps."""
    errors: tuple[TitanError, ...] = ()
    """All that was found wrong."""
    first: TitanError | None = None
    """What `join` meets first: a ReleaseError makes it veto, any other stops it."""
    notes: tuple[str, ...] = ()

    @property
    def vetoes(self) -> tuple[ReleaseError, ...]:
        return tuple(error for error in self.errors if isinstance(error, ReleaseError))

    @property
    def mistakes(self) -> tuple[TitanError, ...]:
        return tuple(error for error in self.errors if not isinstance(error, ReleaseError))

    @property
    def outcome(self) -> Literal["passes", "veto", "mistake"]:
        if self.first is None:
            return "passes"
        return "veto" if isinstance(self.first, ReleaseError) else "mistake"

    @property
    def exit_status(self) -> int:
        return 0 if self.first is None else self.first.exit_status

    def as_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "questions": [
                {"name": r.question, "rows": r.rows, "used": r.used, "dropped": r.dropped}
                for r in self.rows
            ],
            "rounded": dict(self.rounded),
            "vetoes": [
                {**error.refused(), "problem": error.message, "hint": error.hint}
                for error in self.vetoes
            ],
            "mistakes": [{"problem": e.message, "hint": e.hint} for e in self.mistakes],
            "notes": list(self.notes),
        }


def look(
    study: Study, data: Any, prepare: Callable[[Rows], Parts] | None = None, *, most: int = 1 << 62
) -> OwnRows:
    """At this party's rows, which are read once unless something is wrong with them.

    `prepare` makes its parts of them. With at most so many rows their leverage is looked at, for
    which they are read again.
    """
    rows: Rows | None = None
    try:
        rows = rows_for(study, data)
        check_columns(study, rows)
        return _of_parts(study, (prepare or study.meeting.prepare)(rows), most)
    except TitanError as error:
        return OwnRows(errors=(error,), first=error) if rows is None else _wrong(study, rows, error)


# -- rows that can be used ----------------------------------------------------------------------


def _of_parts(study: Study, parts: Parts, most: int) -> OwnRows:
    computations = dict(study.meeting.computations)
    of_rows = [each for name, c in computations.items() for each in _counted(name, c, parts[name])]
    errors = _distinct(
        error for name, c in computations.items() for error in _refusals(name, c, parts[name])
    )
    if not errors and max((each.used for each in of_rows), default=0) <= most:
        errors = _distinct(_standing_alone(study, parts))
    rounded: Counter[str] = Counter()
    for part in parts.values():  # a column counts once for all questions
        rounded |= Counter(getattr(part, "rounded", {}))
    notes = list(_notes(study, parts))
    first = errors[0] if errors else None
    return OwnRows(tuple(of_rows), rounded, errors, first, tuple(dict.fromkeys(notes)))


def _used(computation: Any, part: Any) -> int | None:
    """How many rows; None of a kind that does not tell."""
    if isinstance(part, RowsPart):
        return part.moments.rows
    if isinstance(part, RowsCounted | ExitsPart):
        return part.rows
    return 1 if getattr(computation, "one_row", False) else None


def _counted(name: str, computation: Any, part: Any) -> Iterator[RowsOf]:
    used = _used(computation, part)
    if used is not None:
        yield RowsOf(name, used + getattr(part, "dropped", 0), used)


def _refusals(name: str, computation: Any, part: Any) -> Iterator[ReleaseError]:
    """What keeps its first sum from being made: of cells all that are too small."""
    try:
        Fold(computation).secret(part)
    except ReleaseError as first:
        yield _of(name, first)
        for each in _own_cells(computation, part).items():
            try:
                computation.policy.check_local([each])
            except ReleaseError as refusal:
                yield _of(name, refusal)


def _of(question: str, refusal: ReleaseError) -> ReleaseError:
    refusal.question = question
    return refusal


def _own_cells(computation: Any, part: Any) -> dict[str, int]:
    """Every cell that is counted, and the own rows in it."""
    return dict(computation.own_cells(part)) if hasattr(computation, "own_cells") else {}


def _notes(study: Study, parts: Parts) -> Iterator[str]:
    """What others' rows decide: only the counts tell, and all see them, refused or not."""
    computations = study.meeting.computations
    held = {column for _, c in computations for column in _held(c)}
    least = study.release.parties_needed(study.tau) if study.release.rows_per_cell else 0
    few = f"; one that fewer than {least} parties have is refused, once all have seen the counts"
    for name, computation in computations:
        for column, cell in _shared(computation, parts[name]):
            yield (
                f"all your rows have {cell}: if no other party has that level, the counts tell "
                f"how many rows you have{few if column in held and least > 1 else ''}"
            )
    for name, computation in computations:
        if hasattr(computation, "own_notes"):
            yield from computation.own_notes(parts[name])
    rare: dict[str, int] = {}
    for name, computation in computations:
        rare |= _rare(computation, parts[name])
    for cell, count in list(rare.items())[:_MOST_RARE]:
        yield (
            f"your rows have {cell.removesuffix(' is there')} in {counted(count)}: with fewer than "
            f"{study.release.rows_per_cell} in all, the study is refused, and all will have seen "
            "that count"
        )
    if len(rare) > _MOST_RARE:
        yield f"and so with {counted(len(rare) - _MOST_RARE, 'more cell')} of few of your rows"


def _held(computation: Any) -> Iterator[str]:
    """The columns of those cells in which parties are counted too."""
    if isinstance(computation, PooledModel | CountingExits):
        for table in computation.cells.held:
            yield from (cut.column for cut in table.cuts)


def _shared(computation: Any, part: Any) -> Iterator[tuple[str, str]]:
    """Levels that all own rows have: what is counted there may be this party alone."""
    cells, wanted = _own_cells(computation, part), Wanted.by(computation)
    rows = (_used(computation, part) or 0) - getattr(part, "weightless", 0)
    for column, levels in () if wanted is None else wanted.levels:
        for cell in (f"{column} = {level.text}" for level in levels):
            if len(levels) > 1 and cells.get(cell, 0) == rows > 0:
                yield column, cell


def _rare(computation: Any, part: Any) -> dict[str, int]:
    """Cells of few own rows; not those within one of them, which are as rare."""
    found: dict[str, int] = {}
    for cell, count in _own_cells(computation, part).items():
        within = any(piece in found for piece in cell.split(", "))
        if 0 < count < computation.policy.rows_per_cell and not within:
            found[cell] = count
    return found


def _standing_alone(study: Study, parts: Parts) -> Iterator[ReleaseError]:
    """Own rows that stand alone in a model however many rows others have in the own cells."""
    by_source: dict[Any, list[tuple[str, Any]]] = {}
    for name, computation in study.meeting.computations:
        if (source := getattr(parts[name], "source", None)) is not None:
            by_source.setdefault(source, []).append((name, computation))
    for asked in by_source.values():
        models = [(name, c, parts[name]) for name, c in asked if isinstance(c, PooledModel)]
        found = [refusal for each in models for refusal in _alone([each])]
        beside = [rows for _, c in asked if hasattr(c, "beside") for rows in c.beside]
        yield from found or (_alone(models, beside) if len(models) + len(beside) > 1 else ())


def _alone(
    models: Sequence[tuple[str, PooledModel, RowsPart]], beside: Sequence[ModelRows] = ()
) -> Iterator[ReleaseError]:
    if not models:
        return
    _, first, part = models[0]
    counted = [(m.checks.cells, p.counts, [n + _ENOUGH for n in p.counts]) for _, m, p in models]
    try:
        check_own_leverage(first.policy, [*(m.rows for _, m, _ in models), *beside], part, counted)
    except ReleaseError as refusal:
        yield _of(models[0][0] if len(models) == 1 and not beside else "", refusal)


# -- rows that cannot ---------------------------------------------------------------------------


def _wrong(study: Study, rows: Rows, error: TitanError) -> OwnRows:
    """All that is wrong with them, where `error` is what was met first."""
    by_source: dict[Source, list[str]] = {}
    for question in study.questions:
        source = rows[question.name] if isinstance(rows, Mapping) else rows
        by_source.setdefault(source, []).append(question.name)
    errors, counted = list[TitanError](), list[RowsOf]()
    for source, names in by_source.items():
        found, of_source = _in_source(study, source, names)
        errors, counted = [*errors, *found], [*counted, *of_source]
    for each in errors:
        each.hint = "; ".join(hints_in_study(each, study))
    if not any(_same(each, error) for each in errors):
        error.hint = "; ".join(hints_in_study(error, study))
        errors.insert(0, error)
    return OwnRows(tuple(counted), errors=_distinct(errors), first=error)


def _in_source(
    study: Study, source: Source, names: Sequence[str]
) -> tuple[list[TitanError], list[RowsOf]]:
    errors, counted = list[TitanError](), list[RowsOf]()
    looks: dict[str, LookAtCells] = {}
    for name in names:
        computation = study.meeting.computation(name)
        try:
            source.check(explained(computation).columns or ())
        except DataError as error:
            errors.append(error)
        wanted = Wanted.by(computation)
        if wanted is not None:
            each = LookAtCells(wanted, study.columns, frozenset(source.column_names))
            looks |= {name: each} if each.columns else {}
    try:
        seen = read_all(source, list(looks.values()))
    except TitanError:  # there are no rows, or no lines of cells: that was met first
        return errors, counted
    unreadable: dict[tuple[str, str], Finding] = {}
    outside: dict[str, Finding] = {}
    of_all = list[TitanError]()
    for (name, each), found in zip(looks.items(), seen, strict=True):
        question: Any = study.meeting.computation(name)
        refused = each.wanted.missing == "refuse"
        counted.append(RowsOf(name, found.count.rows, found.count.used, refused))
        of_all += each.gaps(found, source.label)
        unreadable |= found.unreadable
        for column, there in found.outside.items():
            outside[column] = max(there, outside.get(column, there), key=attrgetter("count"))
        try:
            question.policy.check_own(found.count.used, source.label)
        except ReleaseError as refusal:
            of_all.append(refusal)
    by_row: list[tuple[int, TitanError]] = [
        *((each.at, mistake(column, each)) for (column, _), each in unreadable.items()),
        *((f.at, study.columns.refusal(c, f.first, f.count)) for c, f in outside.items()),
    ]
    in_order = [error for _, error in sorted(by_row, key=itemgetter(0))]
    return [*errors, *in_order, *of_all], counted


def _same(one: TitanError, other: TitanError) -> bool:
    if isinstance(one, ReleaseError) and isinstance(other, ReleaseError):
        return (one.rule, one.cell) == (other.rule, other.cell)
    return one.message.startswith(other.message)  # which does not say how many there are


def _distinct(errors: Iterable[TitanError]) -> tuple[TitanError, ...]:
    found: dict[str, TitanError] = {}
    for error in errors:
        found.setdefault(error.message, error)
    return tuple(found.values())
