"""What a study is about, in a few words, where nobody gave it a title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from titan.joint.cox_asked import formula_asked
from titan.joint.kinds import Question
from titan.listing import listing
from titan.release import Dictionary

_TITLES = {
    "regression": "how {response} depends on {columns}",
    "ridge": "how {response} depends on {columns}",
    "describe": "a description of {columns}",
    "average": "the average of {columns}",
    "solve": "linear equations in {columns}",
    "cox": "how the hazard of {response} depends on {columns}",
    "survival": "how long until {response}, by {columns}",
}
_ALONE = "the mean of {response}"  # y ~ 1
_MOST_QUESTIONS = 3
_MOST = 200  # characters


def title_of(questions: Sequence[Question], columns: Dictionary) -> str:
    """Such as "How y depends on age, sex"."""
    said = list(dict.fromkeys(_said(question, columns) for question in questions))
    more = len(said) - _MOST_QUESTIONS
    title = "; ".join([*said[:_MOST_QUESTIONS], *([f"and {more} more"] if more > 0 else [])])
    title = title[:1].upper() + title[1:]
    return title if len(title) <= _MOST else title[: _MOST - 1].rstrip() + "…"


def _said(question: Question, columns: Dictionary) -> str:
    words = _TITLES.get(question.kind, question.kind)
    names, response = columns_asked(question, columns)
    if "formula" in question.options and not names:
        words = _ALONE
    words = words if names else words.removesuffix(", by {columns}")
    return words.format(columns=listing(names), response=response)


def columns_asked(question: Question, columns: Dictionary) -> tuple[list[str], str]:
    """The columns as the data have them, and what they are to explain."""
    options: dict[str, Any] = question.options
    if question.kind == "survival":
        return list(options.get("by", ())), str(options["event"])
    if "formula" not in options:
        return list(options.get("columns", ())), str(options.get("response", ""))
    model = columns.model(formula_asked(options), weights=options.get("weights"))
    response = tuple(model.response.columns_needed())
    others = (*response, model.weights)
    return [name for name in model.columns_needed if name not in others], listing(response)
