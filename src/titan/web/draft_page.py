"""A draft of a study: questions, and a dictionary filled in from one's own rows.

Kinds, steps and levels are taken from the rows. Ranges are not: the least and the largest value are
two people's. Their owner says what may occur.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from titan.decimals import decimal_text
from titan.errors import InputError, TitanError
from titan.joint.kinds import Question
from titan.listing import listing
from titan.markup import Html, items, tag
from titan.moments import Source, open_source
from titan.network import Network
from titan.release import Category, Column, Flag, Number
from titan.release.draft import rows_by_level
from titan.release.policy import Policy, counted
from titan.report.tables import grid
from titan.study import Study, preflight
from titan.study.asking import drafted, read_question
from titan.study.gathering import gather
from titan.study.identity import Card
from titan.study.reachability import dialled, only_dialling
from titan.web import layout
from titan.web.forms import sent, wanted
from titan.web.place import Place

_EXAMPLES = (
    "regression: y ~ age + sex; cov_type=HC1; name=main",
    "glm: died ~ age + sex; family=binomial",
    "describe: age, sex",
)
_SEEN = (
    "All parties will see this dictionary. Steps and levels were taken from your rows. Type the "
    "ranges yourself: the values that are possible, not those that occur."
)
_KINDS = (("number", "number"), ("category", "category"), ("flag", "yes or no (0, 1)"))
_NETWORKS = (("design", "fewest links for this τ"), ("cycle", "a ring"), ("complete", "all to all"))
_MOST_LEVELS = 50
_FEW = Policy().rows_per_cell


def ask(place: Place, typed: Mapping[str, str] | None = None) -> Iterator[Html]:
    """The first step: which rows, which questions."""
    said = typed or {}
    tables = place.tables()
    if not tables:
        yield tag("p", "To begin, put a table of your rows (CSV or Parquet) into the folder.")
        return
    yield layout.form(
        "/study/draft",
        layout.choice("Your rows", "rows", ((name, name) for name in tables), said.get("rows", "")),
        layout.area(
            "Questions, one per line", "questions", said.get("questions", ""),
            note="for example " + " · ".join(_EXAMPLES),
        ),
        send="Fill in the dictionary",
    )  # fmt: skip


async def draft(place: Place, request: Request) -> Response:
    """The second step: the dictionary, to be completed."""
    fields = await sent(request)
    try:
        return await asyncio.to_thread(_filled, place, fields)
    except TitanError as error:
        return layout.page(
            "Study", layout.refused(error), *ask(place, fields), here="/study", status=400
        )


def _filled(place: Place, fields: Mapping[str, str], *said: Html, status: int = 200) -> Response:
    name, text = wanted(dict(fields), "rows", "questions")
    source = open_source(str(place.file(name, place.tables())))
    questions = _questions(text)
    for question in questions:
        if problem := _unknown(question, source):
            raise problem
    found = drafted(source, questions, {})
    _refuse_many(found)
    cards = [*place.cards().values()]
    rows = (_row(at, column, found[column], fields) for at, column in enumerate(found))
    heads = ("column", "kind", "from", "to", "step", "unit", "levels, separated by commas")
    title = fields.get("title", "")
    return layout.page(
        "Draft a study",
        *said,
        tag("p", _SEEN),
        *_rare(source, found),
        layout.form(
            "/study/save",
            grid("", heads, rows, label="the dictionary"),
            layout.field("Title", "title", title, needed=False, note="if empty, the questions"),
            layout.field(
                "τ, how many curious parties to protect against", "tau", fields.get("tau", "1")
            ),
            layout.choice("Who sends to whom", "network", _NETWORKS, fields.get("network", "")),
            tag("fieldset", tag("legend", "Parties"), *(_ticked(card) for card in cards)),
            send="Make the study",
            hidden={"rows": name, "questions": text},
            wide=True,
        ),
        here="/study",
        status=status,
    )


def _questions(text: str) -> list[Question]:
    return [read_question(line.strip()) for line in text.splitlines() if line.strip()]


def _unknown(question: Question, source: Source) -> TitanError | None:
    from titan.study.asking import columns_in_formula

    try:
        source.check(columns_in_formula(question, {}))
    except TitanError as error:
        return error
    return None


def _refuse_many(found: Mapping[str, Column]) -> None:
    """Names, dates and numbers of patients are not categories, and must not become public."""
    for name, column in found.items():
        if isinstance(column, Category) and len(column.levels) > _MOST_LEVELS:
            raise InputError(
                f"the rows have {len(column.levels)} different texts in {name!r}, and at most "
                f"{_MOST_LEVELS} are taken from a file as levels",
                hint="ask about other columns, by name",
            )


def _rare(source: Source, found: Mapping[str, Column]) -> Iterator[Html]:
    """A level that few rows have is these people's, and its name alone may tell of them."""
    levels = {name: c.levels for name, c in found.items() if isinstance(c, Category)}
    said = []
    for name, counts in rows_by_level(source, list(levels)).items():
        rare = [level for level in levels[name] if counts[level] < _FEW]
        if rare:
            said.append(f"{name}: fewer than {counted(_FEW)} have {listing(rare)}")
    if said:
        told = "All parties would see that these levels occur. Leave them out, and merge such rows"
        yield tag("div", f"{told} with others, before you join:", items(said), kind="alarm")


