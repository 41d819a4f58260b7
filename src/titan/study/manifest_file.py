"""`study.toml`: a study as a file that people read, and that programs read strictly.

format = 3
title = "…"
tau = 1                      # and bits, recovery, masks, k, rounds, solver, missing
[release]
policy = "titan"             # or "safe-outputs"; and what is to be stricter, or laxer:
min_rows_party = 10          # min_rows_total, rows_per_parameter, min_cell, min_cell_parties,
precision = 20               # min_residual_df; or "exact"; cells = "pooled" or "local"
[columns.age]
kind = "number"              # or "time", with range and perhaps step, unit; "category", with
range = ["0", "120"]         # levels; "flag": what every column is
[[questions]]                # one or more, in order
kind = "regression"          # and name, and what this kind of question needs, as text or lists
formula = "y ~ age + b"      # of text
[[parties]]                  # two or more, in the order that numbers them
name = "north"               # and address, certificate, perhaps dials_only: what its card has
[network]                    # may be left out: what is known of the links, for recovery "auto"
latency_ms = 20              # one way
bandwidth_mbit = 100
[[links]]
from = "north"
to = "east"
dial = "push"                # or "pull": the receiver dials; and latency_ms, bandwidth_mbit where
                             # this link has others
"""

from __future__ import annotations

from typing import Any

from titan.errors import FileError, InputError
from titan.joint.kinds import Question, Value
from titan.listing import told_of
from titan.release import Category, Column, Dictionary, Flag
from titan.release.dictionary import KINDS
from titan.study import fields
from titan.study.fields import Fields
from titan.study.identity import Card, refuse_key
from titan.study.links import LINE, Link, said_of
from titan.study.manifest import (
    FORMAT,
    MOST_PARTIES,
    MOST_QUESTIONS,
    PLAIN,
    RELEASE,
    WHOLE,
    Study,
)

MOST_LINKS = 1_000_000
_EXPECTED = "a study is the file, such as study.toml, that titan study new makes"


# -- reading ----------------------------------------------------------------------------------


def parse(text: str, where: str) -> Study:
    refuse_key(text, where, "study")
    top = fields.parse(text, where, what="study", hint=_EXPECTED)
    if top.has("name", "address", "certificate"):
        raise FileError(f"{where}: this is a card, not a study", hint=_EXPECTED)
    if top.whole("format") != FORMAT:
        top.refuse("format", "is not one this program reads", hint=f"it reads format {FORMAT}")
    plain: dict[str, Any] = {
        key: top.whole(key) if key in WHOLE else top.text(key)
        for key in PLAIN
        if key in ("title", "tau") or top.has(key)
    }
    release = top.table("release", {})
    plain |= {key: _rule(release, key) for key in RELEASE if release.has(key)}
    release.all()
    network = top.table("network", {})
    plain |= _line(network)
    network.all()
    columns = top.table("columns", {})
    described = {name: _column(columns, name) for name in columns.names()}
    questions = tuple(map(_question, top.tables("questions", MOST_QUESTIONS)))
    parties = tuple(map(Card.take, top.tables("parties", MOST_PARTIES)))
    links = tuple(map(_link, top.tables("links", MOST_LINKS)))
    top.all()
    try:
        plain["columns"] = Dictionary.of(described)
        return Study(parties=parties, links=links, questions=questions, **plain)
    except InputError as error:
        raise FileError(f"{where}: {told_of(error.message)}", hint=told_of(error.hint)) from None


def _rule(release: Fields, key: str) -> Any:
    if key == "precision":
        return release.anything(key)
    return release.whole(key) if key in WHOLE else release.text(key)


def _column(columns: Fields, name: str) -> Column:
    table = columns.table(name)
    kind = table.text("kind")
    try:
        found = _of_kind(table, kind)
    except InputError as error:
        if isinstance(error, FileError):  # which names the place itself
            raise
        columns.refuse(name, f"cannot be used: {error.message}", hint=error.hint)
    table.all()
    return found


def _of_kind(table: Fields, kind: str) -> Column:
    found = KINDS.get(kind)
    if found is None:
        table.refuse("kind", f"is {kind!a}", hint=f"one of {', '.join(KINDS)}")
    if issubclass(found, Flag):
        return Flag()
    if issubclass(found, Category):
        return Category(table.texts("levels"))
    ends = table.sequence("range")
    if len(ends) != 2:
        table.refuse("range", "is not a list of two ends", hint='such as ["0", "120"]')
    low, high = ends
    return found.read(low, high, table.anything("step"), table.text("unit", ""))


def _question(table: Fields) -> Question:
    kind, name = table.text("kind"), table.text("name", "")
    asked: dict[str, Value] = {key: table.text_or_texts(key) for key in table.names()}
    return Question(kind, name, tuple(asked.items()))


def _link(table: Fields) -> Link:
    ends = table.text("from"), table.text("to")
    link = Link(*ends, table.text("dial", "push"), **_line(table))  # type: ignore[arg-type]  # checked by Study
    table.all()
    return link


def _line(table: Fields) -> dict[str, int]:
    return {key: table.whole(key) for key in LINE if table.has(key)}


# -- writing ----------------------------------------------------------------------------------


def to_toml(study: Study) -> str:
    import tomli_w

    plain = {key: getattr(study, key) for key in PLAIN}
    document = {
        "format": FORMAT,
        **{key: value for key, value in plain.items() if value is not None},
        "release": {key: getattr(study, key) for key in RELEASE},
        **({"network": said_of(study)} if said_of(study) else {}),
        "columns": study.columns.content(),
        "questions": [_question_table(question) for question in study.questions],
        "parties": [card.as_table() for card in study.parties],
        "links": [
            {"from": it.sender, "to": it.receiver, "dial": it.dial, **said_of(it)}
            for it in study.links
        ],
    }
    return tomli_w.dumps(document, multiline_strings=True)


def _question_table(question: Question) -> dict[str, Any]:
    content = question.content()
    return {"kind": content["kind"], "name": content["name"], **content["asked"]}
