"""From a party's rows, in one pass, to its parts in all questions and its ledger's entries."""

# Rule: digests are made under the ledger's key and go to the ledger, or under the journal's to the
#       journal, and nowhere else.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import DataError, FileError, InputError, ReleaseError, TitanError
from titan.joint import Task
from titan.joint.explanations import explained
from titan.joint.meeting import Parts, Refused
from titan.joint.pooled_model import RowsPart
from titan.listing import listing
from titan.moments import Model, Source, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import Reading, read
from titan.moments.rows import ModelRows
from titan.moments.several_files import files_of
from titan.party.run import OTHERS_WAIT
from titan.release.dictionary import in_words
from titan.release.policy import DEFAULT
from titan.study.asking import earlier_models
from titan.study.crossing import divisions
from titan.study.differencing import LedgerQuestion
from titan.study.digesting import DigestRows
from titan.study.manifest import Study
from titan.study.row_digests import OwnRows, RowKey

Rows = Source | Mapping[str, Source]
Prepare = Callable[[Study, int, Rows, RowKey, Sequence[str]], tuple[Parts, list[LedgerQuestion]]]
"""Makes parts and entries of the rows, as `prepare` does."""


@dataclass(frozen=True)
class Prepared:
    """What one pass over the rows made of them, under a ledger as it was then."""

    key: RowKey
    asked: Sequence[str]
    """The questions that were in the ledger."""
    parts: Parts | None = field(repr=False)
    entries: Sequence[LedgerQuestion] = field(repr=False)
    refusal: ReleaseError | None
    """Why this party can only veto; without parts, its rows cannot be used at all."""

    @classmethod
    def of(
        cls,
        study: Study,
        run: int,
        rows: Rows,
        key: RowKey,
        asked: Sequence[str],
        make: Prepare | None = None,
    ) -> Prepared:
        """What is wrong with the own rows is found out now; what is not a rule's is raised."""
        parts, entries = None, list[LedgerQuestion]()
        try:
            parts, entries = (make or prepare)(study, run, rows, key, asked)
            Task(study.meeting, study.plans, parts).check()
        except ReleaseError as refusal:
            return cls(key, asked, parts, entries, refusal)
        return cls(key, asked, parts, entries, None)

    def task(self, study: Study) -> Task:
        """Where a rule forbids to use the rows, all that is left is a veto."""
        part = self.parts if self.refusal is None else Refused(self.refusal)
        return Task(study.meeting, study.plans, part)


def prepare(
    study: Study,
    run: int,
    rows: Rows,
    key: RowKey,
    asked: Sequence[str] = (),
) -> tuple[Parts, list[LedgerQuestion]]:
    """The parts, and an entry of the ledger for every question.

    `key` is the ledger's, and `asked` the questions that are in it.
    """

    def digests(source: Source, names: Sequence[str]) -> list[Reading[Any, Any]]:
        return [_digests(study, names, source, key)]

    parts, found = study.meeting.prepare_beside(rows, digests)
    own = {name: rows for rows in found.values() for name in rows.questions}
    entries = [entry_of(study, run, each.name, own[each.name]) for each in study.questions]
    models = earlier_models(asked, {entry.model for entry in entries}, key)
    return {name: with_earlier(study, part, models) for name, part in parts.items()}, entries


def with_earlier(study: Study, part: Any, models: Sequence[Model]) -> Any:
    """What earlier studies asked of the same rows, as far as it can be asked of them today."""
    if not isinstance(part, RowsPart) or part.source is None:
        return part
    found = []
    for model in models:
        rows = ModelRows(model, "drop", study.columns.place)
        if set(model.columns_needed) <= set(part.source.column_names):
            with suppress(DataError):
                read(part.source, CollectMoments(rows))
                found.append(rows)
    return replace(part, earlier=tuple(found))


def mend(error: DataError | FileError, study: Study) -> None:
    """Add to its hint what the study says of that column, and that nothing is lost yet."""
    parts = [*hints_in_study(error, study), "mend the file and run the same command again"]
    error.hint = "; ".join(parts) + OTHERS_WAIT


def hints_in_study(error: TitanError, study: Study) -> list[str]:
    """Its hints, and what the study says of that column.

    A formula's C(…) is the study's to write, not that of whoever joins it.
    """
    parts = [part for part in error.hint.split("; ") if part and "C(" not in part]
    column = getattr(error, "column", "")
    if (known := study.columns.content().get(column)) is not None:
        stated = f"in the study it is a {known['kind']}: {in_words(column, known)}"
        parts = [stated, *(part for part in parts if part != stated)]
    return [part.removeprefix("otherwise ") for part in parts]


