"""Preflight: is this study sound, what will it cost, and what will everybody learn?

Every party asks this itself, on its own machine, before anything leaves it. Nothing is taken on
trust from whoever gathered the study.

The private sums of its questions are the whole of what is opened: as long as no more than τ parties
put what they saw together, what a party sees depends on the others' rows through these sums alone.
"""

# Rule 1: all problems are found, not only the first, as far as one does not hide another.
# Rule 2: no clock is read here; the caller says what time it is.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial, reduce
from math import log2
from operator import add
from typing import Any

from titan.errors import InputError, TitanError
from titan.joint.computation import Sum, bits_of
from titan.joint.explanations import Explanation, Item, explained
from titan.listing import listing
from titan.protocol import Cost, Plan
from titan.protocol.checked import MOST_OPENED
from titan.release.dictionary import points
from titan.release.policy import lowered
from titan.study.identity import Card
from titan.study.links import LINE, predicted_seconds, said_of
from titan.study.manifest import RELEASE, Study
from titan.study.reachability import unreachable

_SOON = timedelta(days=30)
_KAPPA_UP_TO = 300  # parties; beyond, it is only decided whether κ ≥ τ + 1

_RELAYS = "{} trusts relays to compute: one that computes wrongly can falsify the answer unnamed"
_SIGNED = (
    "with {}, masked vectors are signed by their origin: a relay that alters one is found out "
    "and named"
)
_CHECKED = (
    "with {}, relays add up for others, and every sum is checked: one that was altered on its way "
    "is found out, and there is no answer"
)
_TOO_LARGE = (
    "where a sum that was altered is too large to open all parties' vectors of it ({}: more than "
    f"{MOST_OPENED >> 20} MiB together), it is found out, but nobody is named"
)
_TWO = "two parties hide nothing from each other: each subtracts its own sums from the pooled ones"
_SMALL = (
    "counts of cells, small ones too, are opened before anything is refused: a category that one "
    'or two people have is seen by all; cells = "local" opens no small count'
)
_SEE = "see the problems, and do not take part"
_NO_TAU = "τ = 0 protects against no party: a single curious one may learn more than the answer"


