"""The report of a run: one page for the appendix of a paper, and for the data steward.

All of it follows from what the run left: the study's file, the results, what was checked, what was
signed. What is not there is left out, and the last section says so.
"""

# Rule 1: no number is computed here that the JSON of `titan show` does not have.
# Rule 2: nothing of it is secret. What one party alone knows of its rows, or of why it refused, is
#         never among it.

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import titan
from titan.errors import TitanError
from titan.listing import in_groups, listing
from titan.markup import Html, items, tag, together
from titan.release.policy import counted
from titan.report import run_sections, study_sections
from titan.report.answers import anchor, answer_sections
from titan.report.gathered import Gathered
from titan.report.page import page

_ON_ONE_MACHINE = (
    "A rehearsal: all parties ran on one machine, with addresses of that machine. It shows what "
    "would be computed and opened, not that organisations computed it."
)


def report(it: Gathered, now: datetime) -> str:
    """The page as HTML."""
    sections = [each for each in sections_of(it) if each[2]]
    return page(
        f"Report: {it.title}",
        "report.css",
        _head(it, now),
        _contents(it, sections),
        tag("main", together(_section(*each) for each in sections)),
        tag("footer", f"Made with titan {titan.__version__}. This page loads and runs nothing."),
    )


def sections_of(it: Gathered) -> Iterator[tuple[str, str, list[Html]]]:
    """Anchor, heading and content of each; some have none."""
    yield "asked", "What was asked", list(study_sections.asked(it))
    yield "parties", "Who took part", list(study_sections.parties(it)) if it.parties else []
    yield "network", "The network", list(study_sections.network(it))
    yield "opened", "What was opened", list(study_sections.opened(it))
    yield "checks", "What was checked", _checked(it)
    yield "answers", "The answers", list(answer_sections(it))
    yield "cost", "What it cost", list(run_sections.cost(it))
    yield "fingerprints", "Fingerprints and signatures", list(run_sections.fingerprints(it))
    yield "verify", "How to verify this", list(run_sections.verification(it))
    yield "unknown", "What this report leaves out", [items(said)] if (said := unknown(it)) else []


def _checked(it: Gathered) -> list[Html]:
    rules = [] if it.study is None else [study_sections.rules(it.study, it.facts)]
    return [*rules, *run_sections.checks(it)]


def _section(name: str, heading: str, content: list[Html]) -> Html:
    return tag("section", tag("h2", heading), together(content), id=name)


def _contents(it: Gathered, sections: list[tuple[str, str, list[Html]]]) -> Html:
    links = []
    for name, heading, _ in sections:
        link = tag("a", heading, href=f"#{name}")
        if name == "answers" and len(it.results) > 1:
            inner = (
                tag("a", entry.name, href=f"#{anchor(at)}")
                for at, entry in enumerate(it.results.entries, 1)
            )
            link = tag("span", link, items(inner, "ol"))
        links.append(link)
    return tag("nav", items(links), aria_label="contents")


# -- the beginning ----------------------------------------------------------------------------


def _head(it: Gathered, now: datetime) -> Html:
    run = "" if it.results.run is None else f"run {it.results.run}, "
    parts = [tag("h1", it.title), tag("p", f"Report of {run}made on {now:%Y-%m-%d}.", kind="quiet")]
    if it.results.study is not None:
        digest = tag("code", in_groups(it.results.study))
        parts.append(tag("p", "The study's fingerprint: ", digest))
    if it.on_one_machine:
        parts.append(tag("div", _ON_ONE_MACHINE, kind="notice"))
    if len(it.results.errors) == len(it.results):
        parts.append(tag("div", "There is no answer: ", _why(it), ".", kind="alarm"))
    else:
        parts.append(tag("p", *_in_short(it), kind="short"))
    return tag("header", *parts)


def _why(it: Gathered) -> str:
    return listing(dict.fromkeys(error.message for error in it.results.errors.values()))


def _in_short(it: Gathered) -> Iterator[str]:
    answered = len(it.results) - len(it.results.errors)
    what = counted(answered, "question")
    rows = {getattr(entry.outcome, "nobs", None) for entry in it.results.entries}
    same = rows.pop() if len(rows) == 1 else None
    of = f" about {same:,} rows" if same else ""
    if it.parties:
        who = counted(len(it.parties), "party", "parties")
        yield f"{who} answered {what}{of} together; none of them showed a row to another. "
    else:
        yield f"{what[:1].upper()}{what[1:]} answered{of}. "
    failed = [entry.name for entry in it.results.entries if isinstance(entry.outcome, TitanError)]
    if failed:
        yield f"No answer was found to {listing(failed)}. "
    if it.signed:
        are, right = ("is", "signature is") if len(it.signed) == 1 else ("are", "signatures are")
        yield f"{counted(len(it.signed), 'transcript')} of the run {are} here; the {right} right."


# -- the end ----------------------------------------------------------------------------------


def unknown(it: Gathered) -> list[str]:
    """What could not be said, and where it would be found."""
    found = []
    if it.results.study is None:
        return [
            "The study, the network, the checks and the signatures: this was made from a file of "
            "results, which holds only answers and their cost. The folder of a run has the rest.",
        ]
    if it.study is None:
        found.append(
            "The study in words, its rules and its links: the study's file was not beside the run. "
            "titan report --study study.toml has them."
        )
    if not any(run.evidence for run in it.runs):
        found.append("The checks: the run left no evidence.json.")
    if not it.signed:
        found.append("Signatures: a run that ended without an answer has nothing to sign.")
    return found