def asked_columns(study: Study) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every question by name: its words, and the columns that it reads."""
    words = {question.name: str(question) for question in study.questions}
    return {name: (said, columns_of(study, name) or (said,)) for name, said in words.items()}


def rounding_notes(study: Study, parts: Parts) -> list[str]:
    """What was done to the own rows, for their owner; a column counts once for all questions."""
    rounded: Counter[str] = Counter()
    for part in parts.values():
        rounded |= Counter(getattr(part, "rounded", {}))
    return study.columns.rounding_notes(rounded)


def _digests(study: Study, names: Sequence[str], source: Source, key: RowKey) -> Reading[Any, Any]:
    """Of the cells that these questions read, and of columns that earlier ones read."""
    used = [column for name in names for column in columns_of(study, name) or source.column_names]
    known = {c: key.columns[c] for c in source.column_names if c in key.columns}
    models = {name: getattr(study.meeting.computation(name), "rows", None) for name in names}
    dictionary = study.columns.content()
    stated = {column: dictionary.get(column, {}) for column in used}
    return DigestRows(models, {**known, **stated}, key)


def columns_of(study: Study, name: str) -> tuple[str, ...]:
    return explained(study.meeting.computation(name)).columns or ()


def entry_of(study: Study, run: int, name: str, own: OwnRows) -> LedgerQuestion:
    """One question as the ledger of the party with these rows sees it."""
    dictionary = study.columns.content()
    columns = [c for c in columns_of(study, name) or own.columns if c in own.columns]
    return LedgerQuestion(
        study=study.digest,
        title=study.title,
        run=run,
        parties={card.name: card.fingerprint for card in study.parties},
        tau=study.tau,
        question=name,
        model=str(study.question(name)),
        minimum=_least_rows(study, name),
        columns={column: dictionary.get(column, {}) for column in columns},
        own=own,
        divided=divisions(study.question(name), study.columns, study.release.rows_per_cell),
    )


def _least_rows(study: Study, name: str) -> int:
    """How many rows may stand out between answers; a study may ask for more than usual, not fewer.

    Whoever states a study must not lower what an earlier one was promised.
    """
    cell = max(study.release.rows_per_cell, DEFAULT.rows_per_cell)
    each = max(study.release.rows_per_parameter, DEFAULT.rows_per_parameter)
    return max(cell, each * (explained(study.meeting.computation(name)).parameters or 1))


# -- what was handed in -----------------------------------------------------------------------


def rows_for(study: Study, data: Any) -> Source | dict[str, Source]:
    """The rows for all questions, or for each by its name."""
    names = [question.name for question in study.questions]
    if not isinstance(data, Mapping) or not data or not set(data) <= set(names):
        return _opened(data)
    absent = [name for name in names if name not in data]
    if absent:
        raise InputError(
            f"there are no rows for {listing(absent)}", hint="one source for every question"
        )
    opened: dict[Any, Source] = {}  # a file for several questions once: they are looked at as one
    for rows in data.values():
        opened.setdefault(_which(rows), _opened(rows))
    return {name: opened[_which(rows)] for name, rows in data.items()}


def are_there(data: Any) -> bool:
    """Whether all files that the rows are in exist: a name that is mistyped is mended at once."""
    several = data.values() if isinstance(data, Mapping) else [data]
    try:
        files = [files_of(each) for each in several if isinstance(each, str | PathLike | list)]
    except FileError:  # no file matches
        return False
    return all(file.path.exists() for found in files for file in found)


def _which(rows: Any) -> Any:
    return Path(rows).resolve() if isinstance(rows, str | PathLike) else id(rows)


def _opened(data: Any) -> Source:
    """A stream that can be read only once is kept: some questions read the rows again."""
    if hasattr(data, "read_all") and hasattr(data, "schema"):
        data = data.read_all()
    return open_source(data)


def check_columns(study: Study, rows: Source | Mapping[str, Source]) -> None:
    """Refuse a file that lacks a column, before any row is read."""
    for question in study.questions:
        source = rows[question.name] if isinstance(rows, Mapping) else rows
        source.check(columns_of(study, question.name))
