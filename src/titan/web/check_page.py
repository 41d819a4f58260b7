"""The check: what a study will open, who could learn what, and whether the own rows would do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from titan.listing import in_groups
from titan.markup import Html, items, tag, together
from titan.party.own_rows import OwnRows, look
from titan.report import words
from titan.report.page import table
from titan.report.study_sections import drawn
from titan.study import Report, Study, preflight
from titan.study.shares import shares
from titan.web import layout
from titan.web.forms import sent, wanted
from titan.web.place import Place

_OUTCOMES = {
    "passes": "Nothing in these rows alone would be refused. Cells, digits and leverage among all "
    "parties' rows are looked at in the run.",
    "veto": "These rows would end the run for all: this party would veto. Everybody would learn "
    "that somebody refuses, not who nor why, and after three vetoes a question is not asked again.",
    "mistake": "These rows cannot be used as they are. Nothing would be sent.",
}


def choose(place: Place, _: Request) -> Response:
    return layout.page("Check a study", *listed(place, "check"), here="/check")


def listed(place: Place, what: str) -> Iterator[Html]:
    studies = place.studies()
    if not studies:
        yield tag(
            "p",
            "There is no study in this folder yet: ",
            layout.link("draft one, or add one", "/study"),
            ".",
        )
    links = (
        layout.link(f"{study.title} ({name})", f"/{what}/{short}")
        for short, (name, study) in studies.items()
    )
    yield items(links)


async def show(place: Place, request: Request) -> Response:
    study = place.study(request.path_params["short"])
    content = await asyncio.to_thread(_checked, place, study)
    return layout.page(study.title, *content, here="/check")


def _checked(place: Place, study: Study, *said: Html) -> list[Html]:
    report = preflight.check(study, datetime.now(UTC))
    return [
        *said,
        *(layout.refused(problem) for problem in report.problems),
        *study_in_words(study, report),
        layout.section("The network", *drawn(study, report.facts)),
        layout.section("Your rows", *_ask_rows(place, study)),
        tag("p", layout.link("Join this study", f"/join/{study.digest[:12]}")),
    ]


def study_in_words(study: Study, report: Report) -> list[Html]:
    """What whoever agrees must have seen."""
    opened = words.opened_in_steps(study)
    return [
        tag("p", "The study's fingerprint: ", tag("code", in_groups(study.digest))),
        words.lowered_rules(report.facts),
        layout.section(
            "What is asked",
            items((words.question_in_words(each, study) for each in study.questions), "ol"),
            words.columns_in_words(report.facts["columns"]),
        ),
        layout.section(
            "What is opened to all parties, in this order",
            tag("div", opened, kind="scroll", tabindex="0", role="region", aria_label="steps"),
            words.explained_words(opened),
            *words.precision_in_words(study, report.facts, shares(study)),
        ),
        layout.section(
            "Rules, checked by every party before anything further leaves it",
            items(words.rules_in_words(study, report.facts)),
        ),
        layout.section(
            "What stays hidden, and from whom",
            tag("p", f"No row leaves its owner's machine. {words.MASKED}: {report.hidden}."),
            tag("p", words.NOT_HIDDEN),
            items(report.warnings),
        ),
    ]


def _ask_rows(place: Place, study: Study) -> Iterator[Html]:
    tables = place.tables()
    if not tables:
        yield tag(
            "p", "Put your rows (CSV, Parquet or .npz) into the folder to have them looked at."
        )
        return
    yield tag("p", "Nothing is sent, and nothing is written.")
    yield layout.form(
        f"/check/{study.digest[:12]}",
        layout.choice("Your rows", "rows", ((name, name) for name in tables)),
        send="Look at my rows",
    )


async def rows(place: Place, request: Request) -> Response:
    study = place.study(request.path_params["short"])
    (name,) = wanted(await sent(request), "rows")
    path = place.file(name, place.tables())
    own = await asyncio.to_thread(look, study, path)
    said = layout.section(f"Your rows in {name}", *own_rows(own))
    content = await asyncio.to_thread(_checked, place, study, said)
    return layout.page(study.title, *content, here="/check")


def own_rows(own: OwnRows) -> Iterator[Html]:
    """What was found in the own rows, for their owner."""
    yield tag("p", _OUTCOMES[own.outcome], kind="short" if own.outcome == "passes" else "alarm")
    if own.errors:
        yield together(layout.refused(error) for error in own.errors[:12])
    if own.rows:
        counts = ((each.question, str(each.rows), str(each.used)) for each in own.rows)
        yield table(("question", "rows", "used"), counts)
    notes = [f"{count} values of {name} are rounded to the study's steps"
             for name, count in sorted(own.rounded.items())]  # fmt: skip
    yield items([*notes, *own.notes])
