"""Making a part where the rows lie: `titan prepare`.

One pass for counts, moments and digests, as `join` makes it; two more for the rows that may stand
out. Nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import titan
from titan.joint.meeting import APART, Parts
from titan.joint.pooled_model import PooledModel, RowsPart
from titan.moments import Moments, Source
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.party.part_file import PartFile, SourcePart, questions_of
from titan.party.part_states import look_state, part_state
from titan.party.preparing import columns_of, prepare
from titan.protocol.masking import fresh_key
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import looks_at, named
from titan.study.differencing import LedgerQuestion
from titan.study.manifest import Study
from titan.study.row_digests import RowKey

LEVERAGE = "looks at the leverage of its rows"
UNKNOWN_KIND = "questions of its kind"


class PartMaker:
    """Makes the parts of a study's questions, and keeps what a part file needs."""

    def __init__(self, study: Study, party: str, key: RowKey, asked: Sequence[str]) -> None:
        self._study, self._party, self._key, self._asked = study, party, key, tuple(asked)
        self._rows: dict[str, SameRows] = {}
        self._made: tuple[Parts, list[LedgerQuestion]] | None = None

    def parts(self, rows: Source | Mapping[str, Source]) -> Parts:
        """As `join` would make them; what is wrong with the rows is raised."""
        study = self._study
        wrapped: dict[Source, SameRows] = {}
        for question in study.questions:
            source = rows[question.name] if isinstance(rows, Mapping) else rows
            if source not in wrapped:
                again = [columns_of(study, each.name) for each in study.questions]
                wrapped[source] = SameRows(source, fresh_key(), [each for each in again if each])
            self._rows[question.name] = wrapped[source]
        self._made = prepare(study, 1, self._rows, self._key, self._asked)
        return self._made[0]

    def part(self) -> PartFile:
        """Of the rows that were read."""
        assert self._made is not None  # noqa: S101 - made before
        parts, entries = self._made
        sources = [self._source(each, parts, entries) for each in self._sources()]
        computations = dict(self._study.meeting.computations)
        states = {name: part_state(c, parts[name]) for name, c in computations.items()}
        again = {name: self._again(name, parts, states, sources) for name in computations}
        return PartFile(
            self._study.digest,
            self._party,
            titan.__version__,
            self._key,
            self._asked,
            tuple(sources),
            states,
            {name: why for name, why in again.items() if why},
            tuple(parts[APART]) if APART in parts else None,
        )

    def _again(
        self, name: str, parts: Parts, states: Mapping[str, Any], sources: Sequence[SourcePart]
    ) -> str:
        """Why a question needs the rows again; empty where what is kept will do."""
        computation: Any = self._study.meeting.computation(name)
        if reason := getattr(computation, "rows_for", ""):
            return str(reason)
        if states[name] is None:
            return UNKNOWN_KIND
        source = questions_of(sources)[name]
        own, pooled = looks_needed(self._study, parts, list(source.own.questions))
        wanted = [named(rows) for rows in own] + [named(rows) for rows, _ in pooled]
        there = not isinstance(computation, PooledModel) or set(wanted) <= set(source.looks)
        return "" if there else LEVERAGE

    def _sources(self) -> list[SameRows]:
        return list(dict.fromkeys(self._rows.values()))

    def _source(
        self, source: SameRows, parts: Parts, entries: Sequence[LedgerQuestion]
    ) -> SourcePart:
        names = [name for name, its in self._rows.items() if its is source]
        own = next(entry.own for entry in entries if entry.question in names)
        look, pooled = looks_needed(self._study, parts, names)
        found = looks_at(source, look, pooled, self._study.release.rows_per_cell)
        looks = {name: look_state(each) for name, each in found.items()}
        return SourcePart(source.label, source.column_names, own, source.key, source.known, looks)


def looks_needed(
    study: Study, parts: Parts, names: Sequence[str]
) -> tuple[list[JointRows], list[tuple[ModelRows, Moments]]]:
    """Looks at the rows of one source that the sums of these questions will take: at the own rows,
    of each model and of all together, and at those of a model in everybody's moments."""
    models = [(c, p) for name in names if (c := _model(study, name)) and (p := _rows(parts[name]))]
    if not models or not study.release.rows_per_cell:
        return [], []
    own = [JointRows.of([c.rows, *part.earlier]) for c, part in models]
    together = [c.rows for c, _ in models] + list(_beside(study, names))
    if len(together) > 1:
        own.append(JointRows.of([*together, *models[0][1].earlier]))
    return own, [(c.rows, p.moments) for c, p in models if isinstance(p.moments, Moments)]


def _model(study: Study, name: str) -> PooledModel | None:
    found = study.meeting.computation(name)
    return found if isinstance(found, PooledModel) and found.model is not None else None


def _rows(part: Any) -> RowsPart | None:
    return part if isinstance(part, RowsPart) else None


def _beside(study: Study, names: Sequence[str]) -> Iterator[ModelRows]:
    for name in names:
        yield from getattr(study.meeting.computation(name), "beside", ())
