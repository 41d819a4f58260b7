"""The answer to every question: a section with its tables, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from titan.canonical import finite
from titan.errors import TitanError
from titan.markup import Html, items, tag, together
from titan.report.coefficient_tables import coefficients, penalised
from titan.report.curve_tables import survived
from titan.report.described_tables import averaged, described
from titan.report.gathered import Gathered
from titan.report.generic_tables import rest
from titan.report.words import asked_for
from titan.results import QuestionOutcome
from titan.study import Study

Tables = Callable[[Mapping[str, Any]], Iterator[Html]]
_TABLES: dict[str, Tables] = {
    "average": averaged,
    "description": described,
    "ridge path": penalised,
    "survival": survived,
}
"""Kinds with tables of their own. Whatever else has `params` is shown as coefficients."""
_NOTE = re.compile(r"^\[\d+\] ", re.MULTILINE)


def answer_sections(it: Gathered) -> Iterator[Html]:
    """One section for each question, in order."""
    for at, entry in enumerate(it.results.entries, 1):
        content = [*_asked(it.study, entry.name), *_content(entry)]
        yield tag("section", tag("h3", f"{at}. {entry.name}"), together(content), id=anchor(at))


def _asked(study: Study | None, name: str) -> Iterator[Html]:
    for question in () if study is None else study.questions:
        if question.name == name:
            said = asked_for(question, study)  # type: ignore[arg-type]
            said = f"{said[:1].upper()}{said[1:]}."
            yield tag("p", *([said, " "] if len(said) > 1 else []), tag("code", str(question)))


def anchor(number: int) -> str:
    """Of a question, by its place: names may hold anything."""
    return f"answer-{number}"


def _content(entry: QuestionOutcome) -> Iterator[Html]:
    if isinstance(entry.outcome, TitanError):
        hint = f" ({entry.outcome.hint})" if entry.outcome.hint else ""
        said = f"There is no answer to this question: {entry.outcome.message}{hint}."
        yield tag("div", said, kind="alarm")
        return
    answer = _in_order(finite(entry.to_dict()), getattr(entry.outcome, "names", ()))
    yield from tables_of(entry.outcome.kind, answer)
    if notes := notes_in(entry.summary):
        yield items(notes, "ol")


def _in_order(value: Any, names: Sequence[str]) -> Any:
    """As the model has its names; a file of results has them in the order of the alphabet."""
    if isinstance(value, list):
        return [_in_order(each, names) for each in value]
    if not isinstance(value, Mapping):
        return value
    order = names if {*names} == {*value} else value
    return {name: _in_order(value[name], names) for name in order}


def tables_of(kind: str, answer: Mapping[str, Any]) -> Iterator[Html]:
    """The tables of an answer's JSON."""
    own = _TABLES.get(kind)
    if own is not None:
        yield from own(answer)
    elif isinstance(answer.get("params"), Mapping) and answer["params"]:
        yield from coefficients(answer)
    else:
        yield from rest(answer)


def notes_in(summary: str) -> list[str]:
    """The numbered notes below a printed table, each in one line."""
    _, found, notes = summary.partition("\nNotes:\n")
    return [" ".join(note.split()) for note in _NOTE.split(notes)[1:]] if found else []
