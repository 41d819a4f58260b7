"""From a party's rows, in one pass, to its parts in all questions and its ledger's entries."""

# Rule: digests are made under the ledger's key and go to the ledger, or under the journal's to the
#       journal, and nowhere else.

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from titan.errors import InputError
from titan.joint.explanations import explained
from titan.joint.meeting import Parts
from titan.listing import listing
from titan.moments import Source, open_source
from titan.moments.reading import Reading
from titan.study.ledger import Entry
from titan.study.manifest import Study
from titan.study.row_digests import DigestRows, UsedRows

RECORD = "record"


def prepare(
    study: Study, run: int, rows: Source | Mapping[str, Source], key: bytes
) -> tuple[Parts, list[Entry]]:
    """The parts, and an entry of the ledger for every question; `key` is the ledger's."""

    def digests(source: Source, names: Sequence[str]) -> list[Reading[Any, Any]]:
        return [_digests(study, name, source, key) for name in names]

    parts, found = study.meeting.prepare_beside(rows, digests)
    return parts, [_entry(study, run, name, found[name]) for name in parts]


def rounding_notes(study: Study, parts: Parts) -> list[str]:
    """What was done to the own rows, for their owner; a column counts once for all questions."""
    rounded: Counter[str] = Counter()
    for part in parts.values():
        rounded |= Counter(getattr(part, "rounded", {}))
    return study.columns.rounding_notes(rounded)


def _digests(study: Study, name: str, source: Source, key: bytes) -> Reading[Any, Any]:
    """Of the rows that a question uses: those of a model, or all of them."""
    used = getattr(study.meeting.computation(name), "rows", None)
    if used is None:
        used = tuple(_columns(study, name) or source.column_names)
    return DigestRows(used, tuple(source.column_names), key)


def _columns(study: Study, name: str) -> Sequence[str]:
    return explained(study.meeting.computation(name)).columns or ()


def _entry(study: Study, run: int, name: str, rows: UsedRows) -> Entry:
    """One question as the ledger of the party with these rows sees it."""
    columns = _columns(study, name)
    used = f"columns {json.dumps(sorted(columns), ensure_ascii=False)}"
    return Entry(
        study=study.digest,
        title=study.title,
        run=run,
        parties={card.name: card.fingerprint for card in study.parties},
        tau=study.tau,
        minimum=study.min_rows_party,
        columns=frozenset(columns),
        model=str(study.question(name)),
        rows={RECORD: rows.records, used: rows.values},
    )


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
    return {name: _opened(rows) for name, rows in data.items()}


def _opened(data: Any) -> Source:
    """A stream that can be read only once is kept: some questions read the rows again."""
    if hasattr(data, "read_all") and hasattr(data, "schema"):
        data = data.read_all()
    return open_source(data)


def check_columns(study: Study, rows: Source | Mapping[str, Source]) -> None:
    """Refuse a file that lacks a column, before any row is read."""
    for question in study.questions:
        source = rows[question.name] if isinstance(rows, Mapping) else rows
        source.check(_columns(study, question.name))