@dataclass(frozen=True)
class Report:
    """What was found: `problems` forbid taking part, `warnings` are to be known."""

    problems: tuple[TitanError, ...]
    warnings: tuple[str, ...]
    learned: tuple[Item, ...]
    hidden: str
    facts: Mapping[str, Any]
    cost: Cost | None = field(repr=False)
    """Of all sums together; None where no plan could be made."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ok": self.ok,
            "problems": [{"problem": p.message, "hint": p.hint} for p in self.problems],
            "warnings": list(self.warnings),
            **self.facts,
            "learned": [item.as_dict() for item in self.learned],
            "hidden": self.hidden,
        }


def check(study: Study, now: datetime) -> Report:
    """Look at a study with nothing but itself and the time, which needs a time zone."""
    problems = [*_refusals(study, now), *_duplicates(study.parties), *unreachable(study)]
    plans: tuple[Plan, ...] = ()
    if study.network.strongly_connected:
        try:
            plans = study.plans
        except InputError as error:
            if str(error) not in map(str, problems):
                problems.append(error)
    cost = reduce(add, (plan.cost for plan in plans)) if plans else None
    return Report(
        problems=tuple(problems),
        warnings=tuple(_warnings(study, plans, now)),
        learned=learned(study),
        hidden=_hidden(study),
        facts=_facts(study, plans, cost),
        cost=cost,
    )


# -- problems ---------------------------------------------------------------------------------


def _refusals(study: Study, now: datetime) -> Iterable[TitanError]:
    network = study.network
    checks: list[Callable[[], None]] = [
        network.check_strongly_connected,
        partial(network.check_tolerates, study.tau),
        *(partial(card.check_valid, now) for card in study.parties),
    ]
    for check in checks:
        try:
            check()
        except InputError as error:
            yield error


def _duplicates(cards: Iterable[Card]) -> Iterable[TitanError]:
    """Two parties at one address, or with one certificate or key, are not two parties."""
    seen: dict[tuple[str, object], str] = {}
    for card in cards:
        numbers = card.public_key.public_numbers()
        place = card.name if card.dials_only else card.address  # where nobody dials it
        for what, value in (("an address", place), ("a key", (numbers.x, numbers.y))):
            other = seen.setdefault((what, value), card.name)
            if other != card.name:
                yield InputError(
                    f'"{other}" and "{card.name}" have the same {what.split()[1]}',
                    hint=f"every party needs {what} of its own",
                )


# -- warnings ---------------------------------------------------------------------------------


def _warnings(study: Study, plans: Sequence[Plan], now: datetime) -> Iterable[str]:
    if study.min_cell and study.cells == "pooled" and _counts_cells(study):
        yield _SMALL
    for scheme in {plan.scheme.name: plan.scheme for plan in plans}.values():
        relays = _CHECKED if scheme.checked else _RELAYS
        yield (_SIGNED if scheme.signed_by_origin else relays).format(scheme.name)
    if unopened := [
        sum_.name
        for sum_, plan in zip(study.meeting.sums, plans, strict=False)
        if plan.scheme.checked and not plan.scheme.opens
    ]:
        yield _TOO_LARGE.format(listing(unopened))
    if len(study.parties) == 2:
        yield _TWO
    if study.tau == 0:
        yield _NO_TAU
    if study.solver is not None:
        yield f'"{study.solver}" solves and tells the others, who solve as well and compare'
    unread = unread_columns(study)
    if unread:
        yield f"no question reads what the dictionary describes: {listing(unread)}"
    for card in study.parties:
        if now <= card.not_after < now + _SOON:
            yield f'the certificate of "{card.name}" expires on {card.not_after:%Y-%m-%d}'


# -- what everybody will learn ----------------------------------------------------------------


def learned(study: Study) -> tuple[Item, ...]:
    """What every party of the study will know at its end, besides what it knew."""
    of_questions = [
        replace(item, question=name)
        for name, computation in study.meeting.computations
        for item in explained(computation).items
    ]
    others = "party" if len(study.parties) == 2 else f"{len(study.parties) - 1} parties"
    own = f"by subtracting its own part: the same sums over the other {others} together"
    apart = study.meeting.apart
    between = [] if apart is None else [Item("rows apart", apart.entries, apart.opens)]
    return (*of_questions, *between, Item("others", 0, own))


def _hidden(study: Study) -> str:
    """What stays hidden, from whom, and on which condition: no promise where one fails."""
    tau = study.tau
    if not study.network.strongly_connected:
        return f"nothing is promised to be hidden: not every party can reach every other; {_SEE}"
    if not study.network.tolerates(tau):
        whom = "1 curious party" if tau == 1 else f"{tau} curious parties together"
        return f"this network does not hide the others' rows from {whom}; {_SEE}"
    if len(study.parties) == 2:
        return "nothing of a party's sums is hidden from the other, who can subtract its own"
    if tau == 0:
        return "no party is promised that one curious party learns nothing but the above"
    whom = "a curious party learns" if tau == 1 else f"any {tau} curious parties together learn"
    return (
        f"{whom} nothing else about the others' rows, provided that all follow the protocol; "
        f"{tau + 1} or more that combine what they saw may learn more"
    )


# -- facts ------------------------------------------------------------------------------------


def explanations(study: Study) -> list[Explanation]:
    """Those of the questions, in order."""
    return [explained(computation) for _, computation in study.meeting.computations]


def _counts_cells(study: Study) -> bool:
    return any(each.counts_levels for each in explanations(study))


def unread_columns(study: Study) -> list[str]:
    """Columns of the dictionary that no question reads, as far as all questions tell."""
    read = [each.columns for each in explanations(study)]
    known = {name for columns in read for name in columns or ()}
    return [] if None in read else [name for name in study.columns if name not in known]


def _facts(study: Study, plans: Sequence[Plan], cost: Cost | None) -> dict[str, Any]:
    told = explanations(study)
    parameters = max((each.parameters or 0 for each in told), default=0)
    return {
        "digest": study.digest,
        "title": study.title,
        "columns": study.columns.content(),
        "questions": _question_facts(study, told),
        "parameters": parameters or None,
        "missing": study.missing,
        "solver": study.solver,
        "rows_needed_party": study.min_rows_party,
        "rows_needed_total": study.release.rows_needed(parameters, len(study.parties)),
        "rows_needed_level": study.release.rows_per_cell if _counts_cells(study) else None,
        "release": {key: getattr(study, key) for key in RELEASE},
        "lowered": lowered(study.release, study.policy, study.tau),
        **_network_facts(study),
        "masks": study.masks,
        "relays": study.relays,
        "bits": study.bits,
        **(LINE | said_of(study)),
        "lines_apart": sum(bool(said_of(link)) for link in study.links),
        "predicted_seconds": _predicted_seconds(study, plans) if plans else None,
        "sums": [_plan_facts(*each) for each in zip(study.meeting.sums, plans, strict=False)],
        "rounds": None if cost is None else cost.rounds,
        "messages": None if cost is None else cost.messages,
        "bytes_sent": None if cost is None else dict(cost.bytes_sent),
        "bytes_received": None if cost is None else dict(cost.bytes_received),
        "parties": _party_facts(study),
    }


def _predicted_seconds(study: Study, plans: Sequence[Plan]) -> float:
    told_answer = study.solver is not None
    return round(predicted_seconds(study.lines, plans, told_answer=told_answer), 3)


def _question_facts(study: Study, told: Sequence[Explanation]) -> list[dict[str, Any]]:
    """What each asks, and what its sums open."""
    computations = (computation for _, computation in study.meeting.computations)
    return [
        {
            **question.content(),
            "in_words": str(question),
            "parameters": each.parameters,
            "sums": list(map(_sum_facts, computation.sums)),
            "opened": opened_bits(study, computation, each),
        }
        for question, each, computation in zip(study.questions, told, computations, strict=True)
    ]


MORE_THAN_ROWS = (
    "that is more than so few rows hold: the rows could perhaps be worked out from it; with more "
    "rows this changes"
)


def opened_bits(study: Study, computation: Any, told: Explanation) -> dict[str, Any]:
    """The numbers that are opened and their bits, ⌈log₂ of the possible values⌉ each; and the bits
    of the rows that they are made of, where these are the fewest that there may be."""
    parties = len(study.parties)
    rows = study.release.rows_needed(told.parameters or 0, parties)
    rows = parties if getattr(computation, "one_row", False) else rows
    own = getattr(computation, "opened_bits", None)
    bits = bits_of(computation.sums) if own is None else own(rows)
    model = getattr(computation, "model", None)
    stated = {} if model is None else {c.column: len(c.levels) for c in model.categories}
    columns = None if told.columns is None else [
        points(study.columns[name]) if name in study.columns else stated[name]
        for name in told.columns
    ]  # fmt: skip
    return {
        "numbers": sum(each.entries for each in computation.sums),
        "bits": bits,
        "rows": rows,
        "rows_bits": None if columns is None else int(rows * sum(map(log2, columns))),
    }


def _sum_facts(sum_: Sum) -> dict[str, Any]:
    bits = sum_.ring.bits
    return {"name": sum_.name, "entries": sum_.entries, "bits": bits, "opens": sum_.opens}


def _plan_facts(sum_: Sum, plan: Plan) -> dict[str, Any]:
    return {
        **_sum_facts(sum_),
        "recovery": plan.scheme.name,
        "checked": plan.scheme.checked,
        "rounds": plan.cost.rounds,
        "most_bytes_sent": plan.cost.bytes_sent.largest,
    }


def _network_facts(study: Study) -> dict[str, Any]:
    network = study.network
    known = len(network) <= _KAPPA_UP_TO
    return {
        "links": len(study.links),
        "strongly_connected": network.strongly_connected,
        "diameter": network.diameter if network.strongly_connected else None,
        "weak_connectivity": network.weak_connectivity if known else None,
        "tau": study.tau,
        "tolerates_tau": network.tolerates(study.tau),
    }


def _party_facts(study: Study) -> list[dict[str, Any]]:
    """Whom each sends to and hears from, and which connections its firewall must allow."""
    found: dict[str, dict[str, Any]] = {
        card.name: {
            "name": card.name,
            "address": card.address or None,
            "dials_only": card.dials_only,
            "fingerprint": card.fingerprint,
            "valid_until": card.not_after.isoformat(),
            **{key: [] for key in ("sends_to", "receives_from", "dials", "is_dialled_by")},
        }
        for card in study.parties
    }
    for link in study.links:
        found[link.sender]["sends_to"].append(link.receiver)
        found[link.receiver]["receives_from"].append(link.sender)
        found[link.dialler]["dials"].append(link.listener)
        found[link.listener]["is_dialled_by"].append(link.dialler)
    for party in found.values():  # two links between two parties may be dialled by the same one
        for key in ("dials", "is_dialled_by"):
            party[key] = sorted(set(party[key]))
    return list(found.values())