# -- the dictionary ---------------------------------------------------------------------------


def _row(at: int, name: str, column: Column, fields: Mapping[str, str]) -> tuple[str, ...]:
    """As it was typed before, else as the rows have it."""

    def box(what: str, value: str, long: bool = False) -> Html:
        key = f"{what}-{at}"
        kind = {"class": "long"} if long else {}
        label = f"{what} of {name}"
        return layout.empty(
            "input", type="text", name=key, value=fields.get(key, value), aria_label=label, **kind
        )

    kind, step, levels = "number", "", ""
    if isinstance(column, Category):
        kind, levels = "category", ", ".join(column.levels)
    elif isinstance(column, Flag) or _only_0_and_1(column):
        kind = "flag"
    if isinstance(column, Number) and column.step is not None:
        step = decimal_text(column.step)
    chosen = layout.select(f"kind-{at}", _KINDS, fields.get(f"kind-{at}", kind), f"kind of {name}")
    hidden = layout.empty("input", type="hidden", name=f"name-{at}", value=name)
    ends = box("from", ""), box("to", "")
    return (
        tag("span", name, hidden), chosen, *ends, box("step", step), box("unit", ""),
        box("levels", levels, long=True),
    )  # fmt: skip


def _only_0_and_1(column: Column) -> bool:
    return isinstance(column, Number) and column.low == 0 and column.high == column.step == 1


def _columns(fields: Mapping[str, str]) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for key, name in fields.items():
        if key.startswith("name-"):
            at = key.removeprefix("name-")
            said = {each: fields.get(f"{each}-{at}", "") for each in _PARTS}
            try:
                found[name] = _column(said)
            except InputError as error:
                raise InputError(f"{name}: {error.message}", hint=error.hint) from None
    return found


_PARTS = ("kind", "from", "to", "step", "unit", "levels")


def _column(said: Mapping[str, str]) -> Column:
    if said["kind"] == "flag":
        return Flag()
    if said["kind"] == "category":
        return Category(tuple(part.strip() for part in said["levels"].split(",") if part.strip()))
    if not said["from"] or not said["to"]:
        raise InputError("its range is missing", hint="the least and the most that may occur")
    return Number.read(said["from"], said["to"], said["step"] or None, said["unit"])


# -- the study --------------------------------------------------------------------------------


def _ticked(card: Card) -> Html:
    ticked = layout.empty(
        "input", type="checkbox", name=f"party-{card.fingerprint[:12]}", value="yes", checked=""
    )
    return tag("p", tag("label", ticked, f" {card.name}"))


async def save(place: Place, request: Request) -> Response:
    fields = await sent(request)
    try:
        study = await asyncio.to_thread(_made, place, fields)
    except TitanError as error:
        return await asyncio.to_thread(_filled, place, fields, layout.refused(error), status=400)
    return layout.to(f"/check/{study.digest[:12]}")


def _made(place: Place, fields: dict[str, str]) -> Study:
    name, text, tau = wanted(fields, "rows", "questions", "tau")
    if not (tau.isascii() and tau.isdecimal() and len(tau) < 4):
        raise InputError(f"τ is {tau!r}", hint="a whole number, such as 1")
    source = open_source(str(place.file(name, place.tables())))
    cards = [c for c in place.cards().values() if f"party-{c.fingerprint[:12]}" in fields]
    only = only_dialling(cards)
    names = [card.name for card in cards]
    family = fields.get("network", "design")
    if family == "design":
        network = Network.design(names, int(tau), dials_only=only)
    else:
        network = {"cycle": Network.cycle, "complete": Network.complete}[family](names)
    study = gather(
        cards,
        [dialled(edge, (), only) for edge in network.edges],
        _questions(text),
        _columns(fields),
        source.column_names,
        tau=int(tau),
        title=fields.get("title") or None,
    )
    report = preflight.check(study, datetime.now(UTC))
    if not report.ok:
        raise report.problems[0]
    place.take("study", study.to_toml())
    return study
