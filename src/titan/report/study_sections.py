"""The study in a report: what was asked, who took part, the network, what was opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from titan.listing import in_groups, listing
from titan.markup import Html, items, tag
from titan.network import Network
from titan.release.dictionary import in_words
from titan.release.policy import counted
from titan.report import words
from titan.report.gathered import Gathered
from titan.report.network_picture import DRAWN, NAMED, NUMBERED, network_picture
from titan.report.numbers import number
from titan.report.tables import grid, pairs, scrolled
from titan.study import Study
from titan.study.shares import shares

_KAPPA = "κ, the fewest parties whose absence would split the others"
_MASKED = (
    "No row left its owner's machine. What left it were sums, hidden behind random numbers that "
    "cancel only in the total of all parties"
)
_TAU = "τ, the number of curious parties that the study protects against"


def asked(it: Gathered) -> Iterator[Html]:
    study = it.study
    if study is None:
        return
    said = (words.question_in_words(question, study) for question in study.questions)
    yield items(said, "ol")
    columns = it.facts["columns"]
    if columns:
        rows = ((name, _described(name, content)) for name, content in columns.items())
        yield grid("The columns, as all parties agreed on them", ("", "what it is"), rows)
    yield words.lowered_rules(it.facts)


def _described(name: str, content: Mapping[str, Any]) -> str:
    return in_words(name, content).removeprefix(f"{name} ")


def parties(it: Gathered) -> Iterator[Html]:
    if it.study is None:
        yield items(it.parties, "ol")
        return
    signed = {facts.transcript.party for facts in it.signed}
    yield grid(
        "",
        ("", "party", "fingerprint of its certificate", "its transcript"),
        (
            (str(at), card.name, tag("code", in_groups(card.fingerprint)),
             "is here" if card.name in signed else "is not here")
            for at, card in enumerate(it.study.parties, 1)
        ),
        kind="who",
    )  # fmt: skip


# -- the network ------------------------------------------------------------------------------


def network(it: Gathered) -> Iterator[Html]:
    if it.study is None:
        yield from _told_network(it)
        return
    yield from drawn(it.study, it.facts)


def drawn(study: Study, facts: Mapping[str, Any]) -> Iterator[Html]:
    """The network's picture, and what matters of it in numbers."""
    net, tau = study.network, study.tau
    known = facts["weak_connectivity"] is not None
    cut = net.smallest_cut if known else ()
    picture = network_picture(net, cut)
    if picture is None:
        yield tag("p", f"A network of more than {DRAWN} parties is not drawn.")
    else:
        caption = tag("figcaption", *_caption(net, tau, cut, known))
        yield tag("figure", scrolled(picture, "the network"), caption)
    rows = [
        ("parties", number(len(net))),
        ("links", number(len(net.edges))),
        ("the most steps from one party to another", number(facts["diameter"])),
        (_KAPPA, number(facts["weak_connectivity"])),
        (_TAU, number(tau)),
    ]
    yield pairs("", rows)


def _told_network(it: Gathered) -> Iterator[Html]:
    """Without the study's file: what was signed about it."""
    if it.signed:
        facts = it.signed[0].transcript.network
        yield pairs(
            "As signed; the links themselves are in the study's file",
            [
                ("parties", number(len(it.parties))),
                ("the most steps from one party to another", number(facts.diameter)),
                (f"{_KAPPA}, at least", number(facts.connectivity)),
                (_TAU, number(facts.tau)),
            ],
        )


def _caption(net: Network, tau: int, cut: tuple[str, ...], known: bool) -> Iterator[str]:
    yield "An arrow points from the sender to the receiver. "
    if NAMED < len(net) <= NUMBERED:
        yield "The numbers are those in the table of parties. "
    if cut:
        groups = "; ".join(listing(group) for group in net.honest_components(cut))
        yield f"κ = {len(cut)}: without {counted(len(cut), 'party', 'parties')} such as "
        yield f"{listing(cut)} (filled) the others are split into: {groups}. "
    elif known:
        yield f"κ = {len(net) - 1}: every party is linked with every other. "
    whom = "any single party" if tau == 1 else f"any {tau} parties together"
    if tau:
        yield f"τ = {tau}: {whom} who followed the protocol learned no more than what was opened, "
        yield f"since κ is at least {tau + 1}."
    else:
        yield "τ = 0: nothing was promised against a curious party."


# -- what was opened --------------------------------------------------------------------------


def opened(it: Gathered) -> Iterator[Html]:
    study, report = it.study, it.report
    if study is None or report is None:
        return
    steps = words.opened_in_steps(study, it.sums)
    yield scrolled(steps, "what was opened")
    if it.sums is not None and it.sums < len(study.meeting.stages):
        yield tag("p", f"{it.sums} of at most {len(study.meeting.stages)} sums were needed.")
    yield words.explained_words(steps)
    yield from words.precision_in_words(study, report.facts, shares(study))
    yield tag("h3", "What stayed hidden, and from whom")
    yield tag("p", f"{_MASKED}: {report.hidden}.")
    yield tag("p", words.NOT_HIDDEN)


def rules(study: Study, facts: Mapping[str, Any]) -> Html:
    return items(words.rules_in_words(study, facts))
