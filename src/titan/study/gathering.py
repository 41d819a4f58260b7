"""Cards, links, columns and questions become one study, for whoever gathers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from titan.errors import InputError
from titan.joint.kinds import Question
from titan.release import Column, Dictionary
from titan.study.asking import as_times, with_columns
from titan.study.identity import Card
from titan.study.links import Link
from titan.study.manifest import Study
from titan.study.preflight import unread_columns
from titan.study.title import title_of


def gather(
    cards: Sequence[Card],
    links: Sequence[Link],
    questions: Sequence[Question],
    columns: Mapping[str, Column],
    names: Sequence[str],
    *,
    tau: int,
    title: str | None = None,
    **rules: Any,
) -> Study:
    """A study, not yet checked; `names` are the rows' columns, for questions that name none."""
    described = Dictionary.of(as_times(columns, questions))
    study = Study(
        title=title or "a study",
        tau=tau,
        parties=tuple(cards),
        links=tuple(links),
        columns=described,
        questions=tuple(with_columns(question, names, described) for question in questions),
        **rules,
    )
    if not title:
        study = replace(study, title=title_of(study.questions, study.columns))
    for name in unread_columns(study):  # what was said about it is misspelt
        raise InputError(
            f"{name!r} is not a column that a question reads",
            hint="check its spelling, or say nothing about it",
            choice="columns",
        )
    return study
