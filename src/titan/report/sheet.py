"""One printable page about a study, for an ethics board to sign.

All of it follows from the study's file, whose fingerprint stands on it: who signs the sheet has
signed that study and no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from titan.listing import in_groups
from titan.report import words
from titan.report.page import Html, items, page, table, tag
from titan.study import Report, Study

_SIGNATURES = ("name", "for", "date", "signature")
_SIGNED = 3  # lines


def sheet(study: Study, report: Report, shares: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """The page as HTML, from a study and what `preflight` found of it at this time."""
    opened = words.opened_in_steps(study)
    return page(
        f"Study sheet: {study.title}",
        "sheet.css",
        tag("h1", study.title),
        tag("p", "The study's fingerprint: ", tag("code", in_groups(study.digest))),
        tag("p", f"Checked on {now:%Y-%m-%d}."),
        words.lowered_rules(report.facts),
        tag("h2", f"Who takes part: {len(study.parties)} parties"),
        _parties(study),
        tag("h2", "What is asked"),
        items((words.question_in_words(question, study) for question in study.questions), "ol"),
        words.columns_in_words(report.facts["columns"]),
        tag("h2", "What is opened to all parties, in this order"),
        opened,
        words.explained_words(opened),
        *words.precision_in_words(study, report.facts, shares),
        tag("h2", "Rules, checked by every party before anything further leaves it"),
        items(words.rules_in_words(study, report.facts)),
        tag("h2", "What stays hidden, and from whom"),
        tag("p", f"No row leaves its owner's machine. {words.MASKED}: {report.hidden}."),
        tag("p", words.NOT_HIDDEN),
        items(map(_sentence, report.warnings)),
        tag("h2", "Signed for this study, with this fingerprint"),
        table(_SIGNATURES, [["\u00a0"] * len(_SIGNATURES)] * _SIGNED, "signatures"),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _parties(study: Study) -> Html:
    return table(
        ("party", "address", "fingerprint of its certificate", "good until"),
        (
            (card.name, card.place,
             tag("code", in_groups(card.fingerprint)),
             tag("span", f"{card.not_after:%Y-%m-%d}", kind="whole"))
            for card in study.parties
        ),
    )  # fmt: skip
