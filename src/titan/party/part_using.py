"""Taking part with what was made of the rows before: `titan join --part`.

Everything that `join` checks of its own rows and against its ledger is checked here too, of what
the part has of them. Where rows come with it, they are read once to see that they are the same.
"""

# Rule: a part that does not fit (the study, the party, the ledger, the rows) is refused before
#       anything leaves.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from titan.errors import FileError, InputError
from titan.joint.meeting import APART, Parts
from titan.listing import listing
from titan.moments import Source
from titan.moments.reading import Reading, read
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.moments.sources import Block
from titan.party.part_file import PartFile, SourcePart, load, questions_of
from titan.party.part_making import looks_needed
from titan.party.part_states import read_look, read_part
from titan.party.preparing import entry_of, rows_for, with_earlier
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import KeptRows, Look, named
from titan.study.asking import earlier_models
from titan.study.differencing import LedgerQuestion
from titan.study.ledger import Ledger
from titan.study.manifest import Study
from titan.study.row_digests import RowKey

_AGAIN = "make it again where the rows are: titan prepare"


@dataclass(frozen=True)
class UsedPart:
    """A part that fits the study and the party; `place` is where its file is."""

    place: str
    file: PartFile
    study: Study
    has_rows: bool

    @classmethod
    def load(cls, path: Path, study: Study, party: str, data: Any = None) -> UsedPart:
        """FileError where it was made for something else; where rows are needed and not given,
        InputError."""
        file = load(path)
        if file.study != study.digest:
            raise FileError(
                f'"{path}" was made for another study, or for an earlier text of this one',
                hint=f"{_AGAIN} study.toml, with the file that all parties have now",
            )
        if file.party != party:
            raise FileError(
                f'"{path}" was made for {file.party!r}, and this is {party!r}',
                hint=f"join with the part of {party!r}, or --as {file.party}",
            )
        part = cls(str(path), file, study, data is not None)
        names = [question.name for question in study.questions]
        if set(file.parts) != set(names) or set(questions_of(file.sources)) != set(names):
            part.refuse("it does not have the study's questions")
        if file.again and data is None:
            why = [f"{name} ({reason})" for name, reason in file.again.items()]
            raise InputError(
                f'the rows are needed again, beside "{path}", for {listing(why)}',
                hint="give them as well: --data FILE",
                choice="part",
            )
        return part

    def refuse(self, reason: str) -> Any:
        raise FileError(f'"{self.place}" is not a usable part: {reason}', hint=_AGAIN)

    def key_for(self, ledger: Path) -> RowKey:
        """How that ledger looks at rows; one that is yet to be begun, as the part's maker did."""
        return Ledger.key_for(ledger) if ledger.exists() else self.file.key

    def rows(self, data: Any) -> dict[str, Source]:
        """For every question the rows that were given, or what was kept of them."""
        given = None if data is None else rows_for(self.study, data)
        found: dict[str, Source] = {}
        for source in self.file.sources:
            if given is None:
                kept: Source = self._kept(source)
                found |= dict.fromkeys(source.own.questions, kept)
                continue
            opened: dict[Source, SameRows] = {}
            for name in source.own.questions:
                rows = given[name] if isinstance(given, Mapping) else given
                opened.setdefault(rows, self._same(rows, source))
                found[name] = opened[rows]
        return found

    def _same(self, rows: Source, source: SourcePart) -> SameRows:
        since = f'"{self.place}" was made'
        return SameRows(rows, source.same_key, known=source.same, since=since)

    def _kept(self, source: SourcePart) -> KeptRows:
        return KeptRows(source.label, source.column_names, _Looks(self, source))

    # -- what `join` does with it ---------------------------------------------------------------

    def prepare(
        self,
        study: Study,
        run: int,
        rows: Source | Mapping[str, Source],
        key: RowKey,
        asked: Sequence[str] = (),
    ) -> tuple[Parts, list[LedgerQuestion]]:
        """As `titan.party.preparing.prepare`, of the part; rows that are there are compared."""
        assert isinstance(rows, Mapping)  # noqa: S101 - `rows` made them
        self._check_ledger(key)
        for source in {id(each): each for each in rows.values()}.values():
            if isinstance(source, SameRows):
                _compare(source)
        of = questions_of(self.file.sources)
        own = {id(s): replace(s.own, key=key) for s in self.file.sources}
        names = [question.name for question in study.questions]
        entries = [entry_of(study, run, name, own[id(of[name])]) for name in names]
        models = earlier_models(asked, {entry.model for entry in entries}, key)
        if self.has_rows:
            parts = {name: self._part(name, rows[name], {}) for name in names}
            parts = {name: with_earlier(study, part, models) for name, part in parts.items()}
        else:
            earlier = self._earlier(asked, models)
            parts = {name: self._part(name, rows[name], earlier) for name in names}
            self._check_looks(parts, rows)
        if study.meeting.apart is not None:
            parts[APART] = self.file.apart or self.refuse("rows apart are not counted in it")
        return parts, entries

    def _part(self, name: str, source: Source, earlier: Mapping[str, ModelRows]) -> Any:
        computation: Any = self.study.meeting.computation(name)
        state = self.file.parts[name]
        if state is None:
            if hasattr(computation, "reading"):
                return computation.part(read(source, computation.reading), source)
            return computation.prepare(source)
        try:
            if self.has_rows and "earlier" in state:
                state = {**state, "earlier": []}  # which are asked of the rows
            return read_part(computation, state, source, earlier)
        except ValueError as error:
            return self.refuse(str(error))

    def _check_ledger(self, key: RowKey) -> None:
        """The digests must be those that this ledger would make of the rows."""
        file = self.file
        if file.key.secret != key.secret:
            raise FileError(
                f'"{self.place}" was made for another ledger: rows cannot be compared with those '
                "of earlier studies",
                hint=f"{_AGAIN} --ledger FILE, with this party's ledger",
            )
        stated = self.study.columns.content()
        for source in file.sources:
            for name in source.column_names:
                now = stated.get(name, {})
                first = key.columns.get(name, now), file.key.columns.get(name, now)
                unknown = name in key.columns and name not in source.own.columns
                if unknown or (name in source.own.columns and first[0] != first[1]):
                    raise FileError(
                        f'the ledger has met the column "{name}" since "{self.place}" was made',
                        hint=f"{_AGAIN} --ledger FILE, with this party's ledger",
                    )

    def _earlier(self, asked: Sequence[str], models: Sequence[Any]) -> dict[str, ModelRows]:
        """What earlier studies asked, as it was known when the part was made."""
        place = self.study.columns.place
        found = {str(model): ModelRows(model, "drop", place) for model in models}
        columns = {name for source in self.file.sources for name in source.column_names}
        new = [model for model in models if set(model.columns_needed) <= columns]
        if tuple(asked) != self.file.asked and new:
            raise InputError(
                f'the ledger has other questions on these columns than when "{self.place}" was '
                "made, and rows may stand out between them",
                hint=f"give the rows as well, --data FILE, or {_AGAIN} --ledger FILE",
            )
        return found

    def _check_looks(self, parts: Parts, rows: Mapping[str, Source]) -> None:
        """Whatever will be looked at is there, and can be read, before anything begins."""
        for source in self.file.sources:
            names = list(source.own.questions)
            kept = rows[names[0]]
            own, pooled = looks_needed(self.study, parts, names)
            assert isinstance(kept, KeptRows)  # noqa: S101 - there are no others
            for rows_of_all in own:
                kept.look(rows_of_all)
            for model, _ in pooled:
                kept.look(model)


@dataclass(frozen=True)
class _Looks:
    """Finds looks in a part, and remembers them."""

    part: UsedPart
    source: SourcePart

    def __post_init__(self) -> None:
        object.__setattr__(self, "_found", {})

    def __call__(self, rows: JointRows | ModelRows) -> Look | None:
        name, found = named(rows), self.__dict__["_found"]
        if name not in self.source.looks:
            return None
        if name not in found:
            try:
                found[name] = read_look(self.source.looks[name], rows)
            except ValueError as error:
                self.part.refuse(str(error))
        return found[name]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Every(Reading[int, int]):
    """Nothing but how many rows there are: reading them compares them."""

    names: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        return self.names

    def block(self, rows: Block) -> int:
        return rows.rows


def _compare(source: SameRows) -> None:
    """DataError where the rows are not those that the part was made of."""
    most = max(source.known, key=len)
    read(source, _Every(tuple(sorted(most))))
